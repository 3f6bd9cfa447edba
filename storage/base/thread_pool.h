// A fixed number of threads that run tasks from a bounded queue. A task never
// waits for another task of the same pool: fan out from the caller's thread.
//
// Thread-safe.
#ifndef ROWFS_STORAGE_BASE_THREAD_POOL_H_
#define ROWFS_STORAGE_BASE_THREAD_POOL_H_

#include <deque>
#include <functional>
#include <span>
#include <thread>
#include <vector>

#include "storage/base/status.h"
#include "storage/base/sync.h"

namespace rowfs {

class ThreadPool {
 public:
  // Threads start at the first task, not here, so that a pool made before a
  // fork is harmless.
  ThreadPool(size_t thread_count, size_t queue_length_max);
  // Runs what is queued, then joins.
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  // Queue `task`; blocks while the queue is full.
  void Submit(std::function<void()> task) EXCLUDES(mu_);
  // The same, but false at once when the queue is full.
  bool TrySubmit(std::function<void()> task) EXCLUDES(mu_);

 private:
  void Start() REQUIRES(mu_);
  void Run() EXCLUDES(mu_);

  const size_t thread_count_;
  const size_t queue_length_max_;
  Mutex mu_;
  CondVar not_empty_;
  CondVar not_full_;
  std::deque<std::function<void()>> queue_ GUARDED_BY(mu_);
  bool stopping_ GUARDED_BY(mu_) = false;
  std::vector<std::thread> threads_ GUARDED_BY(mu_);
};

// Run every task on `pool`, all but the first; the first runs here. Returns the
// first error in task order. Blocks until all have ended. Requires: the caller
// is not itself a task of `pool`.
Status RunAll(ThreadPool& pool, std::span<const std::function<Status()>> tasks);

}  // namespace rowfs
#endif  // ROWFS_STORAGE_BASE_THREAD_POOL_H_
