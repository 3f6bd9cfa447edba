#include "storage/lance/base_paths.h"

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstring>

#include "storage/base/bytes.h"

namespace rowfs {
namespace {

namespace pb = lance::pb;

// The local store's URIs are plain paths.
bool IsLocal(const Location& location) {
  return location.uri().starts_with("/");
}

// The host in "scheme://user@host:port/...", without brackets; lower case.
std::string HostOf(std::string_view uri) {
  const size_t start = uri.find("://");
  if (start == std::string_view::npos) return {};
  std::string_view host = uri.substr(start + 3);
  host = host.substr(0, host.find_first_of("/?#"));
  const size_t user = host.rfind('@');
  if (user != std::string_view::npos) host.remove_prefix(user + 1);
  if (host.starts_with("[")) {
    host = host.substr(1, host.find(']') - 1);
  } else {
    host = host.substr(0, host.find(':'));
  }
  std::string lower(host);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char c) { return std::tolower(c); });
  if (lower.ends_with(".")) lower.pop_back();
  return lower;
}

bool IsNear4(uint32_t address) {
  const uint32_t first = address >> 24;
  return first == 127 || first == 0 || address >> 16 == 0xa9fe;
}

// Loopback, unspecified or link-local, in any spelling an address has.
bool IsNearHost(const std::string& host) {
  if (host == "localhost" || host.ends_with(".localhost")) return true;
  in_addr v4{};
  // inet_aton also takes "2130706433", "0x7f.1" and "127.1", as resolvers do.
  if (inet_aton(host.c_str(), &v4) != 0) return IsNear4(ntohl(v4.s_addr));
  std::array<std::byte, 16> v6{};
  const std::string plain = host.substr(0, host.find('%'));
  if (inet_pton(AF_INET6, plain.c_str(), v6.data()) != 1) return false;
  const uint64_t high = LoadU64BigEndian(v6);
  const uint64_t low = LoadU64BigEndian(ByteSpan(v6).subspan(8));
  if (high >> 54 == 0x3fa) return true;  // fe80::/10
  if (high != 0) return false;
  if (low <= 1) return true;  // ::, ::1
  const uint64_t prefix = low >> 32;
  return (prefix == 0xffff || prefix == 0) &&
         IsNear4(static_cast<uint32_t>(low & UINT32_MAX));
}

// What follows the dataset's root in the path of one of its branches:
// "/x/ds.lance/tree/a/b" -> "tree/a/b".
std::string_view BranchPart(std::string_view path) {
  const size_t tree = path.rfind("/tree/");
  return tree == std::string_view::npos ? "" : path.substr(tree + 1);
}

}  // namespace

Status CheckReach(const Location& dataset, const Location& target) {
  if (!dataset.store->capabilities().remote) return {};
  const std::string uri = target.uri();
  const Status refused(Code::kPermissionDenied,
                       uri + ": a remote dataset (" + dataset.uri() +
                           ") may not point to this machine");
  if (IsLocal(target)) return refused;
  const std::string host = HostOf(uri);
  if (host != HostOf(dataset.uri()) && IsNearHost(host)) return refused;
  return {};
}

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
