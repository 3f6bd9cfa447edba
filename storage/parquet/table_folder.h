// Parquet and Arrow tables: a file, a folder of files with or without Hive
// partitions, what Hugging Face's save_to_disk writes, a repository of Parquet
// files. No Arrow type is seen outside.
//
// Thread-safe.
#ifndef ROWFS_STORAGE_PARQUET_TABLE_FOLDER_H_
#define ROWFS_STORAGE_PARQUET_TABLE_FOLDER_H_

#include "storage/table/table_source.h"

namespace rowfs {

// The formats "parquet" and "arrow". Opening reads the footer of each file,
// several at a time from remote stores. Columns are matched by name over the
// files; one that a file lacks is null there. They know no versions.
//
// Blobs: binary columns; fixed-size binary and struct<bytes, path> come as
// TypeId::kBlob (media_struct.h). A path without bytes is relative to the
// folder (of a single file: the one it lies in) and must stay inside, unless
// OpenContext::allow_external has a place for it.
TableFormat ParquetFormat();
TableFormat ArrowFormat();

}  // namespace rowfs
#endif  // ROWFS_STORAGE_PARQUET_TABLE_FOLDER_H_
