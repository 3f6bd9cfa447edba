// Rows that are nothing but stored files, as those of packs are: what lies in
// their folder, row.json and all, made of the table's FileRows. It costs a
// tenth of making the row's arrays and contents, and says exactly what
// ReadRowContents would, or nothing where that is not certain.
//
// Thread-safe.
#ifndef ROWFS_FS_TREE_STORED_ROWS_H_
#define ROWFS_FS_TREE_STORED_ROWS_H_

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "fs/tree/tree_options.h"
#include "index/dataset/dataset.h"
#include "index/view/media.h"
#include "storage/base/sync.h"

namespace rowfs {

// A file that is no more than stored bytes, or row.json.
struct StoredFile {
  std::string name;
  uint32_t code = 0;  // RowItem::code
  uint64_t size = 0;
  uint64_t place = 0;  // FileRows::File::place
};

struct StoredRow {
  uint64_t row = 0;
  std::vector<StoredFile> files;  // in the order they are listed
  std::string json;               // files[0], row.json
};

class StoredRows {
 public:
  // Requires: dataset.file_rows() is there; `dataset` outlives this. `quick`:
  // members are worth a look within a NoWaitScope.
  StoredRows(const Dataset& dataset, bool quick);

  // The whole folder. Null: its contents have to be made. Reads the first bytes
  // of files whose type nothing else says.
  std::shared_ptr<const StoredRow> Get(uint64_t row, Wait wait) EXCLUDES(mu_);

  // A file of the row, from memory. Absent: the contents have to be made.
  std::optional<StoredFile> Find(uint64_t row, std::string_view name, Wait wait)
      EXCLUDES(mu_);
  std::optional<StoredFile> Find(uint64_t row, uint32_t code, Wait wait)
      EXCLUDES(mu_);
  // Its bytes; null when the contents have to be made for that.
  Result<std::shared_ptr<const ViewFile>> Open(uint64_t row, uint32_t code,
                                               Wait wait) EXCLUDES(mu_);

 private:
  // How the media type of a column's files is told.
  enum class Rule { kKnown, kByMagic, kNotPlain };
  struct ColumnRule {
    std::string key;  // in row.json, with its colon
    Rule rule = Rule::kNotPlain;
    std::string media_type;  // kKnown; as JSON
  };
  static constexpr size_t kRowsKept = 256;

  std::shared_ptr<const StoredRow> Make(uint64_t row, Wait wait) const;
  // The JSON of what `file` holds; absent when that is not plain.
  std::optional<std::string> MediaType(const FileRows::File& file,
                                       Wait wait) const;
  std::optional<FileRows::FileRow> FilesOf(uint64_t row) const;
  std::shared_ptr<const StoredRow> Recent(uint64_t row) const EXCLUDES(mu_);

  const FileRows& rows_;
  const uint64_t row_count_;
  const bool quick_;
  std::vector<ColumnRule> columns_;
  mutable Mutex mu_;
  std::array<std::shared_ptr<const StoredRow>, kRowsKept> recent_
      GUARDED_BY(mu_);  // by row modulo kRowsKept
};

}  // namespace rowfs
#endif  // ROWFS_FS_TREE_STORED_ROWS_H_
