#include "storage/lance/sparse_structure.h"

#include <algorithm>
#include <string>
#include <utility>

namespace rowfs {
namespace {

using lance::pb::CompressiveEncoding;
using lance::pb::PlanarLayout;

constexpr uint64_t kSlotsMax = uint64_t{1} << 48;
constexpr uint64_t kLayersMax = 128;

Status Corrupt(std::string message) {
  return {Code::kCorruption, std::move(message)};
}

// Sequences of a layer in the order of their buffers; null where absent.
std::vector<const CompressiveEncoding*> Sequences(
    const PlanarLayout::SparseLayer& layer) {
  if (layer.has_list()) {
    return {&layer.list().non_empty_positions(), &layer.list().counts(),
            &layer.list().validity().positions()};
  }
  if (layer.has_fixed_size_list()) {
    return {&layer.fixed_size_list().validity().positions()};
  }
  return {&layer.validity().positions()};
}

}  // namespace

// Reads the layers one behind the other, each with its buffers.
class SparseStructure::Decoder {
 public:
  Decoder(std::span<const ByteSpan> buffers, const ColumnPath& path)
      : buffers_(buffers), path_(path) {}

  Result<Layer> Decode(const PlanarLayout::SparseLayer& from, size_t depth,
                       uint64_t slot_count) {
    Layer layer{.slot_count = slot_count};
    const DataType& type = *path_.types[depth];
    const bool leaf = depth + 1 == path_.types.size();
    const bool list =
        !leaf && (type.id == TypeId::kList || type.id == TypeId::kLargeList ||
                  type.id == TypeId::kMap);
    const bool fixed = !leaf && type.id == TypeId::kFixedSizeList;
    if (from.has_list() != list || from.has_fixed_size_list() != fixed ||
        (!list && !fixed && !from.has_validity())) {
      return Corrupt("sparse layer " + std::to_string(depth) +
                     " does not fit the type " + path_.types[0]->ToString());
    }
    if (list) {
      layer.kind = Layer::Kind::kList;
      ROWFS_RETURN_IF_ERROR(DecodeList(from.list(), &layer));
      ROWFS_RETURN_IF_ERROR(DecodeValidity(from.list().validity(), &layer));
    } else if (fixed) {
      layer.kind = Layer::Kind::kFixedSizeList;
      layer.dimension = from.fixed_size_list().dimension();
      if (layer.dimension != type.width) {
        return Corrupt("fixed-size lists of " +
                       std::to_string(layer.dimension) + " items");
      }
      ROWFS_RETURN_IF_ERROR(
          DecodeValidity(from.fixed_size_list().validity(), &layer));
    } else {
      ROWFS_RETURN_IF_ERROR(DecodeValidity(from.validity(), &layer));
    }
    return layer;
  }

  static uint64_t ChildCount(const Layer& layer) {
    if (layer.kind == Layer::Kind::kList) return layer.item_begin.back();
    return layer.slot_count * layer.dimension;
  }

 private:
  // `count` values that the next buffer holds, if they have one.
  Result<std::vector<uint64_t>> Sequence(const CompressiveEncoding& encoding,
                                         uint64_t count) {
    ROWFS_ASSIGN_OR_RETURN(const auto decoder, BlockDecoder::Make(encoding));
    const ByteSpan bytes =
        decoder->has_payload() ? buffers_[next_++] : ByteSpan();
    if (count == 0) return std::vector<uint64_t>();
    if (decoder->bits() != 64) {
      return Corrupt("positions of " + std::to_string(decoder->bits()) +
                     " bits");
    }
    ValueBlock block = decoder->NewBlock();
    ROWFS_RETURN_IF_ERROR(decoder->Decode(bytes, count, &block));
    return ToIntegers(block);
  }

  Result<std::vector<uint64_t>> Positions(const CompressiveEncoding& encoding,
                                          uint64_t count, uint64_t slot_count) {
    if (count > slot_count) {
      return Corrupt(std::to_string(count) + " positions among " +
                     std::to_string(slot_count) + " slots");
    }
    ROWFS_ASSIGN_OR_RETURN(std::vector<uint64_t> positions,
                           Sequence(encoding, count));
    for (size_t i = 0; i < positions.size(); ++i) {
      if (positions[i] >= slot_count ||
          (i > 0 && positions[i] <= positions[i - 1])) {
        return Corrupt("sparse positions are out of order");
      }
    }
    return positions;
  }

