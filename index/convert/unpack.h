// Extracts a blob pack to files.
//
// One thread.
#ifndef ROWFS_INDEX_CONVERT_UNPACK_H_
#define ROWFS_INDEX_CONVERT_UNPACK_H_

#include <functional>
#include <string>
#include <vector>

#include "index/convert/pack_set.h"

namespace rowfs {

// `done` of `total` bytes or blobs; what a progress line shows.
using ConvertProgress = std::function<void(uint64_t done, uint64_t total)>;

struct UnpackSummary {
  uint64_t blobs = 0;
  // Keys whose bytes do not have the CRC that the shard states; they are
  // extracted as they are.
  std::vector<std::string> mismatches;
};

// Every blob of `set` as `folder`/KEY, existing files replaced. Nothing is
// written when a key is unsafe, leaves the folder through a link, or names a
// file that another key needs as a folder (kInvalidArgument); what was written
// before a later failure is taken away again. A file appears whole or not at
// all, and all are on disk at the end. Memory: 1 MiB, a directory, and 40
// bytes a blob.
Result<UnpackSummary> Unpack(const PackSet& set, const std::string& folder,
                             const ConvertProgress& progress);

}  // namespace rowfs
#endif  // ROWFS_INDEX_CONVERT_UNPACK_H_
