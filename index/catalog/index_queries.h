// Queries and writes of the column indexes of a catalog, given a connection:
// rows by value and names of rows. Lists of rows are stored in chunks.
//
// Thread-safe as far as the Database is.
#ifndef ROWFS_INDEX_CATALOG_INDEX_QUERIES_H_
#define ROWFS_INDEX_CATALOG_INDEX_QUERIES_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "index/catalog/catalog.h"
#include "index/catalog/sqlite.h"

namespace rowfs {

// The reading ones: absent when there is no such index or number, kCorruption
// when a checksum is wrong.
Result<std::optional<uint64_t>> ReadValueCount(Database& db,
                                               std::string_view column);
Result<std::optional<IndexedValue>> ReadValue(Database& db,
                                              std::string_view column,
                                              uint64_t number);
Result<std::optional<uint64_t>> ReadValueNumber(Database& db,
                                                std::string_view column,
                                                std::string_view name);
Result<std::optional<std::vector<uint64_t>>> ReadRows(Database& db,
                                                      std::string_view column,
                                                      uint64_t number,
                                                      uint64_t start,
                                                      uint64_t limit);
Result<std::optional<uint64_t>> ReadNameCount(Database& db,
                                              std::string_view column);
Result<std::optional<uint64_t>> ReadNamedRow(Database& db,
                                             std::string_view column,
                                             std::string_view name);
Result<std::optional<std::vector<std::string>>> ReadNames(
    Database& db, std::string_view column, uint64_t start, uint64_t limit);

// Rows on their way into an index, in a table of this connection alone.
Status MakeStaging(Database& db);
Status AddToStaging(Database& db, uint64_t row, std::string_view name);
Status DropStaging(Database& db);
// Index what is staged as `column`; nothing when that index is there. Requires:
// a transaction.
Status WriteValueIndex(Database& db, std::string_view column);
Status WriteNameIndex(Database& db, std::string_view column);

}  // namespace rowfs
#endif  // ROWFS_INDEX_CATALOG_INDEX_QUERIES_H_
