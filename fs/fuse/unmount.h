// Unmounting from outside, and what is mounted where.
//
// Thread-safe.
#ifndef ROWFS_FS_FUSE_UNMOUNT_H_
#define ROWFS_FS_FUSE_UNMOUNT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "storage/base/status.h"

namespace rowfs {

// What /proc/self/mountinfo says about a mount point.
struct MountedAt {
  std::string source;
  std::string type;    // "fuse.rowfs"
  bool stale = false;  // its daemon is gone
};

// The mount at `mountpoint` itself; absent when nothing is mounted there. Looks
// at nothing below it.
Result<std::optional<MountedAt>> FindMount(std::string_view mountpoint);

// Unmount a rowfs mount, stale or not, and wait up to `timeout_ms` for its
// daemon to end. kNotFound when nothing is mounted there, kInvalidArgument when
// it is another file system, kUnavailable when it is busy (the message names
// who holds it).
Status Unmount(std::string_view mountpoint, int64_t timeout_ms = 10'000);

// Take the mount at `mountpoint`, if there is one, out of the name space at
// once, even if it is in use; who is inside stays until done.
void DetachMount(const std::string& mountpoint);

}  // namespace rowfs
#endif  // ROWFS_FS_FUSE_UNMOUNT_H_
