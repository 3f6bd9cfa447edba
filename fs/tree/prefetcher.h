// Lines of what will be wanted, begun in order, a few at a time.
//
// Thread-safe. No lock is held while a line is worked on.
#ifndef ROWFS_FS_TREE_PREFETCHER_H_
#define ROWFS_FS_TREE_PREFETCHER_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <string>

#include "storage/base/bytes.h"
#include "storage/base/sync.h"
#include "storage/base/thread_pool.h"

namespace rowfs {

class Prefetcher {
 public:
  // `pool` outlives this; null: Write refuses. `work` gets one line.
  Prefetcher(ThreadPool* pool, std::function<void(const std::string&)> work)
      : pool_(pool), work_(std::move(work)) {}
  // Waits for the lines being worked on; the rest is dropped.
  ~Prefetcher();

  // Queue the lines in `bytes`. A last line without newline waits for what
  // comes next, or for Flush. kUnsupported without a pool, kResourceExhausted
  // above kLinesMax waiting lines, kInvalidArgument for a line above
  // kLineBytesMax.
  Status Write(ByteSpan bytes) EXCLUDES(mu_);
  void Flush() EXCLUDES(mu_);
  // "pending N\ndone N\n"
  std::string Text() const EXCLUDES(mu_);

 private:
  static constexpr size_t kLinesMax = 1'000'000;
  static constexpr size_t kLineBytesMax = 4096;
  // Most of a job's time goes by waiting for a network.
  static constexpr size_t kJobsMax = 16;

  void Work() EXCLUDES(mu_);
  void Start() EXCLUDES(mu_);

  ThreadPool* const pool_;
  const std::function<void(const std::string&)> work_;
  mutable Mutex mu_;
  CondVar ended_;
  std::deque<std::string> lines_ GUARDED_BY(mu_);
  std::string rest_ GUARDED_BY(mu_);  // of a line without its newline
  uint64_t done_ GUARDED_BY(mu_) = 0;
  size_t jobs_ GUARDED_BY(mu_) = 0;
  size_t working_ GUARDED_BY(mu_) = 0;  // lines taken out and not done
  bool stopping_ GUARDED_BY(mu_) = false;
};

}  // namespace rowfs
#endif  // ROWFS_FS_TREE_PREFETCHER_H_
