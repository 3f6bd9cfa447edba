// Rows of a table that is still being looked through, for whoever does not want
// to wait for the whole of it. What is told about a row is what the whole table
// will say, or nothing.
//
// Thread-safe.
#ifndef ROWFS_STORAGE_TABLE_EARLY_ROWS_H_
#define ROWFS_STORAGE_TABLE_EARLY_ROWS_H_

#include <cstdint>
#include <optional>
#include <string>

#include "storage/table/file_rows.h"

namespace rowfs {

class EarlyRows {
 public:
  struct Found {
    uint64_t rows = 0;  // that are known to be whole
    uint64_t bytes = 0;
    uint64_t bytes_total = 0;
    bool ended = false;  // no more will come
  };

  virtual ~EarlyRows() = default;

  // What TableSource::fingerprint will say.
  virtual std::string fingerprint() const = 0;
  virtual Found found() const = 0;
  // Waits until there are more than `rows` rows, or no more will come.
  virtual Found WaitForMore(uint64_t rows) const = 0;
  // As FileRows::FilesOf. Absent also for rows that were not found yet.
  virtual std::optional<FileRows::FileRow> FilesOf(uint64_t row) const = 0;
  virtual Result<BlobSource> OpenFile(const FileRows::File& file) const = 0;
};

}  // namespace rowfs
#endif  // ROWFS_STORAGE_TABLE_EARLY_ROWS_H_
