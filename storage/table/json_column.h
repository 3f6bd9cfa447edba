// Columns made of JSON values: the type that fits all of them, and the array.
// For metadata.jsonl, metadata.csv and every other table written as text.
//
// Pure functions, thread-safe.
#ifndef ROWFS_STORAGE_TABLE_JSON_COLUMN_H_
#define ROWFS_STORAGE_TABLE_JSON_COLUMN_H_

#include <span>

#include "storage/base/json.h"
#include "storage/table/array.h"

namespace rowfs {

// int64 when all numbers are integers that fit, else double; bool, string,
// list, struct (fields in order of first appearance). Values that share no such
// type, and columns of nothing but null, are string (values of other kinds as
// JSON text). A null pointer is a null.
TypePtr InferType(std::span<const Json* const> values);

// The values as an array of `type`, which InferType gave for them.
Array JsonArray(const TypePtr& type, std::span<const Json* const> values);

}  // namespace rowfs
#endif  // ROWFS_STORAGE_TABLE_JSON_COLUMN_H_
