// Builders of the catalog's indexes over one column. Rows stream in; they wait
// in a temporary file of SQLite's until Finish sorts them and writes the index
// in one transaction, so that a build neither blocks other processes nor leaves
// half an index when it is killed.
//
// One thread each.
#ifndef ROWFS_INDEX_CATALOG_INDEX_WRITER_H_
#define ROWFS_INDEX_CATALOG_INDEX_WRITER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "index/catalog/catalog.h"

namespace rowfs {

// Rows that wait to be sorted.
class RowStaging {
 public:
  // kUnavailable when `catalog` keeps nothing. It outlives this.
  static Result<RowStaging> Start(Catalog* catalog);
  ~RowStaging();
  RowStaging(RowStaging&&) noexcept = default;
  RowStaging& operator=(RowStaging&&) = delete;

  Status Add(uint64_t row, std::string_view name);
  // No more rows; `write` puts them into the index within a transaction.
  Status Finish(const std::function<Status(Database&)>& write);

 private:
  RowStaging(Catalog* catalog, std::unique_ptr<Database> db)
      : catalog_(catalog), db_(std::move(db)) {}

  Catalog* catalog_;
  std::unique_ptr<Database> db_;
  Status failed_;  // sticky
};

// Indexes rows by value: Catalog::CountValues and what follows it.
class ValueIndexWriter {
 public:
  // kUnavailable when the catalog keeps nothing. It outlives the writer.
  static Result<ValueIndexWriter> Start(Catalog* catalog,
                                        std::string_view column);

  // Row `row` has the value `name`; rows without a value are left out. Rows
  // come in any order, each once.
  Status Add(uint64_t row, std::string_view name) {
    return staging_.Add(row, name);
  }
  // Write the index, in time and temporary space of a sort. If another process
  // was faster its index stays.
  Status Finish();

 private:
  ValueIndexWriter(RowStaging staging, std::string_view column)
      : staging_(std::move(staging)), column_(column) {}

  RowStaging staging_;
  std::string column_;
};

// Indexes the names of rows: Catalog::CountNames and what follows it.
class NameIndexWriter {
 public:
  static Result<NameIndexWriter> Start(Catalog* catalog,
                                       std::string_view column);

  // Row `row` is called `name`.
  Status Add(uint64_t row, std::string_view name) {
    return staging_.Add(row, name);
  }
  // kAlreadyExists when two rows have one name; else as ValueIndexWriter.
  Status Finish();

 private:
  NameIndexWriter(RowStaging staging, std::string_view column)
      : staging_(std::move(staging)), column_(column) {}

  RowStaging staging_;
  std::string column_;
};

}  // namespace rowfs
#endif  // ROWFS_INDEX_CATALOG_INDEX_WRITER_H_
