// Requests that have to wait, on a bounded pool of their own, so that the
// threads that talk to the kernel never do.
//
// Thread-safe.
#ifndef ROWFS_FS_FUSE_BLOCKING_H_
#define ROWFS_FS_FUSE_BLOCKING_H_

#include <functional>

#include "fs/fuse/fuse_reply.h"
#include "storage/base/thread_pool.h"

namespace rowfs {

class BlockingPool {
 public:
  explicit BlockingPool(size_t thread_count)
      : pool_(thread_count, kWaitingMax) {}

  // Run `work`, which may wait, then the answer it returns; exactly one of them
  // answers the kernel. A request whose process is being killed is answered
  // EINTR at once: then the answer is thrown away when it comes. Too many
  // waiting requests: EAGAIN.
  void Run(Request request, std::function<std::function<void(Request)>()> work);

 private:
  static constexpr size_t kWaitingMax = 4096;

  ThreadPool pool_;
};

}  // namespace rowfs
#endif  // ROWFS_FS_FUSE_BLOCKING_H_
