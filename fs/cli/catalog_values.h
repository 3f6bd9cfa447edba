// by/ and --name-column from the catalog: what a tree finds there instead of
// reading a column at each mount.
//
// Thread-safe.
#ifndef ROWFS_FS_CLI_CATALOG_VALUES_H_
#define ROWFS_FS_CLI_CATALOG_VALUES_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "fs/cli/catalog_stores.h"
#include "fs/tree/tree_options.h"
#include "fs/tree/value_index.h"
#include "storage/base/sync.h"

namespace rowfs {

// Columns of this many rows and fewer are faster read than looked up.
inline constexpr uint64_t kScannedRowsMax = 10'000;

// What a column is called in a catalog.
std::string ColumnKey(const Dataset& dataset, size_t column);

// Called with the rows that are done; false stops.
using RowsDone = std::function<void(uint64_t rows)>;

// Read `column` once and index it in `catalog`: rows by value, for by/.
// kUnavailable when the catalog keeps nothing.
Status BuildValueIndex(const Dataset& dataset, size_t column, Catalog* catalog,
                       const RowsDone& done);
// The names --name-column gives to rows. Holds all names in memory meanwhile.
Status BuildNameIndex(const Dataset& dataset, size_t column, Catalog* catalog);

// Columns that are not in a catalog are indexed in the own one when they are
// first looked into; small ones, and all where nothing can be kept, are kept in
// memory.
class CatalogValues final : public ValueIndex {
 public:
  CatalogValues(std::shared_ptr<const Dataset> dataset,
                const Catalogs& catalogs);

  Result<uint64_t> ValueCount(size_t column) override;
  Result<Value> GetValue(size_t column, uint64_t number) override;
  Result<std::optional<uint64_t>> FindValue(size_t column,
                                            std::string_view name) override;
  Result<std::vector<uint64_t>> ListRows(size_t column, uint64_t number,
                                         uint64_t start,
                                         uint64_t limit) override;

 private:
  struct Source {
    Catalog* catalog = nullptr;  // null: scanned
  };

  // Where the column's index is; finds or makes it at the first call.
  Result<Catalog*> FindSource(size_t column);
  Catalog* FindIndexed(size_t column) const;

  const std::shared_ptr<const Dataset> dataset_;
  const Catalogs& catalogs_;
  ScannedValueIndex scanned_;
  std::vector<std::unique_ptr<Lazy<Source>>> sources_;
};

// Names of rows that `rowfs index build --name-column` wrote.
class CatalogNames final : public NameIndex {
 public:
  // Null when neither catalog has them all.
  static std::unique_ptr<CatalogNames> Find(const Dataset& dataset,
                                            const std::string& column,
                                            const Catalogs& catalogs);

  Result<std::string> NameOf(uint64_t row) override EXCLUDES(mu_);
  Result<std::optional<uint64_t>> FindName(std::string_view name) override;

 private:
  static constexpr uint64_t kPartRows = 256;

  CatalogNames(Catalog* catalog, std::string key)
      : catalog_(catalog), key_(std::move(key)) {}

  Catalog* const catalog_;
  const std::string key_;
  Mutex mu_;
  // The part of the names that was asked for last.
  uint64_t first_ GUARDED_BY(mu_) = 0;
  std::vector<std::string> part_ GUARDED_BY(mu_);
};

}  // namespace rowfs
#endif  // ROWFS_FS_CLI_CATALOG_VALUES_H_
