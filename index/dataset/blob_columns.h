// Blob columns of a table as plain ones: their bytes, or the paths that
// a mount shows them at.
//
// Pure functions, thread-safe.
#ifndef ROWFS_INDEX_DATASET_BLOB_COLUMNS_H_
#define ROWFS_INDEX_DATASET_BLOB_COLUMNS_H_

#include <functional>
#include <string>

#include "storage/base/json.h"
#include "storage/table/array.h"

namespace rowfs {

// `type` with every blob in it as a value of type `instead`.
TypePtr ReplaceBlobType(const TypePtr& type, TypeId instead);

// The bytes of the blob in value `index` of `cells`, a kBlob array.
using BlobBytes =
    std::function<Result<Bytes>(const Array& cells, uint64_t index)>;

// `array` with every blob in it as its bytes, large_binary.
Result<Array> BlobsAsBytes(const Array& array, const BlobBytes& bytes_of);

// `array` with every blob in it as text: `folders[i]` + "/" + the path that
// `values[i]`, value i as row.json has it, gives; null where it has none.
Array BlobsAsPaths(const Array& array, const std::vector<Json>& values,
                   const std::vector<std::string>& folders);

}  // namespace rowfs
#endif  // ROWFS_INDEX_DATASET_BLOB_COLUMNS_H_
