// Columns that hold files: Hugging Face's struct<bytes, path> (Image, Audio,
// Video), lists and maps of bytes, and fixed-size bytes, as blob columns. Plain
// binary columns need no change to be taken for blobs.
//
// Pure functions, thread-safe.
#ifndef ROWFS_STORAGE_PARQUET_MEDIA_STRUCT_H_
#define ROWFS_STORAGE_PARQUET_MEDIA_STRUCT_H_

#include "storage/table/array.h"

namespace rowfs {

// The type a field shows with: media structs anywhere, fixed-size bytes at the
// top, and bytes in lists and maps become blob. Fields with a logical type of
// their own (an extension) stay.
TypePtr ShownType(const Field& field);

// `array` as `shown`, which ShownType gave for its field. A struct with bytes
// is a cell with them; one with a path alone an external blob of that path;
// with neither it is null.
Array ShowArray(const Array& array, const TypePtr& shown);

}  // namespace rowfs
#endif  // ROWFS_STORAGE_PARQUET_MEDIA_STRUCT_H_
