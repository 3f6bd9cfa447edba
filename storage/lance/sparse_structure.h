// The structure of sparse pages (2.3): for each depth, which slots are null and
// which lists are not empty, as sorted positions instead of levels.
//
// Values; thread-safe to read.
#ifndef ROWFS_STORAGE_LANCE_SPARSE_STRUCTURE_H_
#define ROWFS_STORAGE_LANCE_SPARSE_STRUCTURE_H_

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "storage/lance/encoding.h"
#include "storage/lance/page.h"

namespace rowfs {

class SparseStructure final : public PageState {
 public:
  // How many buffers the layers have, behind those of the values.
  static Result<size_t> CountBuffers(
      const lance::pb::PlanarLayout::Sparse& layout);
  // `buffers` as CountBuffers says, `slot_count` slots of the outermost layer.
  // kCorruption when positions, counts and domains contradict each other or
  // the layers do not fit the path.
  static Result<std::shared_ptr<const SparseStructure>> Decode(
      const lance::pb::PlanarLayout::Sparse& layout, const ColumnPath& path,
      uint64_t slot_count, std::span<const ByteSpan> buffers);

  // Slots of the leaf in the whole page.
  uint64_t leaf_slot_count() const { return leaf_slot_count_; }
  // Those of them that are valid at every depth: what zipped values hold.
  const RowRanges& present_slots() const { return present_slots_; }
  // The leaf slots below `rows` (slots of the outermost layer).
  RowRanges LeafSlots(const RowRanges& rows) const;
  // The chain of `rows` around `values`, one a leaf slot below them.
  Result<Array> Build(const ColumnPath& path, const RowRanges& rows,
                      Array values) const;

  uint64_t memory_bytes() const override;

 private:
  struct Layer {
    enum class Kind : uint8_t { kItem, kList, kFixedSizeList };
    Kind kind = Kind::kItem;
    uint64_t slot_count = 0;
    uint64_t dimension = 1;
    // Sorted slots that are null, or the only ones that are not.
    bool lists_valid = false;
    std::vector<uint64_t> positions;
    // kList: sorted slots with items, and where the items of each begin.
    std::vector<uint64_t> non_empty;
    std::vector<uint64_t> item_begin;  // non_empty.size() + 1

    uint64_t ItemsBefore(uint64_t slot) const;
    RowRanges Children(const RowRanges& slots) const;
    RowRanges Valid(const RowRanges& slots) const;
    void SetValidity(const RowRanges& slots, Array* array) const;
  };
  class Decoder;

  std::vector<Layer> layers_;  // outermost first
  uint64_t leaf_slot_count_ = 0;
  RowRanges present_slots_;
};

}  // namespace rowfs
#endif  // ROWFS_STORAGE_LANCE_SPARSE_STRUCTURE_H_
