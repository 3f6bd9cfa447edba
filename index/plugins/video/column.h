// One column of integers in as few bytes as four simple codes can do: a
// constant, runs, a small dictionary with packed indices, varints.
//
// No state.
#ifndef ROWFS_INDEX_PLUGINS_VIDEO_COLUMN_H_
#define ROWFS_INDEX_PLUGINS_VIDEO_COLUMN_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "index/plugins/common/bytes.h"

namespace rowfs::plugin {

// Append `values` in the shortest code.
void WriteColumn(std::span<const int64_t> values, ByteWriter* out);

// Read the `count` values that WriteColumn wrote. On damage reader->ok() is
// false and the result is empty. Allocates count numbers, so cap it before.
std::vector<int64_t> ReadColumn(size_t count, ByteReader* reader);

}  // namespace rowfs::plugin
#endif  // ROWFS_INDEX_PLUGINS_VIDEO_COLUMN_H_
