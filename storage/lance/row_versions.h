// In which version each row of a fragment was made or last changed, as tables
// with stable row ids note it.
//
// Pure functions; thread-safe.
#ifndef ROWFS_STORAGE_LANCE_ROW_VERSIONS_H_
#define ROWFS_STORAGE_LANCE_ROW_VERSIONS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "storage/base/bytes.h"
#include "storage/base/status.h"

namespace rowfs {

// One version a physical row, from a serialised RowDatasetVersionSequence.
// kCorruption unless it covers `row_count` rows, each once.
Result<std::vector<uint64_t>> DecodeRowVersions(ByteSpan bytes,
                                                uint64_t row_count);
std::string EncodeRowVersions(const std::vector<uint64_t>& versions);

}  // namespace rowfs
#endif  // ROWFS_STORAGE_LANCE_ROW_VERSIONS_H_
