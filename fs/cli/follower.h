// Watches a mounted dataset for new versions: opens each that appears, so that
// .versions/N answers at once, and says so in the log. What is mounted never
// changes.
//
// Made and ended by one thread.
#ifndef ROWFS_FS_CLI_FOLLOWER_H_
#define ROWFS_FS_CLI_FOLLOWER_H_

#include <cstdint>

#include "fs/tree/tree.h"
#include "storage/base/log.h"
#include "storage/base/sync.h"
#include "storage/base/thread_pool.h"

namespace rowfs {

class Follower {
 public:
  // Looks every `seconds` (at least 1). All outlive it.
  Follower(Tree& tree, Dataset& dataset, Logger& log, uint64_t seconds);
  ~Follower();

 private:
  void Run() EXCLUDES(mu_);
  // Once: what is newer than what was seen.
  void Look();

  Tree& tree_;
  Dataset& dataset_;
  Logger& log_;
  const uint64_t seconds_;
  uint64_t newest_ = 0;  // 0: not looked yet
  Mutex mu_;
  CondVar stopped_;
  bool stopping_ GUARDED_BY(mu_) = false;
  ThreadPool pool_{1, 1};  // last: joins Run
};

}  // namespace rowfs
#endif  // ROWFS_FS_CLI_FOLLOWER_H_
