// A progress line on a terminal, for anything longer than a second.
//
// One thread.
#ifndef ROWFS_FS_CLI_PROGRESS_H_
#define ROWFS_FS_CLI_PROGRESS_H_

#include <cstdint>
#include <string>

#include "fs/cli/command.h"
#include "storage/base/clock.h"

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

// "1.5 MB", "812 B".
std::string HumanBytes(uint64_t bytes);

}  // namespace rowfs
#endif  // ROWFS_FS_CLI_PROGRESS_H_
