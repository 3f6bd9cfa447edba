#include "fs/tree/version_slots.h"

#include <utility>

#include "fs/tree/node_id.h"

namespace rowfs {

VersionSlots::VersionSlots(std::unique_ptr<Snapshot> mounted,
                           PluginRegistry& plugins, Renderer& renderer,
                           const TreeOptions& options)
    : mounted_(std::move(mounted)),
      plugins_(plugins),
      renderer_(renderer),
      options_(options),
      plain_options_(options),
      slots_{mounted_.get()} {
  plain_options_.views.clear();
}

Snapshot* VersionSlots::Find(uint32_t slot) {
  const MutexLock lock(mu_);
  return slot < slots_.size() ? slots_[slot] : nullptr;
}

Result<std::vector<TableVersion>> VersionSlots::List(Wait wait) {
  if (!options_.open_version) return std::vector<TableVersion>();
  if (wait == Wait::kNo) return WouldWait();
  return mounted_->dataset().table().Versions();
}

Result<std::shared_ptr<const VersionSlots::Opened>> VersionSlots::Make(
    uint64_t version) {
  ROWFS_ASSIGN_OR_RETURN(const std::vector<TableVersion> versions,
                         List(Wait::kYes));
  int64_t mtime_ns = options_.mtime_ns;
  bool found = false;
  for (const TableVersion& other : versions) {
    if (other.version != version) continue;
    mtime_ns = other.timestamp_ns;
    found = true;
  }
  if (!found) return Status(Code::kNotFound, "no such version");
  ROWFS_ASSIGN_OR_RETURN(auto dataset, options_.open_version(version));
  if (dataset->row_count() >= kNodeRowsMax) {
    return Status(Code::kUnsupported, "too many rows to mount");
  }
  const MutexLock lock(mu_);
  if (slots_.size() >= kSlotsMax) {
    return Status(Code::kResourceExhausted,
                  "too many versions are in use; mount this one by itself");
  }
  auto opened = std::make_shared<Opened>();
  opened->snapshot = std::make_unique<Snapshot>(
      std::move(dataset), plugins_, renderer_, plain_options_,
      static_cast<uint32_t>(slots_.size()), mtime_ns);
  slots_.push_back(opened->snapshot.get());
  return std::shared_ptr<const Opened>(std::move(opened));
}

Result<Snapshot*> VersionSlots::Open(uint64_t version, Wait wait) {
  Lazy<Opened>* lazy = nullptr;
  {
    const MutexLock lock(mu_);
    std::unique_ptr<Lazy<Opened>>& slot = versions_[version];
    if (!slot) slot = std::make_unique<Lazy<Opened>>();
    lazy = slot.get();
  }
  ROWFS_ASSIGN_OR_RETURN(const auto opened,
                         lazy->Get(wait, [&] { return Make(version); }));
  return opened->snapshot.get();
}

}  // namespace rowfs
