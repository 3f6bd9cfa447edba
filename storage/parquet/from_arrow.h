// Schemas and arrays of Arrow C++ as ours, every type of them: views, run-end
// encodings, unions and the like become the plain type that holds the same
// values.
//
// Included by storage/parquet alone. Pure functions, thread-safe.
#ifndef ROWFS_STORAGE_PARQUET_FROM_ARROW_H_
#define ROWFS_STORAGE_PARQUET_FROM_ARROW_H_

#include <arrow/array.h>
#include <arrow/type.h>

#include "storage/table/array.h"

namespace rowfs {

// What our arrays of `type` are: string_view is string, list_view is list, a
// run-end encoding its values, a union a struct of its nullable members, an
// interval a struct of its parts, a small decimal decimal128, an extension its
// storage. kUnsupported for what a later Arrow invents, kCorruption for types
// nested too deeply.
Result<TypePtr> TypeFromArrow(const arrow::DataType& type);

// With the metadata; an extension type's name goes there as Arrow's files have
// it ("ARROW:extension:name").
Result<Field> FieldFromArrow(const arrow::Field& field);
Result<Schema> SchemaFromArrow(const arrow::Schema& schema);

// The values of `array`, copied. kCorruption when its buffers contradict each
// other, so that an array made from untrusted bytes may be passed;
// kResourceExhausted when expanding an encoding would take too much.
Result<Array> ArrayFromArrow(const arrow::Array& array);

}  // namespace rowfs
#endif  // ROWFS_STORAGE_PARQUET_FROM_ARROW_H_
