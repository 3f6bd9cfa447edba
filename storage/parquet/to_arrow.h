// Our schemas and arrays as Arrow C++ has them, without copying buffers.
//
// Included by storage/parquet alone. Pure functions, thread-safe.
#ifndef ROWFS_STORAGE_PARQUET_TO_ARROW_H_
#define ROWFS_STORAGE_PARQUET_TO_ARROW_H_

#include <arrow/array.h>
#include <arrow/type.h>

#include <memory>

#include "storage/table/array.h"

namespace rowfs {

// kUnsupported for TypeId::kBlob, which has no counterpart.
Result<std::shared_ptr<arrow::DataType>> ArrowTypeOf(const DataType& type);
Result<std::shared_ptr<arrow::Field>> ArrowFieldOf(const Field& field);
Result<std::shared_ptr<arrow::Schema>> ArrowSchemaOf(const Schema& schema);

// `array`, whose type became `type`, which shares its buffers.
std::shared_ptr<arrow::ArrayData> ArrowDataOf(
    const Array& array, const std::shared_ptr<arrow::DataType>& type);

}  // namespace rowfs
#endif  // ROWFS_STORAGE_PARQUET_TO_ARROW_H_
