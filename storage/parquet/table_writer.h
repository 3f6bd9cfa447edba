// Writes a table as a Parquet or an Arrow IPC file, in memory that does not
// grow with it.
//
// One thread.
#ifndef ROWFS_STORAGE_PARQUET_TABLE_WRITER_H_
#define ROWFS_STORAGE_PARQUET_TABLE_WRITER_H_

#include <functional>
#include <memory>

#include "storage/table/array.h"

namespace rowfs {

class TableWriter {
 public:
  virtual ~TableWriter() = default;
  // Requires: the columns of the schema the writer was made with.
  virtual Status Write(const RecordBatch& batch) = 0;
  // Write what ends the file. Last call.
  virtual Status Finish() = 0;
};

using ByteSink = std::function<Status(ByteSpan)>;

// A Parquet file: row groups of about 64 MiB, media columns uncompressed and
// with a page index, so that each value is found on its own. kUnsupported for
// types without an Arrow form.
Result<std::unique_ptr<TableWriter>> MakeParquetWriter(const Schema& schema,
                                                       ByteSink sink);
// An Arrow IPC file, a record batch for each Write.
Result<std::unique_ptr<TableWriter>> MakeArrowWriter(const Schema& schema,
                                                     ByteSink sink);

}  // namespace rowfs
#endif  // ROWFS_STORAGE_PARQUET_TABLE_WRITER_H_
