// Deletion files in Arrow form: an IPC file with one 32-bit column of row
// offsets, plain or ZSTD. Just that much of Arrow IPC is read here.
//
// Pure functions; thread-safe.
#ifndef ROWFS_STORAGE_LANCE_ARROW_DELETIONS_H_
#define ROWFS_STORAGE_LANCE_ARROW_DELETIONS_H_

#include <cstdint>
#include <string_view>
#include <vector>

#include "storage/base/bytes.h"
#include "storage/base/status.h"

namespace rowfs {

// The row offsets in `bytes`, sorted, each below `limit`, none twice.
// kCorruption, naming `what`, for anything malformed; kUnsupported for other
// columns or compressions; kResourceExhausted above 16 million offsets (writers
// change to bitmaps at 5,000).
Result<std::vector<uint32_t>> DecodeArrowDeletions(ByteSpan bytes,
                                                   uint64_t limit,
                                                   std::string_view what);

}  // namespace rowfs
#endif  // ROWFS_STORAGE_LANCE_ARROW_DELETIONS_H_
