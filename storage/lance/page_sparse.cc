// Sparse planar pages (2.3): positions and counts for the structure, and values
// only for the slots there are, in a layout of their own without levels.
#include <optional>
#include <string>
#include <utility>

#include "storage/lance/encoding.h"
#include "storage/lance/page.h"
#include "storage/lance/sparse_structure.h"

namespace rowfs {
namespace {

using lance::pb::PlanarLayout;

// The values of a page are cached as a page of their own.
constexpr uint32_t kValuesOfColumn = uint32_t{1} << 31;

Status Corrupt(std::string message) {
  return {Code::kCorruption, std::move(message)};
}

Result<size_t> CountZippedBuffers(const PlanarLayout::Zipped& zipped) {
  return zipped.addressing_case() == PlanarLayout::Zipped::kBitsPerOffset ? 2u
                                                                          : 1u;
}

// The buffers before those of the structure.
Result<size_t> CountValueBuffers(const PlanarLayout::Values& values) {
  switch (values.codec_case()) {
    case PlanarLayout::Values::kChunked:
      return size_t{values.chunked().has_dictionary() ? 3u : 2u};
    case PlanarLayout::Values::kZipped:
      return CountZippedBuffers(values.zipped());
    case PlanarLayout::Values::kIndexed: {
      ROWFS_ASSIGN_OR_RETURN(const size_t items,
                             CountZippedBuffers(values.indexed().items()));
      return items + 1;
    }
    case PlanarLayout::Values::kConstant:
    case PlanarLayout::Values::kNone:
      return size_t{0};
    case PlanarLayout::Values::CODEC_NOT_SET:
      break;
  }
  return Status(Code::kUnsupported, "a planar page with unknown values");
}

class SparseRead final : public PageRead {
 public:
  SparseRead(const PageContext& context, const PlanarLayout& layout,
             size_t value_buffers, RowRanges rows)
      : context_(context),
        layout_(layout),
        value_buffers_(value_buffers),
        rows_(std::move(rows)),
        leaf_(MakePath({&context.path->leaf()}, context.path->types.back())) {
    const uint64_t width = context.path->entries_per_row();
    for (RowRange& range : rows_) {
      range.begin /= width;
      range.end /= width;
    }
  }

  uint64_t table_bytes() const override {
    return values_ != nullptr ? values_->table_bytes() : table_bytes_;
  }

  Result<std::vector<ByteRange>> Next(std::vector<Bytes> got) override {
    if (!asked_) {
      asked_ = true;
      std::vector<ByteRange> wanted = WantTables();
      for (const ByteRange& table : wanted) table_bytes_ += table.size();
      return wanted;
    }
    table_bytes_ = 0;
    if (structure_ == nullptr || !started_) {
      ROWFS_RETURN_IF_ERROR(TakeTables(got));
      ROWFS_RETURN_IF_ERROR(StartValues());
      got.clear();
    }
    if (values_ == nullptr) return std::vector<ByteRange>();
    return values_->Next(std::move(got));
  }

  Result<Array> Finish() override {
    Array values = NullArray(leaf_.types[0], slot_count_);
    if (values_ != nullptr) {
      ROWFS_ASSIGN_OR_RETURN(values, values_->Finish());
    }
    if (!picks_.empty()) values = TakeArray(values, picks_);
    values.validity = nullptr;
    values.null_count = 0;
    return structure_->Build(*context_.path, rows_, std::move(values));
  }

 private:
  const PlanarLayout::Values& values() const { return layout_.values(); }

  std::vector<ByteRange> WantTables() {
    const auto& buffers = context_.page->buffers;
    structure_ = std::dynamic_pointer_cast<const SparseStructure>(
        context_.cache->Find(context_.key));
    std::vector<ByteRange> wanted;
    if (values().has_indexed()) wanted.push_back(buffers[0]);
    if (structure_ == nullptr) {
      wanted.insert(
          wanted.end(),
          buffers.begin() + static_cast<std::ptrdiff_t>(value_buffers_),
          buffers.end());
    }
    // Asking for nothing would mean that nothing else is wanted.
    if (wanted.empty()) wanted.push_back({0, 0});
    return wanted;
  }

  Status TakeTables(const std::vector<Bytes>& got) {
    started_ = true;
    const size_t indexed = values().has_indexed() ? 1 : 0;
    if (indexed != 0) indices_ = got[0];
    if (structure_ != nullptr) return {};
    const std::vector<ByteSpan> spans(
        got.begin() + static_cast<std::ptrdiff_t>(indexed), got.end());
    const uint64_t width = context_.path->entries_per_row();
    if (context_.page->row_count % width != 0) {
      return Corrupt("half a fixed-size list");
    }
    const DecodeLimit whole_page(kDecodedBytesMax);
    ROWFS_ASSIGN_OR_RETURN(
        structure_,
        SparseStructure::Decode(layout_.structure().sparse(), *context_.path,
                                context_.page->row_count / width, spans));
    context_.cache->Put(context_.key, structure_);
    return {};
  }

