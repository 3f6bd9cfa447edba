// Reads every byte of a shard's members and compares their CRCs: what
// zipfile.testzip does, with its verdicts and words, on many threads.
//
// Thread-safe.
#ifndef ROWFS_STORAGE_PACK_SHARD_CHECK_H_
#define ROWFS_STORAGE_PACK_SHARD_CHECK_H_

#include <atomic>
#include <string>

#include "storage/base/thread_pool.h"
#include "storage/pack/shard_directory.h"

namespace rowfs {

struct ShardVerdict {
  enum class Kind {
    kSound,
    kBadMember,   // `text`: the name of the first whose bytes or header differ
    kUnreadable,  // `text`: why the check stopped, as zipfile says it
  };
  Kind kind = Kind::kSound;
  std::string text;
};

// What the first member that is not sound has; members behind it are not told
// of. As in zipfile, of members with one name the last one is read for each.
// Costs the shard once, in 1 MiB requests; memory is a few MiB a thread. Adds
// the bytes read to `done`. Members compressed with bzip2 or lzma count as
// sound, unread. Requires: the caller is no task of `pool`.
ShardVerdict CheckShardMembers(const ShardObject& shard,
                               const ShardDirectory& directory,
                               ThreadPool& pool, std::atomic<uint64_t>* done);

}  // namespace rowfs
#endif  // ROWFS_STORAGE_PACK_SHARD_CHECK_H_
