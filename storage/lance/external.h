// Where an external blob may point: a reach_policy.h whose folders are the
// dataset and its registered base paths.
//
// Immutable; thread-safe.
#ifndef ROWFS_STORAGE_LANCE_EXTERNAL_H_
#define ROWFS_STORAGE_LANCE_EXTERNAL_H_

#include <string>
#include <vector>

#include "storage/lance/base_paths.h"
#include "storage/table/blob.h"
#include "storage/table/reach_policy.h"

namespace rowfs {

class ExternalPolicy {
 public:
  // `allowed`: paths and URLs of the user. `bases` outlives this; so does
  // `stores`, which may be null: then no absolute URI resolves.
  ExternalPolicy(const BasePaths& bases, StoreRegistry* stores,
                 const std::vector<std::string>& allowed);

  // Where the bytes of a kExternal or kManagedWithBase `cell` are.
  // kPermissionDenied when that is not allowed, naming the object and the
  // option that would allow it; kNotFound for a local file that is gone;
  // kCorruption for a URI that cannot name an object. No request; local paths
  // are resolved on the file system.
  Result<Location> Resolve(const BlobCell& cell) const;

 private:
  const BasePaths& bases_;
  const ReachPolicy reach_;
};

}  // namespace rowfs
#endif  // ROWFS_STORAGE_LANCE_EXTERNAL_H_
