// A dataset as people see it: rows by number, columns with roles, blobs that
// can be opened, whatever format stores them.
//
// Thread-safe after Open; one immutable snapshot.
#ifndef ROWFS_INDEX_DATASET_DATASET_H_
#define ROWFS_INDEX_DATASET_DATASET_H_

#include <compare>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "index/dataset/blob.h"
#include "storage/base/sync.h"
#include "storage/table/file_rows.h"
#include "storage/table/table_source.h"

namespace rowfs {

// What a column is to a person; decides how a mount shows it.
enum class ColumnRole {
  kNumber,  // number, bool, date or time: NAME
  kText,    // string: NAME.txt
  kTensor,  // fixed-size numeric list: NAME.npy
  kNested,  // anything else that is a value: NAME.json
  kBlob,    // a file: NAME.EXT and its views
  kTree,    // struct, list or map with blobs inside: a folder
  kIndex,   // COLUMN__blob_info of a blob column: not shown
};

struct Column {
  std::string name;
  size_t field = 0;  // in the table's schema
  ColumnRole role = ColumnRole::kNested;
  TypePtr type;
  Metadata metadata;
  // kBlob in the column layout: the field that holds its blob_info.
  std::optional<size_t> index_field;
};

// A cell: a top-level column and the way down through structs (child number),
// lists and maps (element number).
struct CellPath {
  size_t column = 0;  // in Dataset::columns()
  std::vector<uint32_t> steps;

  auto operator<=>(const CellPath&) const = default;
};

// One row in memory: values[c] is columns()[c] with a single value. kIndex
// columns are empty arrays. Blob cells carry the head of their blob_info.
struct Row {
  uint64_t number = 0;
  std::vector<Array> values;
};

struct DatasetOptions {
  std::string format;  // empty: detect
  // Rows kept in memory between calls.
  size_t rows_cached_max = 256;
};

class Dataset {
 public:
  // Open `source`: a path or URL, `@vN`, `@TAG`, `@BRANCH` or `@latest` behind
  // it. `formats` are tried in order; each detects with few small requests.
  // kNotFound when there is nothing, kUnsupported when no format knows it;
  // both name the source and what was tried.
  static Result<std::shared_ptr<Dataset>> Open(
      std::string_view source, std::span<const TableFormat> formats,
      const OpenContext& context, const DatasetOptions& options);
  // A table that is open already. `source` is what people may pass to Open.
  static Result<std::shared_ptr<Dataset>> Make(
      std::string source, std::unique_ptr<TableSource> table,
      const DatasetOptions& options);

  const std::string& source() const { return source_; }
  TableSource& table() const { return *table_; }
  // What the table offers besides, if it does: null.
  const FileRows* file_rows() const { return file_rows_; }
  uint64_t row_count() const { return table_->row_count(); }
  const std::vector<Column>& columns() const { return columns_; }
  // Index into columns(); absent when there is none.
  std::optional<size_t> FindColumn(std::string_view name) const;

  // All columns of one row, blob cells with the head of their blob_info. From
  // memory when the row was read lately, else one Take. kOutOfRange.
  Result<std::shared_ptr<const Row>> ReadRow(uint64_t row) EXCLUDES(mu_);
  // Several rows, in one Take for those that are not in memory. kOutOfRange.
  Result<std::vector<std::shared_ptr<const Row>>> ReadRows(
      std::span<const uint64_t> rows) EXCLUDES(mu_);
  // Whether ReadRow would answer from memory.
  bool HasRow(uint64_t row) const EXCLUDES(mu_);

  // The blob at `path` of `row`. Null pointer for a null cell. `detail` says
  // how much of blob_info its cell() carries. One Take (none when the row is in
  // memory and kHead suffices) and at most one metadata request for the object.
  Result<std::shared_ptr<const Blob>> OpenBlob(uint64_t row,
                                               const CellPath& path,
                                               BlobDetail detail) EXCLUDES(mu_);
  // Top-level blob column `column` of many rows, in one Take.
  Result<std::vector<std::shared_ptr<const Blob>>> OpenBlobs(
      std::span<const uint64_t> rows, size_t column, BlobDetail detail);

 private:
  struct RecentRow {
    std::shared_ptr<const Row> row;
    uint64_t bytes = 0;
  };

  Dataset(std::string source, std::unique_ptr<TableSource> table,
          const DatasetOptions& options);

  void FindRoles();
  Result<std::vector<Row>> TakeRows(std::span<const uint64_t> rows,
                                    std::span<const size_t> columns,
                                    BlobDetail detail);
  std::shared_ptr<const Row> FindRecent(uint64_t row) EXCLUDES(mu_);
  void Remember(std::shared_ptr<const Row> row) EXCLUDES(mu_);

  const std::string source_;
  const std::unique_ptr<TableSource> table_;
  const FileRows* const file_rows_;
  const DatasetOptions options_;
  std::vector<Column> columns_;
  mutable Mutex mu_;
  std::list<RecentRow> recent_ GUARDED_BY(mu_);  // newest first
  std::map<uint64_t, std::list<RecentRow>::iterator> by_row_ GUARDED_BY(mu_);
  uint64_t recent_bytes_ GUARDED_BY(mu_) = 0;
};

// The cell that `path` names inside `row`; kNotFound when it leads nowhere.
struct CellRef {
  const Array* array = nullptr;
  uint64_t index = 0;
};
Result<CellRef> FindCell(const Row& row, const CellPath& path);

// The blob in value `index` of a kBlob or binary array of `dataset`; null when
// the value is. kInvalidArgument for other types. At most one metadata request.
Result<std::shared_ptr<const Blob>> OpenBlobCell(const Dataset& dataset,
                                                 const Array& array,
                                                 uint64_t index);

// "SOURCE@v12" -> {"SOURCE", "v12"}; an '@' before the last '/' is no version.
std::pair<std::string, std::string> SplitVersion(std::string_view source);

}  // namespace rowfs
#endif  // ROWFS_INDEX_DATASET_DATASET_H_
