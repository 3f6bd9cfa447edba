// The threads that read requests of the kernel: one as long as it keeps up,
// more while requests queue behind it. One thread costs a third of many for a
// single reader; many win with sixteen.
//
// Start and Stop belong to one thread.
#ifndef ROWFS_FS_FUSE_FUSE_LOOP_H_
#define ROWFS_FS_FUSE_FUSE_LOOP_H_

#include <pthread.h>

#include <atomic>
#include <functional>
#include <set>

#include "fs/fuse/fuse_api.h"
#include "storage/base/sync.h"
#include "storage/base/thread_pool.h"

namespace rowfs {

class FuseLoop {
 public:
  // `ended` is called on a loop thread when the mount is gone.
  FuseLoop(fuse_session* session, size_t threads_max,
           std::function<void()> ended);
  // As Stop.
  ~FuseLoop();

  void Start();
  // Make every thread return; requests not read yet stay with the kernel.
  void Stop() EXCLUDES(mu_);

 private:
  void Serve(bool helper) EXCLUDES(mu_);
  void Enter() EXCLUDES(mu_);
  void Leave() EXCLUDES(mu_);
  // Whether a request is waiting already.
  bool HasBacklog() const;

  fuse_session* const session_;
  const size_t threads_max_;
  const std::function<void()> ended_;
  std::atomic<size_t> running_{0};
  std::atomic<bool> stopping_{false};
  Mutex mu_;
  CondVar left_;
  std::multiset<pthread_t> threads_ GUARDED_BY(mu_);
  ThreadPool pool_;
};

}  // namespace rowfs
#endif  // ROWFS_FS_FUSE_FUSE_LOOP_H_
