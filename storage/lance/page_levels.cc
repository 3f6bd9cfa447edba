#include "storage/lance/page_levels.h"

#include <algorithm>
#include <span>
#include <string>
#include <utility>

#include "storage/lance/block_encoder.h"
#include "storage/lance/chunk_encoder.h"

namespace rowfs {
namespace {

using lance::pb::CompressiveEncoding;
using lance::pb::PlanarLayout;
using lance::pb::RepDefLayer;

RepDefLayer ListKind(bool nulls, bool empties) {
  if (nulls && empties) return lance::pb::LAYER_NULL_AND_EMPTY_LIST;
  if (nulls) return lance::pb::LAYER_NULLABLE_LIST;
  if (empties) return lance::pb::LAYER_EMPTYABLE_LIST;
  return lance::pb::LAYER_ALL_VALID_LIST;
}

// Where a struct is null, readers expect the structs and the list inside it to
// be ones that may be null, too, whether they are or not.
void MarkNullInside(const std::vector<LayerKind>& layers,
                    std::vector<uint64_t>* used) {
  bool null_outside = false;
  bool null_struct = false;  // without a list in between
  size_t number = used->size();
  for (size_t i = layers.size(); i > 0; --i) {
    const bool list = layers[i - 1] == LayerKind::kList;
    number -= list ? 2 : 1;
    uint64_t& nulls = (*used)[number];
    const bool leaf = i == 1;
    const bool inside = list ? null_outside : null_struct && !leaf;
    if (inside && nulls == 0) nulls = 1;
    null_struct = !list && nulls > 0;
    null_outside = null_outside || null_struct;
  }
}

}  // namespace

PageLevels NumberLevels(const LeafPage& page, const LeafColumn& leaf) {
  size_t numbers = 1;
  for (const LayerKind kind : leaf.layers) {
    numbers += kind == LayerKind::kList ? 2 : 1;
  }
  std::vector<uint64_t> used(numbers);
  for (const uint16_t level : page.def) ++used[level];
  if (page.def.empty()) used[0] = page.levels;

  MarkNullInside(leaf.layers, &used);

  PageLevels out;
  out.max_rep = leaf.lists;
  out.rep = page.rep;
  out.all_null = used[0] == 0;
  std::vector<uint16_t> renumbered(numbers);
  uint16_t next = 0;
  size_t number = 1;
  bool inside = true;  // no list layer yet
  const auto take = [&](size_t level) {
    if (used[level] > 0) renumbered[level] = ++next;
  };
  for (const LayerKind kind : leaf.layers) {
    take(number);
    if (kind == LayerKind::kItem) {
      out.layers.push_back(used[number] > 0 ? lance::pb::LAYER_NULLABLE_ITEM
                                            : lance::pb::LAYER_ALL_VALID_ITEM);
      number += 1;
      if (inside) out.max_visible = next;
      continue;
    }
    inside = false;
    take(number + 1);
    out.layers.push_back(ListKind(used[number] > 0, used[number + 1] > 0));
    number += 2;
  }
  out.max_def = next;
  if (next == 0) return out;
  out.def.reserve(page.def.size());
  for (const uint16_t level : page.def) out.def.push_back(renumbered[level]);
  return out;
}

namespace {

CompressiveEncoding EncodeCounts(const std::vector<uint64_t>& counts,
                                 std::vector<Bytes>* buffers) {
  CompressiveEncoding encoding;
  if (counts.empty()) {
    encoding.mutable_constant();
    return encoding;
  }
  if (std::all_of(counts.begin(), counts.end(),
                  [&](uint64_t n) { return n == counts.front(); })) {
    encoding.mutable_constant()->set_value(
        std::string(AsText(std::as_bytes(std::span(counts)).first(8))));
    return encoding;
  }
  EncodedBlock block = EncodeNumbers(counts);
  buffers->push_back(std::move(block.bytes));
  return std::move(block.encoding);
}

CompressiveEncoding EncodePositions(const std::vector<uint64_t>& positions,
                                    std::vector<Bytes>* buffers) {
  CompressiveEncoding encoding;
  if (positions.empty()) {
    encoding.mutable_constant();
    return encoding;
  }
  if (positions.size() == 1) return EncodeCounts(positions, buffers);
  const uint64_t step = positions[1] - positions[0];
  bool even = true;
  for (size_t i = 2; i < positions.size() && even; ++i) {
    even = positions[i] - positions[i - 1] == step;
  }
  if (even) {
    auto* range = encoding.mutable_range();
    range->set_uncompressed_bits_per_value(64);
    range->set_start(positions.front());
    range->set_step(step);
    return encoding;
  }
  EncodedBlock block = EncodeIncreasing(positions);
  buffers->push_back(std::move(block.bytes));
  return std::move(block.encoding);
}

// What one layer's slots are.
struct SparseSlots {
  uint64_t count = 0;
  std::vector<uint64_t> null_positions;
  std::vector<uint64_t> non_empty_positions;
  std::vector<uint64_t> counts;  // of the non-empty ones
};

// Walk the levels once for the layer that starts at definition level `first`
// with `outer` list layers outside it.
SparseSlots CollectSlots(const LeafPage& page, const LeafColumn& leaf,
                         size_t layer, uint16_t first, uint16_t outer) {
  const bool list = leaf.layers[layer] == LayerKind::kList;
  const auto new_slot = static_cast<uint16_t>(leaf.lists - outer);
  SparseSlots out;
  bool open = false;  // the current slot is a list with items
  for (uint64_t i = 0; i < page.levels; ++i) {
    const uint16_t def = page.def.empty() ? uint16_t{0} : page.def[i];
    const uint16_t rep = page.rep.empty() ? leaf.lists : page.rep[i];
    if (rep < new_slot) {  // goes on inside the current slot
      if (open && rep + 1 == new_slot) ++out.counts.back();
      continue;
    }
    open = false;
    // Find what ended this entry: a list further out leaves no slot here, a
    // struct further out leaves a null one.
    bool outside = false;
    bool outer_list = false;
    uint16_t level = 1;
    for (size_t j = 0; j < leaf.layers.size(); ++j) {
      const bool is_list = leaf.layers[j] == LayerKind::kList;
      const auto end = static_cast<uint16_t>(level + (is_list ? 2 : 1));
      if (j > layer && def >= level && def < end) {
        outside = true;
        // A null struct outside a list that this layer is inside of: the list
        // has no items.
        for (size_t k = layer + 1; k <= j; ++k) {
          outer_list |= leaf.layers[k] == LayerKind::kList;
        }
      }
      level = end;
    }
    if (outside && outer_list) continue;
    const uint64_t slot = out.count++;
    if (outside || def == first) {
      out.null_positions.push_back(slot);
    } else if (list && def != first + 1) {
      out.non_empty_positions.push_back(slot);
      out.counts.push_back(1);
      open = true;
    }
  }
  return out;
}

}  // namespace

PlanarLayout::Sparse SparseLayers(const LeafPage& page, const LeafColumn& leaf,
                                  std::vector<Bytes>* buffers) {
  std::vector<uint16_t> first;
  uint16_t next = 1;
  for (const LayerKind kind : leaf.layers) {
    first.push_back(next);
    next = static_cast<uint16_t>(next + (kind == LayerKind::kList ? 2 : 1));
  }
  PlanarLayout::Sparse sparse;
  uint16_t outer = 0;
  for (size_t i = leaf.layers.size(); i > 0; --i) {
    const size_t layer = i - 1;
    const SparseSlots slots =
        CollectSlots(page, leaf, layer, first[layer], outer);
    auto* out = sparse.add_layers();
    PlanarLayout::Validity* validity = nullptr;
    if (leaf.layers[layer] == LayerKind::kList) {
      auto* list = out->mutable_list();
      uint64_t children = 0;
      for (const uint64_t count : slots.counts) children += count;
      list->set_num_child_slots(children);
      *list->mutable_non_empty_positions() =
          EncodePositions(slots.non_empty_positions, buffers);
      list->set_num_non_empty_positions(slots.non_empty_positions.size());
      *list->mutable_counts() = EncodeCounts(slots.counts, buffers);
      validity = list->mutable_validity();
      ++outer;
    } else {
      validity = out->mutable_validity();
    }
    validity->set_meaning(PlanarLayout::Validity::MEANING_NULL_POSITIONS);
    *validity->mutable_positions() =
        EncodePositions(slots.null_positions, buffers);
    validity->set_num_positions(slots.null_positions.size());
  }
  return sparse;
}

}  // namespace rowfs
