// Which files of a folder are the table: Parquet and Arrow files by name, Hive
// partitions, what Hugging Face's save_to_disk leaves, repositories of Parquet
// files. And what their paths say about their rows.
//
// Thread-safe.
#ifndef ROWFS_STORAGE_PARQUET_TABLE_FILES_H_
#define ROWFS_STORAGE_PARQUET_TABLE_FILES_H_

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "storage/object/object_store.h"

namespace rowfs {

enum class FileKind { kParquet, kArrow };

struct TableFile {
  std::string path;  // below the folder; empty: the location itself
  ObjectMeta meta;
  // Columns that the path alone has: Hive partitions (absent: null) and, where
  // there are several, the split.
  std::vector<std::pair<std::string, std::optional<std::string>>> values;
};

// By the extension: .parquet, .pq; .arrow, .feather, .ipc. Absent for others.
std::optional<FileKind> KindOfTableFile(std::string_view path);

// The kind of the object at `location` by its first bytes, if it has such an
// extension or none at all. Absent: neither. Two requests at most.
Result<std::optional<FileKind>> DetectFile(const Location& location);

// The kind of table that the folder at `location` holds, from as few listings
// as it takes to find one file of it, 64 at most. Absent: none, which is also
// said of a folder of media with a metadata.parquet.
Result<std::optional<FileKind>> DetectFolder(const Location& location);

// All files of kind `kind` of the table in the folder, in order of their rows:
// by path, or as save_to_disk wrote down. Files on top win over files in
// "data", those over "tables", those over the rest. kNotFound when there are
// none.
Result<std::vector<TableFile>> ListTableFiles(const Location& location,
                                              FileKind kind);

}  // namespace rowfs
#endif  // ROWFS_STORAGE_PARQUET_TABLE_FILES_H_
