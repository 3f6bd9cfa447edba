// The other versions of the dataset, opened when they are first looked into,
// each with a number that goes into its nodes.
//
// Thread-safe.
#ifndef ROWFS_FS_TREE_VERSION_SLOTS_H_
#define ROWFS_FS_TREE_VERSION_SLOTS_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string_view>
#include <vector>

#include "fs/tree/lazy.h"
#include "fs/tree/snapshot.h"
#include "storage/base/sync.h"

namespace rowfs {

class VersionSlots {
 public:
  // Slot 0 is the mounted snapshot. What is passed by reference outlives this.
  VersionSlots(std::unique_ptr<Snapshot> mounted, PluginRegistry& plugins,
               Renderer& renderer, const TreeOptions& options);

  Snapshot& mounted() { return *mounted_; }
  const Snapshot& mounted() const { return *mounted_; }
  // Null for a slot that was never opened.
  Snapshot* Find(uint32_t slot) EXCLUDES(mu_);
  // The snapshot of `version`, opened by the first who asks. kNotFound without
  // such a version, kResourceExhausted when all slots are taken.
  Result<Snapshot*> Open(uint64_t version, Wait wait) EXCLUDES(mu_);
  // Versions that exist, oldest first, as of now; empty without open_version.
  Result<std::vector<TableVersion>> List(Wait wait);

 private:
  struct Opened {
    std::unique_ptr<Snapshot> snapshot;
  };

  Result<std::shared_ptr<const Opened>> Make(uint64_t version);

  const std::unique_ptr<Snapshot> mounted_;
  PluginRegistry& plugins_;
  Renderer& renderer_;
  const TreeOptions& options_;
  TreeOptions plain_options_;  // of the other versions: no row lists
  Mutex mu_;
  std::map<uint64_t, std::unique_ptr<Lazy<Opened>>> versions_ GUARDED_BY(mu_);
  std::vector<Snapshot*> slots_ GUARDED_BY(mu_);
};

}  // namespace rowfs
#endif  // ROWFS_FS_TREE_VERSION_SLOTS_H_
