// Going to the background so that the shell learns the outcome: the command
// returns when the mount is usable, or with the reason why not.
//
// One thread: fork happens before any other thread starts.
#ifndef ROWFS_FS_FUSE_DAEMON_H_
#define ROWFS_FS_FUSE_DAEMON_H_

#include <memory>
#include <string>
#include <string_view>

#include "storage/base/status.h"

namespace rowfs {

class Daemon {
 public:
  // How the child ended its start, as the parent sees it.
  struct Outcome {
    int exit_code = 0;    // 0: ready
    std::string message;  // why not; for stderr
  };

  // Fork. In the parent: wait for the child to report, then return its Outcome
  // in `outcome` and null. In the child: a new session; returns the object to
  // report with. kInternal when fork fails. Call it before opening anything:
  // threads do not survive it. Relative paths still work until ReportReady.
  static Result<std::unique_ptr<Daemon>> Start(Outcome* outcome);
  // Reports failure with code 1 if nothing was reported.
  ~Daemon();
  Daemon(const Daemon&) = delete;
  Daemon& operator=(const Daemon&) = delete;

  // Let the parent return 0. Then: working directory "/", standard streams on
  // /dev/null.
  void ReportReady();
  // Let the parent print `message` and return `exit_code`.
  void ReportFailure(int exit_code, std::string_view message);

 private:
  explicit Daemon(int pipe_fd) : pipe_fd_(pipe_fd) {}

  int pipe_fd_;  // -1 once reported
};

}  // namespace rowfs
#endif  // ROWFS_FS_FUSE_DAEMON_H_
