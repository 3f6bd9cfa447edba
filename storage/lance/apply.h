// What a transaction makes of a manifest: the next version's message.
//
// Pure; thread-safe.
#ifndef ROWFS_STORAGE_LANCE_APPLY_H_
#define ROWFS_STORAGE_LANCE_APPLY_H_

#include <cstdint>

#include "storage/lance/commit.h"

namespace rowfs {

// The message of version base.version + 1 at time `now_ns`; fragments without
// ids get theirs, in the transaction's rewrite groups too. What `base` has and
// the operation does not touch is carried forward, unknown fields included.
// kChanged when a fragment that is to be changed is gone, kInvalidArgument for
// an operation that cannot be applied.
Result<pb::Manifest> ApplyTransaction(const pb::Manifest& base,
                                      pb::Transaction* transaction,
                                      const CommitOptions& options,
                                      int64_t now_ns);

}  // namespace rowfs
#endif  // ROWFS_STORAGE_LANCE_APPLY_H_
