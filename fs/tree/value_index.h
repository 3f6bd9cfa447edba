// by/ and --name-column by reading the column once: what a tree does when no
// catalog lends it an index.
//
// Thread-safe.
#ifndef ROWFS_FS_TREE_VALUE_INDEX_H_
#define ROWFS_FS_TREE_VALUE_INDEX_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "fs/tree/lazy.h"
#include "fs/tree/name_table.h"
#include "fs/tree/rows_layout.h"
#include "fs/tree/tree_options.h"

namespace rowfs {

// Whether by/ shows the column: its values are single and have a text.
bool IsScalar(const Column& column);

// Calls `visit` with each row's value as text (numbers and times as row.json
// has them, strings as they are), null for null. Reads the column once, in
// batches. Requires: IsScalar.
Status VisitValues(
    const Dataset& dataset, size_t column,
    const std::function<void(uint64_t row, const std::string* value)>& visit);

// Keeps 8 bytes a row and the distinct values for each column that was asked
// for. Values are numbered in the order of their names as bytes. Null values
// are in no list.
class ScannedValueIndex final : public ValueIndex {
 public:
  explicit ScannedValueIndex(std::shared_ptr<const Dataset> dataset);

  Result<uint64_t> ValueCount(size_t column) override;
  Result<Value> GetValue(size_t column, uint64_t number) override;
  Result<std::optional<uint64_t>> FindValue(size_t column,
                                            std::string_view name) override;
  Result<std::vector<uint64_t>> ListRows(size_t column, uint64_t number,
                                         uint64_t start,
                                         uint64_t limit) override;

 private:
  struct Values {
    NameTable names;
    std::vector<uint64_t> begins;  // into `rows`, one more than values
    std::vector<uint64_t> rows;

    // Numbers the names in their order; where each one went.
    std::vector<uint64_t> SortNames();
  };

  Result<std::shared_ptr<const Values>> Read(size_t column);

  const std::shared_ptr<const Dataset> dataset_;
  std::vector<std::unique_ptr<Lazy<Values>>> columns_;
};

// The names --name-column gives to row folders: the value, escaped; "~2", "~3"
// behind those that were there before; the number of a row whose value is null.
class RowNames {
 public:
  // Reads the column once. Keeps the names and some 24 bytes a row.
  static Result<std::shared_ptr<const RowNames>> Read(const Dataset& dataset,
                                                      size_t column,
                                                      const RowsLayout& layout);

  // Requires: row < row count.
  std::string_view at(uint64_t row) const { return names_.at(row); }
  std::optional<uint64_t> Find(std::string_view name) const {
    return names_.Find(name);
  }

 private:
  NameTable names_;
};

}  // namespace rowfs
#endif  // ROWFS_FS_TREE_VALUE_INDEX_H_
