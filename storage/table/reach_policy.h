// Where what a dataset names may lie. A URI in a cell is data somebody else
// wrote: links and ".." are resolved first, then the object must lie under the
// dataset, another folder that belongs to it, or a prefix the user allowed.
//
// Immutable; thread-safe.
#ifndef ROWFS_STORAGE_TABLE_REACH_POLICY_H_
#define ROWFS_STORAGE_TABLE_REACH_POLICY_H_

#include <string>
#include <vector>

#include "storage/object/open_store.h"

namespace rowfs {

// kPermissionDenied when `target`, an object or folder named by a dataset at
// `dataset`, is where such a dataset may not send its reader: from a remote
// dataset to local files or to this machine's or link-local addresses.
Status CheckReach(const Location& dataset, const Location& target);

class ReachPolicy {
 public:
  // `roots`: the folders that are the dataset's own, `dataset` among them.
  // `allowed`: paths and URLs of the user. `stores` outlives this and may be
  // null: then no absolute URI resolves.
  ReachPolicy(Location dataset, const std::vector<Location>& roots,
              StoreRegistry* stores, const std::vector<std::string>& allowed);

  // Where `uri`, absolute or relative to the dataset, is. kPermissionDenied
  // when that is not allowed, naming the object and the option that would allow
  // it; kNotFound for a local file that is gone; kCorruption for what cannot
  // name an object. No request; local paths are resolved on the file system.
  Result<Location> Resolve(const std::string& uri) const;
  // The same for a place that is known already. `name` is how the dataset
  // names it.
  Result<Location> Check(const Location& target, const std::string& name) const;

 private:
  struct Prefix {
    std::string path;  // canonical, without '/' at the end
    bool by_user = false;
  };

  Result<Location> CheckLocal(const Location& target) const;
  bool Covers(const std::string& path) const;

  const Location dataset_;
  StoreRegistry* const stores_;
  std::vector<Prefix> prefixes_;
};

}  // namespace rowfs
#endif  // ROWFS_STORAGE_TABLE_REACH_POLICY_H_
