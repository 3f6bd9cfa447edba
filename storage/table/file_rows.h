// What a table can offer besides its columns when its rows are nothing but a
// key and files with names and sizes, as those of a pack are: a row's folder is
// listed, and a file of it found and opened, without making the row.
//
// Thread-safe.
#ifndef ROWFS_STORAGE_TABLE_FILE_ROWS_H_
#define ROWFS_STORAGE_TABLE_FILE_ROWS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "storage/table/table_source.h"

namespace rowfs {

class FileRows {
 public:
  struct File {
    std::string name;  // as its column says files are called, not escaped
    uint64_t size = 0;
    size_t field = 0;    // in the table's schema
    uint64_t place = 0;  // the table's own: where its bytes are
  };
  struct FileRow {
    std::string key;          // the value of the first field
    std::vector<File> files;  // in the order of the fields
  };

  virtual ~FileRows() = default;

  // The files of `row`, from memory. Absent when there is more to know about
  // one of them: it cannot be read, or may have listed views. Requires: row <
  // row_count().
  virtual std::optional<FileRow> FilesOf(uint64_t row) const = 0;
  // The bytes of a file that FilesOf told of, as TableSource::OpenBlob.
  virtual Result<BlobSource> OpenFile(const File& file) const = 0;
};

}  // namespace rowfs
#endif  // ROWFS_STORAGE_TABLE_FILE_ROWS_H_
