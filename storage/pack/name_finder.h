// Find members of one pack by name, with an index that is made when it is first
// wanted.
//
// Thread-safe.
#ifndef ROWFS_STORAGE_PACK_NAME_FINDER_H_
#define ROWFS_STORAGE_PACK_NAME_FINDER_H_

#include <memory>
#include <string>
#include <string_view>

#include "storage/base/sync.h"
#include "storage/pack/member_table.h"

namespace rowfs {

class NameFinder {
 public:
  // As Pack::Find, of `members`: the same ones at every call.
  Result<uint64_t> Find(const MemberTable& members, std::string_view name,
                        std::string_view shard) const EXCLUDES(mu_) {
    const std::shared_ptr<const MemberIndex> index = Index(members);
    const std::vector<uint64_t> found = index->Find(members, name);
    if (found.size() == 1) return found[0];
    const std::string what = std::string(shard) + ": " +
                             (found.empty() ? "no member"
                                            : "several "
                                              "members") +
                             " called " + std::string(name);
    return Status(found.empty() ? Code::kNotFound : Code::kCorruption, what);
  }

 private:
  std::shared_ptr<const MemberIndex> Index(const MemberTable& members) const
      EXCLUDES(mu_) {
    const MutexLock lock(mu_);
    if (!index_) index_ = std::make_shared<const MemberIndex>(members);
    return index_;
  }

  mutable Mutex mu_;
  mutable std::shared_ptr<const MemberIndex> index_ GUARDED_BY(mu_);
};

}  // namespace rowfs
#endif  // ROWFS_STORAGE_PACK_NAME_FINDER_H_
