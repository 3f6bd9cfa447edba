// From our errors, attributes and entries to what the kernel is told.
//
// Request is used by one thread at a time; the rest are pure functions.
#ifndef ROWFS_FS_FUSE_FUSE_REPLY_H_
#define ROWFS_FS_FUSE_FUSE_REPLY_H_

#include <sys/stat.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>

#include "fs/fuse/fuse_api.h"
#include "fs/tree/tree.h"
#include "storage/base/status.h"

namespace rowfs {

// For names, attributes and arguments.
int ErrnoOf(Code code);
// For contents: a file that cannot be made or read is EIO, whatever the reason;
// only what the caller can act on keeps its own number.
int ContentErrnoOf(Code code);
// "EIO"; "other" for numbers rowfs does not answer with.
std::string_view ErrnoName(int error);

// How files look from outside.
struct Ownership {
  uint32_t uid = 0;
  uint32_t gid = 0;
  uint32_t umask = 022;
};

// Nothing about an immutable file ever changes.
inline constexpr double kForever = 1e9;

struct stat StatOf(const Attributes& attributes, const Ownership& owner);
// With the timeouts the kernel may keep it for.
fuse_entry_param EntryOf(const Entry& entry, const Ownership& owner);

// A request of the kernel that has to be answered exactly once. The first
// answer counts; whoever comes later finds it answered.
class Request {
 public:
  explicit Request(fuse_req_t request) : request_(request) {}
  // EIO if nobody answered.
  ~Request();
  Request(Request&& other) noexcept
      : request_(std::exchange(other.request_, nullptr)) {}
  Request& operator=(Request&&) = delete;

  fuse_req_t get() const { return request_; }
  // The request, to be answered by the caller now.
  fuse_req_t Take() { return std::exchange(request_, nullptr); }
  void Error(int error) { fuse_reply_err(Take(), error); }
  void Done() { Error(0); }

 private:
  fuse_req_t request_;
};

}  // namespace rowfs
#endif  // ROWFS_FS_FUSE_FUSE_REPLY_H_
