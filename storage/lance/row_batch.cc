#include "storage/lance/row_batch.h"

#include <algorithm>
#include <bit>
#include <optional>
#include <utility>

#include "storage/lance/value_block.h"
#include "storage/table/array_bytes.h"

namespace rowfs {
namespace {

// How many times fewer rows are tried when some do not fit.
constexpr uint64_t kFewer = 16;

Status ReadColumns(size_t columns, uint64_t rows,
                   const RowBatch::ReadColumn& read, uint64_t* bytes,
                   std::vector<Array>* out) {
  for (size_t i = 0; i < columns; ++i) {
    ROWFS_ASSIGN_OR_RETURN(out->emplace_back(), read(i, rows));
    *bytes += RowBytes(out->back());
    if (rows > 1 && *bytes > kBatchBytesMax) {
      return {Code::kResourceExhausted, "rows larger than a batch"};
    }
  }
  return {};
}

}  // namespace

Result<std::vector<Array>> RowBatch::Read(size_t columns, uint64_t rows_left,
                                          const ReadColumn& read) {
  uint64_t rows = std::min(rows_, rows_left);
  for (;; rows = std::max<uint64_t>(1, rows / kFewer)) {
    std::optional<DecodeLimit> limit;
    if (rows > 1) limit.emplace(kBatchBytesMax);
    std::vector<Array> out;
    uint64_t bytes = 1;
    const Status status = ReadColumns(columns, rows, read, &bytes, &out);
    if (status.code() == Code::kResourceExhausted && rows > 1) continue;
    ROWFS_RETURN_IF_ERROR(status);
    got_ = rows;
    const uint64_t fit = kBatchBytesMax / 2 / (bytes / rows + 1);
    rows_ = std::bit_floor(std::clamp<uint64_t>(fit, 1, rows_max_));
    return out;
  }
}

}  // namespace rowfs
