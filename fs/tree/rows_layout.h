// How row numbers become names below rows/: flat, or in shards of 1,000.
//
// Values; thread-safe.
#ifndef ROWFS_FS_TREE_ROWS_LAYOUT_H_
#define ROWFS_FS_TREE_ROWS_LAYOUT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "fs/tree/tree_options.h"

namespace rowfs {

class RowsLayout {
 public:
  static constexpr uint64_t kFlatRowsMax = 10'000;
  static constexpr uint64_t kShardRows = 1'000;

  static constexpr size_t kDigitsMin = 6;

  // `digits` 0: as many as the last row needs, at least kDigitsMin. With fewer
  // the names of later rows are as long as they have to be.
  RowsLayout(uint64_t row_count, TreeOptions::Rows rows, size_t digits = 0);

  uint64_t row_count() const { return row_count_; }
  bool sharded() const { return sharded_; }
  uint64_t shard_count() const {
    return (row_count_ + kShardRows - 1) / kShardRows;
  }

  // Digits of the row, padded: "000042".
  std::string NumberName(uint64_t row) const;
  // The row's number without its last three digits: "042".
  std::string ShardName(uint64_t shard) const;
  // The way from rows/ to the row's folder: "042/042042".
  std::string PathOf(uint64_t row) const;
  // Absent unless `name` is exactly the name of a shard that exists.
  std::optional<uint64_t> FindShard(std::string_view name) const;
  // The row that `name`, decimal digits however padded, is the number of;
  // absent when it is no number or there is no such row.
  std::optional<uint64_t> FindNumber(std::string_view name) const;

 private:
  uint64_t row_count_;
  bool sharded_;
  size_t digits_;
};

}  // namespace rowfs
#endif  // ROWFS_FS_TREE_ROWS_LAYOUT_H_