  // Read the values of the slots there are, as a page without levels.
  Status StartValues() {
    RowRanges slots = structure_->LeafSlots(rows_);
    slot_count_ = CountRows(slots);
    if (slot_count_ == 0 || values().has_none()) return {};
    page_.row_count = structure_->leaf_slot_count();
    page_.buffers.assign(context_.page->buffers.begin(),
                         context_.page->buffers.begin() +
                             static_cast<std::ptrdiff_t>(value_buffers_));
    PlanarLayout::Values codec = values();
    if (values().has_indexed()) {
      ROWFS_RETURN_IF_ERROR(PickItems(&slots));
      *codec.mutable_zipped() = values().indexed().items();
    } else if (values().has_zipped()) {
      ROWFS_RETURN_IF_ERROR(PickPresent(&slots));
      if (slots.empty()) return {};
    } else if (values().has_chunked()) {
      codec.mutable_chunked()->set_num_items(page_.row_count);
    }
    google::protobuf::RepeatedField<int> layers;
    layers.Add(lance::pb::LAYER_ALL_VALID_ITEM);
    ROWFS_ASSIGN_OR_RETURN(const lance::pb::PageLayout layout,
                           ToPageLayout(codec, layers));
    PageContext context = context_;
    context.page = &page_;
    context.path = &leaf_;
    context.key.first |= kValuesOfColumn;
    ROWFS_ASSIGN_OR_RETURN(values_,
                           StartLayoutRead(context, layout, std::move(slots)));
    return {};
  }

  // Zipped values are those of the slots that are not null.
  Status PickPresent(RowRanges* slots) {
    RowRanges wanted;
    const RowRanges& present = structure_->present_slots();
    page_.row_count = CountRows(present);
    if (page_.row_count != values().zipped().num_items()) {
      return Corrupt(std::to_string(values().zipped().num_items()) +
                     " zipped values for " + std::to_string(page_.row_count) +
                     " slots that are not null");
    }
    uint64_t rank = 0;   // values before present[at]
    uint64_t taken = 0;  // values wanted so far
    size_t at = 0;
    for (const RowRange& range : *slots) {
      for (uint64_t slot = range.begin; slot < range.end; ++slot) {
        while (at < present.size() && present[at].end <= slot) {
          rank += present[at++].size();
        }
        if (at == present.size() || slot < present[at].begin) {
          // Null: any value will do, if there is one.
          picks_.push_back(taken == 0 ? 0 : taken - 1);
          continue;
        }
        const uint64_t value = rank + slot - present[at].begin;
        if (!wanted.empty() && wanted.back().end == value) {
          ++wanted.back().end;
        } else {
          wanted.push_back({value, value + 1});
        }
        picks_.push_back(taken++);
      }
    }
    *slots = std::move(wanted);
    if (slots->empty()) picks_.clear();
    return {};
  }

  // Slots point into a page of distinct items: read those in use, each once.
  Status PickItems(RowRanges* slots) {
    ROWFS_ASSIGN_OR_RETURN(const auto decoder,
                           BlockDecoder::Make(values().indexed().indices()));
    ValueBlock block = decoder->NewBlock();
    ROWFS_RETURN_IF_ERROR(decoder->Decode(indices_, page_.row_count, &block));
    if (block.bits != 32) return Corrupt("indices that are not 32 bits wide");
    const std::vector<uint64_t> indices = ToIntegers(block);
    page_.row_count = values().indexed().items().num_items();
    page_.buffers.erase(page_.buffers.begin());
    std::map<uint64_t, uint64_t> place;
    for (const RowRange& range : *slots) {
      for (uint64_t i = range.begin; i < range.end; ++i) {
        if (indices[i] >= page_.row_count) {
          return Corrupt("index " + std::to_string(indices[i]) + " of " +
                         std::to_string(page_.row_count) + " items");
        }
        picks_.push_back(indices[i]);
        place[indices[i]] = 0;
      }
    }
    slots->clear();
    uint64_t next = 0;
    for (auto& [index, at] : place) {
      at = next++;
      if (!slots->empty() && slots->back().end == index) {
        ++slots->back().end;
      } else {
        slots->push_back({index, index + 1});
      }
    }
    for (uint64_t& pick : picks_) pick = place[pick];
    return {};
  }

  const PageContext context_;
  const PlanarLayout layout_;
  const size_t value_buffers_;
  RowRanges rows_;  // slots of the outermost layer
  const ColumnPath leaf_;
  uint64_t table_bytes_ = 0;
  bool asked_ = false;
  bool started_ = false;
  Bytes indices_;
  std::shared_ptr<const SparseStructure> structure_;
  PageMetadata page_;
  uint64_t slot_count_ = 0;
  std::vector<uint64_t> picks_;
  std::unique_ptr<PageRead> values_;
};

}  // namespace

Result<std::unique_ptr<PageRead>> StartSparseRead(const PageContext& context,
                                                  const PlanarLayout& layout,
                                                  RowRanges rows) {
  ROWFS_ASSIGN_OR_RETURN(const size_t value_buffers,
                         CountValueBuffers(layout.values()));
  ROWFS_ASSIGN_OR_RETURN(
      const size_t structure_buffers,
      SparseStructure::CountBuffers(layout.structure().sparse()));
  if (context.page->buffers.size() != value_buffers + structure_buffers) {
    return Corrupt(std::to_string(context.page->buffers.size()) +
                   " buffers in a sparse page that needs " +
                   std::to_string(value_buffers + structure_buffers));
  }
  return std::unique_ptr<PageRead>(
      new SparseRead(context, layout, value_buffers, std::move(rows)));
}

}  // namespace rowfs