  Status DecodeList(const PlanarLayout::ListLayer& from, Layer* layer) {
    const uint64_t count = from.num_non_empty_positions();
    ROWFS_ASSIGN_OR_RETURN(
        layer->non_empty,
        Positions(from.non_empty_positions(), count, layer->slot_count));
    ROWFS_ASSIGN_OR_RETURN(const std::vector<uint64_t> counts,
                           Sequence(from.counts(), count));
    uint64_t items = 0;
    layer->item_begin.push_back(0);
    for (const uint64_t here : counts) {
      const auto next = CheckedAdd(items, here);
      if (here == 0 || !next || *next > kSlotsMax) {
        return Corrupt("a sparse list of " + std::to_string(here) + " items");
      }
      items = *next;
      layer->item_begin.push_back(items);
    }
    if (items != from.num_child_slots()) {
      return Corrupt("sparse lists of " + std::to_string(items) + " items, " +
                     std::to_string(from.num_child_slots()) + " declared");
    }
    return {};
  }

  Status DecodeValidity(const PlanarLayout::Validity& from, Layer* layer) {
    if (from.meaning() != PlanarLayout::Validity::MEANING_NULL_POSITIONS &&
        from.meaning() != PlanarLayout::Validity::MEANING_VALID_POSITIONS) {
      return {Code::kUnsupported, "sparse validity of unknown meaning"};
    }
    layer->lists_valid =
        from.meaning() == PlanarLayout::Validity::MEANING_VALID_POSITIONS;
    ROWFS_ASSIGN_OR_RETURN(
        layer->positions,
        Positions(from.positions(), from.num_positions(), layer->slot_count));
    return {};
  }

