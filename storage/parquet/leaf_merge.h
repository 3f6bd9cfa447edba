// A nested column put together from its leaves, which are read one by one since
// their pages end at different rows: struct<bytes, path> from struct<bytes> and
// struct<path>.
//
// Pure functions, thread-safe.
#ifndef ROWFS_STORAGE_PARQUET_LEAF_MERGE_H_
#define ROWFS_STORAGE_PARQUET_LEAF_MERGE_H_

#include <span>

#include "storage/table/array.h"

namespace rowfs {

// Leaves below `type`: what Parquet stores as columns of their own.
size_t CountLeaves(const DataType& type);

// The array of `type` whose leaf i, with everything above it, is `leaves[i]`:
// at every struct an array with one child only (a map of keys alone is a list).
// kCorruption when they disagree on lengths or lists.
// Requires: leaves.size() == CountLeaves(*type).
Result<Array> MergeLeaves(const TypePtr& type, std::span<const Array> leaves);

}  // namespace rowfs
#endif  // ROWFS_STORAGE_PARQUET_LEAF_MERGE_H_
