#include "fs/cli/references.h"

#include <map>
#include <optional>

#include "index/dataset/reference_table.h"
#include "storage/base/sync.h"
#include "storage/pack/pack.h"
#include "storage/table/reach_policy.h"

namespace rowfs {
namespace {

// Directories of shards in memory; opening one again costs its tail.
constexpr size_t kPacksMax = 1024;

// Opens references of one dataset.
class Referenced {
 public:
  Referenced(const Location& root, const OpenContext& context)
      : context_(context),
        policy_(root, {root}, context.stores, context.allow_external) {}

  Result<BlobSource> Open(const std::string& reference) EXCLUDES(mu_) {
    const auto parsed = ParsePackReference(reference);
    if (!parsed) return OpenFile(reference);
    ROWFS_ASSIGN_OR_RETURN(const auto pack, FindPack(parsed->shard));
    ROWFS_ASSIGN_OR_RETURN(const uint64_t member, pack->Find(parsed->member));
    return pack->OpenMember(member);
  }

 private:
  Result<BlobSource> OpenFile(const std::string& path) {
    ROWFS_ASSIGN_OR_RETURN(const Location place, policy_.Resolve(path));
    BlobSource source;
    ROWFS_ASSIGN_OR_RETURN(source.reader,
                           ObjectReader::Open(place, 0, context_.read));
    source.range = {0, source.reader->size()};
    return source;
  }

  Result<std::shared_ptr<const Pack>> FindPack(const std::string& shard)
      EXCLUDES(mu_) {
    {
      const MutexLock lock(mu_);
      const auto found = packs_.find(shard);
      if (found != packs_.end()) return found->second;
    }
    ROWFS_ASSIGN_OR_RETURN(const Location place, policy_.Resolve(shard));
    ROWFS_ASSIGN_OR_RETURN(auto pack, OpenPack(place, context_));
    const MutexLock lock(mu_);
    if (packs_.size() >= kPacksMax) packs_.erase(packs_.begin());
    return packs_.emplace(shard, std::move(pack)).first->second;
  }

  const OpenContext context_;
  const ReachPolicy policy_;
  Mutex mu_;
  std::map<std::string, std::shared_ptr<const Pack>> packs_ GUARDED_BY(mu_);
};

Result<std::unique_ptr<TableSource>> Wrap(
    Result<std::unique_ptr<TableSource>> table, const Location& root,
    const OpenContext& context) {
  if (!table.ok()) return table;
  const auto referenced = std::make_shared<Referenced>(root, context);
  return WithReferences(std::move(table).value(),
                        [referenced](const std::string& reference) {
                          return referenced->Open(reference);
                        });
}

// The only NAME.lance in the folder; absent when there is none or more.
Result<std::optional<Location>> FindTable(const TableFormat& format,
                                          const Location& folder,
                                          const OpenContext& context) {
  std::optional<Location> found;
  if (!folder.store->capabilities().list) return found;
  const auto entries = folder.store->List(folder.path);
  if (!entries.ok()) {
    if (entries.status().code() == Code::kNotFound) return found;
    return entries.status();
  }
  for (const ListEntry& entry : entries.value()) {
    if (!entry.is_directory || !entry.name.ends_with(".lance")) continue;
    if (found) return std::optional<Location>();
    found = folder.Join(entry.name);
  }
  if (!found) return found;
  ROWFS_ASSIGN_OR_RETURN(const bool detected, format.detect(*found, context));
  if (!detected) found.reset();
  return found;
}

}  // namespace

TableFormat WithPackReferences(TableFormat format) {
  // A Lance dataset is always a folder: not worth a request.
  const bool may_be_file = format.name != "lance";
  format.open = [open = format.open, may_be_file](const Location& location,
                                                  std::string_view version,
                                                  const OpenContext& context) {
    Location root = location;
    if (may_be_file && location.store->Stat(location.path).ok()) {
      const size_t slash = root.path.rfind('/');
      root.path.resize(slash == std::string::npos ? 0 : slash);
    }
    return Wrap(open(location, version, context), root, context);
  };
  return format;
}

TableFormat TableInFolder(TableFormat format) {
  TableFormat brcd;
  brcd.name = "brcd";
  brcd.detect = [format](const Location& location,
                         const OpenContext& context) -> Result<bool> {
    ROWFS_ASSIGN_OR_RETURN(const auto table,
                           FindTable(format, location, context));
    return table.has_value();
  };
  brcd.open =
      [format](
          const Location& location, std::string_view version,
          const OpenContext& context) -> Result<std::unique_ptr<TableSource>> {
    ROWFS_ASSIGN_OR_RETURN(const auto table,
                           FindTable(format, location, context));
    if (!table) {
      return Status(Code::kNotFound,
                    location.uri() + ": not one table and packs beside it");
    }
    return Wrap(format.open(*table, version, context), location, context);
  };
  return brcd;
}

}  // namespace rowfs
