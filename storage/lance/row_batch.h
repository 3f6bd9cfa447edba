// How many rows to read together: as many as stay within a budget of bytes,
// judged by the rows before them, and fewer where they turn out larger.
//
// One thread.
#ifndef ROWFS_STORAGE_LANCE_ROW_BATCH_H_
#define ROWFS_STORAGE_LANCE_ROW_BATCH_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "storage/base/status.h"
#include "storage/table/array.h"

namespace rowfs {

// What the rows of one batch may take together; one row may take more.
inline constexpr uint64_t kBatchBytesMax = 16 << 20;

class RowBatch {
 public:
  // `rows_first` in the first batch, `rows_max` in any.
  RowBatch(uint64_t rows_first, uint64_t rows_max)
      : rows_max_(rows_max), rows_(rows_first) {}

  // The next `rows` rows of one column, on this thread.
  using ReadColumn = std::function<Result<Array>(size_t column, uint64_t rows)>;
  // As many of the next `rows_left` (at least one) as fit. Rows that do not are
  // given up before most of their bytes are there, and fewer are read.
  Result<std::vector<Array>> Read(size_t columns, uint64_t rows_left,
                                  const ReadColumn& read);
  // Rows of the last batch.
  uint64_t rows() const { return got_; }

 private:
  const uint64_t rows_max_;
  uint64_t rows_;
  uint64_t got_ = 0;
};

}  // namespace rowfs
#endif  // ROWFS_STORAGE_LANCE_ROW_BATCH_H_
