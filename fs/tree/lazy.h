// A value that is made by the first who needs it; others wait for that one
// instead of making it again. Failures are not kept.
//
// Thread-safe. No lock is held while the value is made.
#ifndef ROWFS_FS_TREE_LAZY_H_
#define ROWFS_FS_TREE_LAZY_H_

#include <functional>
#include <memory>
#include <utility>

#include "fs/tree/tree_options.h"
#include "storage/base/status.h"
#include "storage/base/sync.h"

namespace rowfs {

// What operations return instead of waiting.
inline Status WouldWait() { return {Code::kUnavailable, "would wait"}; }

template <typename T>
class Lazy {
 public:
  using Value = std::shared_ptr<const T>;

  // The value, made by `make` if nobody made it before. With Wait::kNo
  // kUnavailable when it is not there yet.
  Result<Value> Get(Wait wait, const std::function<Result<Value>()>& make)
      EXCLUDES(mu_) {
    {
      const MutexLock lock(mu_);
      while (making_ && wait == Wait::kYes) made_.Wait(mu_);
      if (value_) return value_;
      if (wait == Wait::kNo) return WouldWait();
      making_ = true;
    }
    Result<Value> result = make();
    {
      const MutexLock lock(mu_);
      making_ = false;
      if (result.ok()) value_ = result.value();
    }
    made_.NotifyAll();
    return result;
  }

 private:
  Mutex mu_;
  CondVar made_;
  Value value_ GUARDED_BY(mu_);
  bool making_ GUARDED_BY(mu_) = false;
};

}  // namespace rowfs
#endif  // ROWFS_FS_TREE_LAZY_H_
