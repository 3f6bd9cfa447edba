// For threads that must not wait for a disk: within a scope, reads that would
// have to wait are refused instead. Local files answer from the page cache;
// whatever else would wait (another thread, a decoder, a plugin) calls Refuse.
// The caller then does the same once more where it may wait.
//
// A scope belongs to the thread that made it. Scopes do not nest.
#ifndef ROWFS_STORAGE_BASE_NO_WAIT_H_
#define ROWFS_STORAGE_BASE_NO_WAIT_H_

#include "storage/base/status.h"

namespace rowfs {

class NoWaitScope {
 public:
  NoWaitScope() { current_ = this; }
  ~NoWaitScope() { current_ = nullptr; }
  NoWaitScope(const NoWaitScope&) = delete;
  NoWaitScope& operator=(const NoWaitScope&) = delete;

  // Whether something was refused on the way: the result is then worth nothing,
  // even if it says that all is well.
  bool refused() const { return refused_; }

  // Whether this thread must not wait.
  static bool Active() { return current_ != nullptr; }
  // kUnavailable. Requires: Active().
  static Status Refuse() {
    current_->refused_ = true;
    return {Code::kUnavailable, "would have to wait"};
  }

 private:
  static inline thread_local NoWaitScope* current_ = nullptr;
  bool refused_ = false;
};

}  // namespace rowfs
#endif  // ROWFS_STORAGE_BASE_NO_WAIT_H_
