#include "fs/tree/rows_layout.h"

#include <algorithm>

namespace rowfs {
namespace {

constexpr size_t kShardDigits = 3;  // of kShardRows

std::string Padded(uint64_t number, size_t digits) {
  std::string text = std::to_string(number);
  if (text.size() < digits) text.insert(0, digits - text.size(), '0');
  return text;
}

}  // namespace

RowsLayout::RowsLayout(uint64_t row_count, TreeOptions::Rows rows,
                       size_t digits)
    : row_count_(row_count),
      sharded_(rows == TreeOptions::Rows::kSharded ||
               (rows == TreeOptions::Rows::kAuto && row_count > kFlatRowsMax)),
      digits_(digits != 0
                  ? digits
                  : std::max(kDigitsMin,
                             std::to_string(row_count == 0 ? 0 : row_count - 1)
                                 .size())) {}

std::string RowsLayout::NumberName(uint64_t row) const {
  return Padded(row, digits_);
}

std::string RowsLayout::ShardName(uint64_t shard) const {
  return Padded(shard, digits_ - kShardDigits);
}

std::string RowsLayout::PathOf(uint64_t row) const {
  if (!sharded_) return NumberName(row);
  return ShardName(row / kShardRows) + "/" + NumberName(row);
}

std::optional<uint64_t> RowsLayout::FindShard(std::string_view name) const {
  uint64_t shard = 0;
  if (name.empty()) return {};
  for (const char c : name) {
    if (c < '0' || c > '9') return {};
    shard = shard * 10 + static_cast<uint64_t>(c - '0');
    if (shard >= shard_count()) return {};
  }
  if (ShardName(shard) != name) return {};
  return shard;
}

std::optional<uint64_t> RowsLayout::FindNumber(std::string_view name) const {
  if (name.empty()) return {};
  uint64_t row = 0;
  for (const char c : name) {
    if (c < '0' || c > '9') return {};
    row = row * 10 + static_cast<uint64_t>(c - '0');
    if (row >= row_count_) return {};
  }
  return row;
}

}  // namespace rowfs
