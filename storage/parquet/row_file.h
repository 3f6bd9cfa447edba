// One file of rows, as the table source sees Parquet and Arrow files alike.
//
// Thread-safe.
#ifndef ROWFS_STORAGE_PARQUET_ROW_FILE_H_
#define ROWFS_STORAGE_PARQUET_ROW_FILE_H_

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "storage/table/table_source.h"

namespace rowfs {

class RowFile {
 public:
  virtual ~RowFile() = default;

  virtual const Schema& schema() const = 0;
  virtual uint64_t row_count() const = 0;

  // The rows `rows` of the top-level fields `fields`, an array each.
  // Requires: rows rise and are below row_count().
  virtual Result<std::vector<Array>> Take(std::span<const uint64_t> rows,
                                          std::span<const size_t> fields) = 0;

  // Rows [begin, end) in batches of at most `batch_rows`, fewer where rows are
  // large. Requires: fields rise.
  virtual Result<std::unique_ptr<BatchReader>> Scan(
      std::span<const size_t> fields, uint64_t begin, uint64_t end,
      uint64_t batch_rows) = 0;
};

}  // namespace rowfs
#endif  // ROWFS_STORAGE_PARQUET_ROW_FILE_H_
