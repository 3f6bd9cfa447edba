// Where an external blob may point. Its URI is data somebody else wrote: links
// and ".." are resolved first, then the object must lie under the dataset, a
// registered base path, or a prefix the user allowed.
//
// Immutable; thread-safe.
#ifndef ROWFS_STORAGE_LANCE_EXTERNAL_H_
#define ROWFS_STORAGE_LANCE_EXTERNAL_H_

#include <string>
#include <vector>

#include "storage/lance/base_paths.h"
#include "storage/table/blob.h"

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
  struct Prefix {
    std::string path;  // canonical, without '/' at the end
    bool by_user = false;
  };

  Result<Location> ResolveLocal(const Location& target) const;
  bool Covers(const std::string& path) const;

  const BasePaths& bases_;
  StoreRegistry* const stores_;
  std::vector<Prefix> prefixes_;
};

}  // namespace rowfs
#endif  // ROWFS_STORAGE_LANCE_EXTERNAL_H_
