// The at-rest check of a blob pack: manifest, STORED and unencrypted members,
// distinct keys, the CRC of every byte.
//
// One thread; reading and hashing use a pool.
#ifndef ROWFS_INDEX_CONVERT_VERIFY_PACK_H_
#define ROWFS_INDEX_CONVERT_VERIFY_PACK_H_

#include <functional>
#include <string>

#include "index/convert/unpack.h"
#include "storage/base/thread_pool.h"

namespace rowfs {

struct PackVerdict {
  uint64_t blobs = 0;
  uint64_t bytes = 0;
  uint64_t shards = 0;
  uint64_t problems = 0;
};

// Check the "*.zip" of `folder`, `names`, against each other and the manifest.
// Every problem is told as it is found, in the order of the shards: "pack.zip:
// key: CRC mismatch". Shards that cannot be read are problems; a manifest that
// cannot is an error. Each shard is read once, twice with a manifest; memory
// holds one directory and 40 bytes a blob.
Result<PackVerdict> VerifyPack(
    const std::string& folder, const std::vector<std::string>& names,
    ThreadPool& pool, const std::function<void(const std::string&)>& problem,
    const ConvertProgress& progress);

}  // namespace rowfs
#endif  // ROWFS_INDEX_CONVERT_VERIFY_PACK_H_
