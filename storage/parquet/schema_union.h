// The columns of several files together.
//
// Pure functions, thread-safe.
#ifndef ROWFS_STORAGE_PARQUET_SCHEMA_UNION_H_
#define ROWFS_STORAGE_PARQUET_SCHEMA_UNION_H_

#include "storage/table/array.h"

namespace rowfs {

// The type that holds the values of both: the same, the wider of two integers
// of one sign or two floats, the large form of strings, anything for null.
// Null pointer when there is none.
TypePtr CommonType(const TypePtr& a, const TypePtr& b);

// Add the fields of `file` that `schema` does not have, widen those it has.
// kInvalidArgument, naming the column, where types do not go together.
Status AddSchema(const Schema& file, Schema* schema);

// `array` as `type`. Requires: CommonType(array.type, type) is `type`.
Array WidenArray(const Array& array, const TypePtr& type);

}  // namespace rowfs
#endif  // ROWFS_STORAGE_PARQUET_SCHEMA_UNION_H_
