// One file of a table, whatever kind it is.
//
// Thread-safe.
#ifndef ROWFS_STORAGE_PARQUET_OPEN_FILE_H_
#define ROWFS_STORAGE_PARQUET_OPEN_FILE_H_

#include <memory>

#include "storage/parquet/array_cache.h"
#include "storage/parquet/row_file.h"
#include "storage/parquet/table_files.h"

namespace rowfs {

// Open the object at `location`. What it reads is kept in `cache`, which
// outlives it, under `number`. The first request brings the tail.
Result<std::unique_ptr<RowFile>> OpenRowFile(
    const Location& location, const ObjectMeta& meta, FileKind kind,
    const ReadContext& context, ArrayCache* cache, uint32_t number);

}  // namespace rowfs
#endif  // ROWFS_STORAGE_PARQUET_OPEN_FILE_H_
