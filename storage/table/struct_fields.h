// Fields of structs as columns of their own: "s.a" of a table with a column s.
// A format that stores the fields of a struct apart reads only what is asked
// for; from any other the whole column is read and the field taken out.
//
// Thread-safe.
#ifndef ROWFS_STORAGE_TABLE_STRUCT_FIELDS_H_
#define ROWFS_STORAGE_TABLE_STRUCT_FIELDS_H_

#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "storage/table/table_source.h"

namespace rowfs {

// A top-level column and the way down through structs, by child number.
struct FieldPath {
  size_t column = 0;
  std::vector<size_t> children;

  bool operator==(const FieldPath&) const = default;
};

// What `name`, "s" or "s.a.b", means in `schema`; a name that is a column's as
// it stands wins. kNotFound names the part that is not there.
Result<FieldPath> FindField(const Schema& schema, std::string_view name);

// The field at `path`, named "s.a.b", nullable where any part of the way is.
// Requires: FindField made the path.
Field FieldAt(const Schema& schema, const FieldPath& path);

// The values at `path`, whose column has the values `array`: null where a
// struct on the way is.
Array ValuesAt(Array array, const FieldPath& path);

// What a format implements beside TableSource when it can read fields apart.
class FieldSource {
 public:
  virtual ~FieldSource() = default;
  // Requires: FindField made the paths.
  virtual std::unique_ptr<TableSource> Select(
      std::span<const FieldPath> paths) = 0;
};

// The snapshot `table` with the columns FieldAt(paths[i]). `table` outlives it.
std::unique_ptr<TableSource> SelectFields(TableSource& table,
                                          std::span<const FieldPath> paths);

}  // namespace rowfs
#endif  // ROWFS_STORAGE_TABLE_STRUCT_FIELDS_H_
