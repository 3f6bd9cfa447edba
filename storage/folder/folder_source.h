// A folder of files as a table: one row a file, sorted by path.
//
// Columns: `file_name` (path below the folder), `label` where the folders are
// classes, one blob column per kind of file that occurs (video, audio, image,
// document, file), then the columns of metadata.jsonl, .csv or .parquet, on top
// or in folders below (Hugging Face folder conventions). Hidden files and
// folders are left out.
#ifndef ROWFS_STORAGE_FOLDER_FOLDER_SOURCE_H_
#define ROWFS_STORAGE_FOLDER_FOLDER_SOURCE_H_

#include "storage/table/table_source.h"

namespace rowfs {

// The "folder" format: detects any directory, and a file whose extension names
// a kind. Opening lists the tree and reads the metadata files, no media. It
// knows no versions. `metadata_format` opens metadata.parquet; null: such a
// file is one like others.
TableFormat FolderFormat(const TableFormat* metadata_format = nullptr);

}  // namespace rowfs
#endif  // ROWFS_STORAGE_FOLDER_FOLDER_SOURCE_H_
