#include "storage/lance/base_paths.h"

#include <algorithm>

#include "storage/table/reach_policy.h"

namespace rowfs {
namespace {

namespace pb = lance::pb;

// What follows the dataset's root in the path of one of its branches:
// "/x/ds.lance/tree/a/b" -> "tree/a/b".
std::string_view BranchPart(std::string_view path) {
  const size_t tree = path.rfind("/tree/");
  return tree == std::string_view::npos ? "" : path.substr(tree + 1);
}

}  // namespace

BasePaths::BasePaths(Location main_root, Location root, const pb::Manifest& m,
                     StoreRegistry* stores)
    : main_root_(std::move(main_root)), root_(std::move(root)) {
  for (const pb::BasePath& base : m.base_paths()) {
    bases_.emplace(base.id(), Base{base.is_dataset_root(), base.path(),
                                   ResolveBase(base, stores)});
  }
}

Result<Location> BasePaths::ResolveBase(const pb::BasePath& base,
                                        StoreRegistry* stores) const {
  const std::string what =
      "base path " + std::to_string(base.id()) + " (\"" + base.path() + "\")";
  const bool absolute = base.path().starts_with("/") ||
                        base.path().find("://") != std::string::npos;
  if (!absolute) {
    return Status(Code::kCorruption,
                  what +
                      ": relative, so it means another place for every reader; "
                      "register an absolute path");
  }
  if (stores == nullptr) {
    return Status(Code::kUnsupported, what + ": no stores to look in");
  }
  auto folder = stores->Resolve(base.path());
  if (!folder.ok()) return folder.status().With(what);
  ROWFS_RETURN_IF_ERROR(CheckReach(main_root_, folder.value()).With(what));
  return folder;
}

Result<Location> BasePaths::Folder(std::optional<uint32_t> id) const {
  if (!id) return root_;
  const auto base = bases_.find(*id);
  if (base == bases_.end()) {
    return Status(Code::kCorruption, root_.uri() + ": base path " +
                                         std::to_string(*id) +
                                         " is not registered");
  }
  return base->second.folder;
}

std::string BasePaths::DataPath(std::optional<uint32_t> id,
                                const std::string& path) const {
  const auto base = id ? bases_.find(*id) : bases_.end();
  const bool plain = base != bases_.end() && !base->second.is_dataset;
  return plain ? path : "data/" + path;
}

std::string BasePaths::DeletionPath(std::optional<uint32_t> id,
                                    const std::string& name) const {
  const auto base = id ? bases_.find(*id) : bases_.end();
  const bool plain = base != bases_.end() && !base->second.is_dataset;
  return plain ? name : "_deletions/" + name;
}

Result<std::vector<Location>> BasePaths::Candidates(
    std::optional<uint32_t> id, const std::string& path) const {
  std::vector<Location> places;
  const auto folder = Folder(id);
  if (folder.ok()) places.push_back(folder.value().Join(path));
  const auto base = id ? bases_.find(*id) : bases_.end();
  if (base != bases_.end() && base->second.is_dataset) {
    const std::string_view branch = BranchPart(base->second.path);
    if (!branch.empty() && branch.find("..") == std::string_view::npos) {
      places.push_back(main_root_.Join(branch).Join(path));
    }
    places.push_back(main_root_.Join(path));
  }
  if (places.empty()) return folder.status();
  return places;
}

std::vector<Location> BasePaths::Roots() const {
  std::vector<Location> roots = {main_root_};
  for (const auto& [id, base] : bases_) {
    if (base.folder.ok()) roots.push_back(base.folder.value());
  }
  return roots;
}

}  // namespace rowfs
