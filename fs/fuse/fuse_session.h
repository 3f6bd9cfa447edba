// A Tree as a mount: the kernel's requests become Tree calls. One thread reads
// requests and answers from memory; what would wait runs on a bounded pool;
// more threads read when one cannot keep up.
//
// Mount and Run belong to one thread; the destructor may run on another.
#ifndef ROWFS_FS_FUSE_FUSE_SESSION_H_
#define ROWFS_FS_FUSE_FUSE_SESSION_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "fs/tree/tree.h"
#include "storage/base/log.h"
#include "storage/base/status.h"

namespace rowfs {

struct MountOptions {
  std::string mountpoint;  // absolute
  std::string source;      // what `mount` and `df` show
  bool allow_other = false;
  bool create_mountpoint = true;  // make it when missing, remove it at the end
  uint32_t uid = 0;               // owner of all files
  uint32_t gid = 0;
  uint32_t umask = 022;
  size_t loop_threads_max = 8;
  size_t blocking_threads = 16;
  // More options for libfuse, as behind `-o`.
  std::vector<std::string> fuse_options;
  Logger* log = nullptr;  // may be null
};

class FuseSession {
 public:
  // Mount `tree`, which outlives the session, at options.mountpoint. No thread
  // starts. kInvalidArgument when the mount point is no directory or already a
  // mount, kPermissionDenied, kNotFound (its parent is missing; no /dev/fuse),
  // each with what to do.
  static Result<std::unique_ptr<FuseSession>> Mount(
      Tree& tree, const MountOptions& options);
  // Unmounts, if it is still mounted.
  ~FuseSession();
  FuseSession(const FuseSession&) = delete;
  FuseSession& operator=(const FuseSession&) = delete;

  // Serve until someone unmounts, or SIGTERM, SIGINT or SIGHUP arrives (then
  // unmount). Calls `ready` once, when the mount answers. Call after any fork.
  Status Run(const std::function<void()>& ready);

 private:
  class State;
  explicit FuseSession(std::unique_ptr<State> state);

  const std::unique_ptr<State> state_;
};

}  // namespace rowfs
#endif  // ROWFS_FS_FUSE_FUSE_SESSION_H_
