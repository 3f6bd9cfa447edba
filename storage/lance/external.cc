#include "storage/lance/external.h"

#include <algorithm>
#include <filesystem>
#include <optional>

#include "storage/lance/manifest_check.h"

namespace rowfs {
namespace {

bool IsLocal(const Location& location) {
  return location.uri().starts_with("/");
}

// A path with every link and ".." resolved; empty when it is not there.
std::string Canonical(const std::string& path) {
  std::error_code error;
  const auto resolved = std::filesystem::canonical(path, error);
  return error ? std::string() : resolved.string();
}

std::string WithoutSlash(std::string path) {
  while (!path.empty() && path.back() == '/') path.pop_back();
  return path;
}

// How a prefix compares with targets: a canonical path, or a URI as it is. "/"
// becomes empty; absent for a local folder that is not there.
std::optional<std::string> Comparable(const Location& location) {
  if (!IsLocal(location)) return WithoutSlash(location.uri());
  const std::string canonical = Canonical(location.path);
  if (canonical.empty()) return {};
  return WithoutSlash(canonical);
}

// ".." in any spelling that a server might undo.
bool HasParentPart(std::string_view uri) {
  std::string part;
  for (size_t i = 0; i <= uri.size(); ++i) {
    const char c = i < uri.size() ? uri[i] : '/';
    const std::string_view code = uri.substr(std::min(i, uri.size()), 3);
    if (code == "%2e" || code == "%2E") {
      part += '.';
      i += 2;
    } else if (code == "%2f" || code == "%2F" || c == '/' || c == '\\' ||
               c == '?' || c == '#') {
      if (part == "..") return true;
      part.clear();
      if (c == '%') i += 2;
    } else {
      part += c;
    }
  }
  return false;
}

Status Refused(const std::string& uri) {
  return Status(Code::kPermissionDenied,
                uri +
                    ": outside the dataset and its base paths; allow it with "
                    "--allow-external PREFIX");
}

}  // namespace

ExternalPolicy::ExternalPolicy(const BasePaths& bases, StoreRegistry* stores,
                               const std::vector<std::string>& allowed)
    : bases_(bases), stores_(stores) {
  for (const Location& root : bases.Roots()) {
    auto path = Comparable(root);
    if (path) prefixes_.push_back({*std::move(path), false});
  }
  for (const std::string& prefix : allowed) {
    if (stores == nullptr) continue;
    const auto resolved = stores->Resolve(prefix);
    if (!resolved.ok()) continue;
    // The user's "/" is everything; a dataset's is nothing.
    auto path = Comparable(resolved.value());
    if (path) prefixes_.push_back({*std::move(path), true});
  }
}

bool ExternalPolicy::Covers(const std::string& path) const {
  for (const Prefix& prefix : prefixes_) {
    if (prefix.path.empty()) {
      if (prefix.by_user && path.starts_with("/")) return true;
      continue;
    }
    if (path == prefix.path || path.starts_with(prefix.path + "/")) return true;
  }
  return false;
}

Result<Location> ExternalPolicy::ResolveLocal(const Location& target) const {
  const std::string canonical = Canonical(target.path);
  if (canonical.empty()) {
    // Told apart from a missing file only under places that may be looked at.
    const std::string lexical =
        std::filesystem::path(target.path).lexically_normal().string();
    if (!Covers(lexical)) return Refused(target.path);
    return Status(Code::kNotFound, target.path + ": external object is gone");
  }
  if (!Covers(canonical)) return Refused(target.path);
  return Location{target.store, canonical};
}

Result<Location> ExternalPolicy::Resolve(const BlobCell& cell) const {
  const std::string& object = cell.object;
  if (object.empty() || object.find('\0') != std::string::npos) {
    return Status(Code::kCorruption, "external blob without a usable URI");
  }
  Location target;
  if (cell.base_id) {
    if (!IsConfinedPath(object)) {
      return Status(
          Code::kPermissionDenied,
          object + ": leaves its base path " + std::to_string(*cell.base_id));
    }
    ROWFS_ASSIGN_OR_RETURN(const Location folder, bases_.Folder(cell.base_id));
    target = folder.Join(object);
  } else {
    const bool absolute =
        object.front() == '/' || object.find("://") != std::string::npos;
    if (!absolute) {
      return Status(Code::kPermissionDenied,
                    object + ": external blob with a relative path");
    }
    if (stores_ == nullptr) {
      return Status(Code::kUnsupported, object + ": no stores to look in");
    }
    // What a remote dataset names must not lead into the reader's network.
    ROWFS_ASSIGN_OR_RETURN(target, IsLocal(bases_.main_root())
                                       ? stores_->Resolve(object)
                                       : stores_->ResolveFromDataset(object));
  }
  ROWFS_RETURN_IF_ERROR(CheckReach(bases_.main_root(), target));
  if (IsLocal(target)) return ResolveLocal(target);
  const std::string uri = target.uri();
  if (HasParentPart(object) || !Covers(uri)) return Refused(uri);
  return target;
}

}  // namespace rowfs
