// Values as people and programs read them: JSON of any cell, the text of a
// number column, the .npy of a tensor (design: row.json).
//
// Pure functions, thread-safe.
#ifndef ROWFS_INDEX_DATASET_VALUE_TEXT_H_
#define ROWFS_INDEX_DATASET_VALUE_TEXT_H_

#include <functional>
#include <string>
#include <vector>

#include "storage/base/json.h"
#include "storage/table/array.h"

namespace rowfs {

// What a blob cell becomes: usually {"path", "size", "media_type"}. Gets the
// blob column's array and the index in it, and the steps from the top-level
// value.
using BlobJson = std::function<Json(const Array& array, uint64_t index,
                                    const std::vector<uint32_t>& steps)>;

// Value `index` of `array`: integers exact, floats shortest round-trip, NaN and
// infinities as strings, decimals as strings, temporal ISO 8601 (zone kept, no
// digit lost), binary base64, maps as arrays of [key, value], null as null.
Json ValueJson(const Array& array, uint64_t index, const BlobJson& blob_json);

// A number or bool without newline. Requires: not null.
std::string NumberText(const Array& array, uint64_t index);

// Whether a column of this type is shown as .npy: a (nested) fixed-size list of
// numbers or bools.
bool IsTensor(const DataType& type);
// Size of the .npy file; it depends on the type alone. Requires: IsTensor.
uint64_t NpySize(const DataType& type);
// The .npy bytes (format 1.0, C order, little-endian); a null item is NaN.
// kUnsupported when an item is null and the items are no floats. Requires:
// IsTensor, value `index` not null.
Result<Bytes> NpyBytes(const Array& array, uint64_t index);

}  // namespace rowfs
#endif  // ROWFS_INDEX_DATASET_VALUE_TEXT_H_
