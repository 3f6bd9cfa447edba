// Where the files of one dataset version lie: its own folder, or one of the
// base paths its manifest registers (shallow clones, branches, data spread over
// several places). Base paths come from the manifest and are not trusted.
//
// Immutable; thread-safe.
#ifndef ROWFS_STORAGE_LANCE_BASE_PATHS_H_
#define ROWFS_STORAGE_LANCE_BASE_PATHS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "storage/lance/table.pb.h"
#include "storage/object/object_store.h"
#include "storage/object/open_store.h"

namespace rowfs {

// kPermissionDenied when `target`, an object or folder named by a dataset at
// `dataset`, is where such a dataset may not send its reader: from a remote
// dataset to local files or to this machine's or link-local addresses.
Status CheckReach(const Location& dataset, const Location& target);

class BasePaths {
 public:
  // `main_root`: the dataset; `root`: the branch's own folder, the same for the
  // main line. `stores` may be null: base paths then answer kUnsupported.
  // Nothing fails here; a base path that is no good fails when it is used.
  BasePaths(Location main_root, Location root, const lance::pb::Manifest& m,
            StoreRegistry* stores);

  const Location& root() const { return root_; }
  const Location& main_root() const { return main_root_; }

  // The folder of base `id`; absent: the version's own. kCorruption for an
  // unregistered or relative one, kPermissionDenied as CheckReach says.
  Result<Location> Folder(std::optional<uint32_t> id) const;

  // How the base names the data file `path` of a manifest: "data/" in front
  // where the base is a dataset, nothing else.
  std::string DataPath(std::optional<uint32_t> id,
                       const std::string& path) const;
  // The deletion file `name` below the base.
  std::string DeletionPath(std::optional<uint32_t> id,
                           const std::string& name) const;

  // Places to look for `path` of base `id`, best first. More than one where a
  // base is a dataset: when that has been moved or copied, branches and clones
  // inside it still name its old place.
  Result<std::vector<Location>> Candidates(std::optional<uint32_t> id,
                                           const std::string& path) const;

  // Folders that blobs may lie under: this dataset and every usable base.
  std::vector<Location> Roots() const;

 private:
  struct Base {
    bool is_dataset = false;
    std::string path;
    Result<Location> folder;
  };

  Result<Location> ResolveBase(const lance::pb::BasePath& base,
                               StoreRegistry* stores) const;

  const Location main_root_;
  const Location root_;
  std::map<uint32_t, Base> bases_;
};

}  // namespace rowfs
#endif  // ROWFS_STORAGE_LANCE_BASE_PATHS_H_
