// Row lists as people write them: "1,5,9-20", "100-". What select/ has for
// names and .rowfs/prefetch for lines.
//
// Values; thread-safe to read.
#ifndef ROWFS_FS_TREE_SELECTION_H_
#define ROWFS_FS_TREE_SELECTION_H_

#include <cstdint>
#include <map>
#include <string_view>
#include <vector>

#include "storage/base/bytes.h"
#include "storage/base/status.h"

namespace rowfs {

class Selection {
 public:
  // Rows in the order written, ends included; "100-" goes to the last row. A
  // row named twice counts where it comes first. kInvalidArgument when `text`
  // is no row list, kOutOfRange for a row that is not there.
  static Result<Selection> Parse(std::string_view text, uint64_t row_count);
  // The same of row numbers.
  static Selection Make(const std::vector<uint64_t>& rows);

  uint64_t row_count() const { return row_count_; }
  bool Contains(uint64_t row) const;
  // Row `index` of the selection. Requires: index < row_count().
  uint64_t at(uint64_t index) const;
  // How many rows from `index` on were written as one range: at(index) and
  // those that follow it. Requires: index < row_count().
  uint64_t RunAt(uint64_t index) const;

 private:
  size_t RangeAt(uint64_t index) const;
  void Add(ByteRange rows);

  // Disjoint; `starts_[i]` rows lie before ranges_[i].
  std::vector<ByteRange> ranges_;
  std::vector<uint64_t> starts_;
  std::map<uint64_t, uint64_t> ends_;  // begin -> end, of all ranges
  uint64_t row_count_ = 0;
};

}  // namespace rowfs
#endif  // ROWFS_FS_TREE_SELECTION_H_
