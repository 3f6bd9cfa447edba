// How much memory an array takes, for caches that are bounded in bytes.
//
// Pure function, thread-safe.
#ifndef ROWFS_STORAGE_TABLE_ARRAY_BYTES_H_
#define ROWFS_STORAGE_TABLE_ARRAY_BYTES_H_

#include <cstdint>

#include "storage/table/array.h"

namespace rowfs {

// Buffers, children, dictionary, the bytes and indexes that blob cells carry;
// what several arrays share counts for each.
uint64_t ArrayBytes(const Array& array);

// The same without dictionaries: what grows with the rows.
uint64_t RowBytes(const Array& array);

}  // namespace rowfs
#endif  // ROWFS_STORAGE_TABLE_ARRAY_BYTES_H_
