// A progress line on a terminal, for anything longer than a second.
//
// One thread each.
#ifndef ROWFS_FS_CLI_PROGRESS_H_
#define ROWFS_FS_CLI_PROGRESS_H_

#include <cstdint>
#include <string>

#include "fs/cli/command.h"
#include "storage/base/clock.h"
#include "storage/base/log.h"
#include "storage/base/sync.h"
#include "storage/base/thread_pool.h"
#include "storage/read/object_reader.h"

namespace rowfs {

class Progress {
 public:
  // `what`: "ingest". Prints nothing unless env.terminal.
  Progress(Env& env, std::string what);
  // Clears the line.
  ~Progress();

  // `done` of `total` `unit`s; redraws at most five times a second.
  void Update(uint64_t done, uint64_t total, const std::string& unit,
              uint64_t bytes);

 private:
  Env& env_;
  const std::string what_;
  RealClock clock_;
  const int64_t started_ns_;
  int64_t drawn_ns_ = 0;
};

// Tells what opening a source has read so far, while that takes longer than a
// second: the first pass over a tar reads all its headers. A line on a
// terminal, and one in the log every few seconds.
class OpeningProgress {
 public:
  // What is passed outlives this; `log` may be null.
  OpeningProgress(Env& env, Logger* log, const ReadStats& stats);
  // Clears the line.
  ~OpeningProgress() EXCLUDES(mu_);

 private:
  void Tell() EXCLUDES(mu_);

  Env& env_;
  Logger* const log_;
  const ReadStats& stats_;
  Mutex mu_;
  CondVar opened_;
  bool done_ GUARDED_BY(mu_) = false;
  ThreadPool pool_;
};

// "1.5 MB", "812 B".
std::string HumanBytes(uint64_t bytes);

}  // namespace rowfs
#endif  // ROWFS_FS_CLI_PROGRESS_H_
