// For threads that read in order to keep: within a scope, long sequential
// passes are put on disk like everything else.
//
// A scope belongs to the thread that made it. Scopes do not nest.
#ifndef ROWFS_STORAGE_BASE_KEEP_SCOPE_H_
#define ROWFS_STORAGE_BASE_KEEP_SCOPE_H_

namespace rowfs {

class KeepScope {
 public:
  KeepScope() { active_ = true; }
  ~KeepScope() { active_ = false; }
  KeepScope(const KeepScope&) = delete;
  KeepScope& operator=(const KeepScope&) = delete;

  static bool Active() { return active_; }

 private:
  static inline thread_local bool active_ = false;
};

}  // namespace rowfs
#endif  // ROWFS_STORAGE_BASE_KEEP_SCOPE_H_
