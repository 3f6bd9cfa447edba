// Whether a change still applies after somebody else's was committed first: the
// conflict matrix of the Lance format, for the operations we make.
//
// Pure; thread-safe.
#ifndef ROWFS_STORAGE_LANCE_CONFLICT_H_
#define ROWFS_STORAGE_LANCE_CONFLICT_H_

#include "storage/lance/transaction.pb.h"

namespace rowfs {

enum class Conflict : uint8_t {
  kNone,          // go on, on top of it
  kRetry,         // compute the operation again
  kIncompatible,  // give up
};

// What `mine`, not yet committed, may do after `theirs` was. An operation of
// theirs that we do not know is kRetry: judged again on the version it made.
Conflict FindConflict(const lance::pb::Transaction& mine,
                      const lance::pb::Transaction& theirs);

}  // namespace rowfs
#endif  // ROWFS_STORAGE_LANCE_CONFLICT_H_
