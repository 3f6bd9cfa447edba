// One function per operation of the kernel: decode the arguments, call the
// tree, answer. From memory on the calling thread, else on the blocking pool.
//
// Thread-safe.
#ifndef ROWFS_FS_FUSE_FUSE_OPS_H_
#define ROWFS_FS_FUSE_FUSE_OPS_H_

#include <functional>

#include "fs/fuse/blocking.h"
#include "fs/fuse/fuse_reply.h"
#include "fs/tree/tree.h"
#include "storage/base/log.h"

namespace rowfs {

// What the operations work on; libfuse's `userdata`. Outlives the session.
struct FuseContext {
  Tree& tree;
  BlockingPool& blocking;
  Ownership owner;
  Logger* log = nullptr;  // may be null
  std::function<void()> on_init;
  // Answer opens with ENOSYS: the kernel then opens without asking.
  bool open_unanswered = false;
  // The same for folders, whose listings the kernel then keeps.
  bool opendir_unanswered = false;
};

const fuse_lowlevel_ops& FuseOps();

}  // namespace rowfs
#endif  // ROWFS_FS_FUSE_FUSE_OPS_H_