  const std::span<const ByteSpan> buffers_;
  const ColumnPath& path_;
  size_t next_ = 0;
};

Result<size_t> SparseStructure::CountBuffers(
    const PlanarLayout::Sparse& layout) {
  size_t count = 0;
  for (const auto& layer : layout.layers()) {
    for (const CompressiveEncoding* encoding : Sequences(layer)) {
      ROWFS_ASSIGN_OR_RETURN(const auto decoder, BlockDecoder::Make(*encoding));
      count += decoder->has_payload() ? 1 : 0;
    }
  }
  return count;
}

Result<std::shared_ptr<const SparseStructure>> SparseStructure::Decode(
    const PlanarLayout::Sparse& layout, const ColumnPath& path,
    uint64_t slot_count, std::span<const ByteSpan> buffers) {
  const auto count = static_cast<size_t>(layout.layers_size());
  if (count != path.types.size() || count > kLayersMax) {
    return Corrupt(std::to_string(count) + " sparse layers for the type " +
                   path.types[0]->ToString());
  }
  auto structure = std::make_shared<SparseStructure>();
  Decoder decoder(buffers, path);
  uint64_t slots = slot_count;
  for (size_t i = 0; i < count; ++i) {
    ROWFS_ASSIGN_OR_RETURN(
        Layer layer,
        decoder.Decode(layout.layers(static_cast<int>(i)), i, slots));
    slots = Decoder::ChildCount(layer);
    if (slots > kSlotsMax) return Corrupt("too many sparse slots");
    structure->layers_.push_back(std::move(layer));
  }
  structure->leaf_slot_count_ = slots;
  if (slot_count > 0) structure->present_slots_.push_back({0, slot_count});
  for (const Layer& layer : structure->layers_) {
    structure->present_slots_ =
        layer.Children(layer.Valid(structure->present_slots_));
  }
  return std::shared_ptr<const SparseStructure>(std::move(structure));
}

uint64_t SparseStructure::memory_bytes() const {
  uint64_t bytes = sizeof(*this) + 16 * present_slots_.size();
  for (const Layer& layer : layers_) {
    bytes +=
        sizeof(layer) + 8 * (layer.positions.size() + layer.non_empty.size() +
                             layer.item_begin.size());
  }
  return bytes;
}

uint64_t SparseStructure::Layer::ItemsBefore(uint64_t slot) const {
  const auto at = std::lower_bound(non_empty.begin(), non_empty.end(), slot);
  return item_begin[static_cast<size_t>(at - non_empty.begin())];
}

RowRanges SparseStructure::Layer::Children(const RowRanges& slots) const {
  if (kind == Kind::kItem) return slots;
  RowRanges children;
  for (const RowRange& range : slots) {
    const RowRange here =
        kind == Kind::kFixedSizeList
            ? RowRange{range.begin * dimension, range.end * dimension}
            : RowRange{ItemsBefore(range.begin), ItemsBefore(range.end)};
    if (here.size() == 0) continue;
    if (!children.empty() && children.back().end == here.begin) {
      children.back().end = here.end;
    } else {
      children.push_back(here);
    }
  }
  return children;
}

// The parts of `slots` that are valid here.
RowRanges SparseStructure::Layer::Valid(const RowRanges& slots) const {
  RowRanges valid;
  const auto add = [&valid](uint64_t begin, uint64_t end) {
    if (begin == end) return;
    if (!valid.empty() && valid.back().end == begin) {
      valid.back().end = end;
    } else {
      valid.push_back({begin, end});
    }
  };
  for (const RowRange& range : slots) {
    auto at = std::lower_bound(positions.begin(), positions.end(), range.begin);
    uint64_t begin = range.begin;
    for (; at != positions.end() && *at < range.end; ++at) {
      if (lists_valid) {
        add(*at, *at + 1);
      } else {
        add(begin, *at);
        begin = *at + 1;
      }
    }
    if (!lists_valid) add(begin, range.end);
  }
  return valid;
}

void SparseStructure::Layer::SetValidity(const RowRanges& slots,
                                         Array* array) const {
  if (!lists_valid && positions.empty()) return;
  Bytes bits((array->length + 7) / 8,
             lists_valid ? std::byte{0} : std::byte{0xff});
  uint64_t listed = 0;
  uint64_t before = 0;
  for (const RowRange& range : slots) {
    auto at = std::lower_bound(positions.begin(), positions.end(), range.begin);
    for (; at != positions.end() && *at < range.end; ++at, ++listed) {
      const uint64_t i = before + (*at - range.begin);
      bits[i / 8] ^= std::byte{1} << (i % 8);
    }
    before += range.size();
  }
  array->null_count = lists_valid ? array->length - listed : listed;
  if (array->null_count == 0) return;
  // Bits behind the last value stay zero.
  if (array->length % 8 != 0) {
    bits.back() &= std::byte{0xff} >> (8 - array->length % 8);
  }
  array->validity = std::make_shared<const Bytes>(std::move(bits));
}

RowRanges SparseStructure::LeafSlots(const RowRanges& rows) const {
  RowRanges slots = rows;
  for (const Layer& layer : layers_) slots = layer.Children(slots);
  return slots;
}

Result<Array> SparseStructure::Build(const ColumnPath& path,
                                     const RowRanges& rows,
                                     Array values) const {
  std::vector<RowRanges> slots = {rows};
  for (const Layer& layer : layers_) {
    slots.push_back(layer.Children(slots.back()));
  }
  if (values.length != CountRows(slots.back())) {
    return Corrupt(std::to_string(values.length) + " values for " +
                   std::to_string(CountRows(slots.back())) + " sparse slots");
  }
  const size_t last = layers_.size() - 1;
  Array chain = std::move(values);
  if (chain.type->id != TypeId::kNull) {
    layers_[last].SetValidity(slots[last], &chain);
  }
  for (size_t i = last; i-- > 0;) {
    const Layer& layer = layers_[i];
    Array array{.type = path.types[i], .length = CountRows(slots[i])};
    layer.SetValidity(slots[i], &array);
    if (layer.kind == Layer::Kind::kList) {
      const size_t width = array.type->id == TypeId::kLargeList ? 8 : 4;
      Bytes offsets;
      uint64_t items = 0;
      AppendUint(&offsets, 0, width);
      for (const RowRange& range : slots[i]) {
        auto at = static_cast<size_t>(std::lower_bound(layer.non_empty.begin(),
                                                       layer.non_empty.end(),
                                                       range.begin) -
                                      layer.non_empty.begin());
        for (uint64_t slot = range.begin; slot < range.end; ++slot) {
          if (at < layer.non_empty.size() && layer.non_empty[at] == slot) {
            items += layer.item_begin[at + 1] - layer.item_begin[at];
            ++at;
          }
          AppendUint(&offsets, items, width);
        }
      }
      array.offsets = std::make_shared<const Bytes>(std::move(offsets));
    }
    array.children.push_back(std::move(chain));
    chain = std::move(array);
  }
  return chain;
}

}  // namespace rowfs
