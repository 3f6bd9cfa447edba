// Open files by number.
//
// Thread-safe.
#ifndef ROWFS_FS_TREE_HANDLE_TABLE_H_
#define ROWFS_FS_TREE_HANDLE_TABLE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <unordered_map>
#include <utility>

#include "index/view/media.h"
#include "storage/base/sync.h"

namespace rowfs {

class HandleTable {
 public:
  struct Opened {
    uint64_t node = 0;
    std::shared_ptr<const ViewFile> file;
  };

  // Never 0.
  uint64_t Add(Opened opened) EXCLUDES(mu_) {
    const MutexLock lock(mu_);
    handles_.emplace(++last_, std::move(opened));
    return last_;
  }
  std::optional<Opened> Find(uint64_t handle) const EXCLUDES(mu_) {
    const MutexLock lock(mu_);
    const auto found = handles_.find(handle);
    if (found == handles_.end()) return {};
    return found->second;
  }
  // What was open under that number, which is not used again.
  std::optional<Opened> Remove(uint64_t handle) EXCLUDES(mu_) {
    const MutexLock lock(mu_);
    const auto found = handles_.find(handle);
    if (found == handles_.end()) return {};
    Opened opened = std::move(found->second);
    handles_.erase(found);
    return opened;
  }
  uint64_t size() const EXCLUDES(mu_) {
    const MutexLock lock(mu_);
    return handles_.size();
  }

 private:
  mutable Mutex mu_;
  std::unordered_map<uint64_t, Opened> handles_ GUARDED_BY(mu_);
  uint64_t last_ GUARDED_BY(mu_) = 0;
};

}  // namespace rowfs
#endif  // ROWFS_FS_TREE_HANDLE_TABLE_H_
