#include "storage/table/reach_policy.h"

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <optional>
#include <string_view>
#include <utility>

namespace rowfs {
namespace {

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

Status CheckName(const std::string& name) {
  if (!name.empty() && name.find('\0') == std::string::npos) return {};
  return Status(Code::kCorruption, "a reference without a usable URI");
}

Status Refused(const std::string& uri) {
  return Status(Code::kPermissionDenied,
                uri +
                    ": outside the dataset and its base paths; allow it with "
                    "--allow-external PREFIX");
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

ReachPolicy::ReachPolicy(Location dataset, const std::vector<Location>& roots,
                         StoreRegistry* stores,
                         const std::vector<std::string>& allowed)
    : dataset_(std::move(dataset)), stores_(stores) {
  for (const Location& root : roots) {
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

bool ReachPolicy::Covers(const std::string& path) const {
  for (const Prefix& prefix : prefixes_) {
    if (prefix.path.empty()) {
      if (prefix.by_user && path.starts_with("/")) return true;
      continue;
    }
    if (path == prefix.path || path.starts_with(prefix.path + "/")) return true;
  }
  return false;
}

Result<Location> ReachPolicy::CheckLocal(const Location& target) const {
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

Result<Location> ReachPolicy::Resolve(const std::string& uri) const {
  ROWFS_RETURN_IF_ERROR(CheckName(uri));
  const bool absolute =
      uri.front() == '/' || uri.find("://") != std::string::npos;
  if (!absolute) return Check(dataset_.Join(uri), uri);
  if (stores_ == nullptr) {
    return Status(Code::kUnsupported, uri + ": no stores to look in");
  }
  // What a remote dataset names must not lead into the reader's network.
  ROWFS_ASSIGN_OR_RETURN(const Location target,
                         IsLocal(dataset_) ? stores_->Resolve(uri)
                                           : stores_->ResolveFromDataset(uri));
  return Check(target, uri);
}

Result<Location> ReachPolicy::Check(const Location& target,
                                    const std::string& name) const {
  ROWFS_RETURN_IF_ERROR(CheckName(name));
  ROWFS_RETURN_IF_ERROR(CheckReach(dataset_, target));
  if (IsLocal(target)) return CheckLocal(target);
  const std::string uri = target.uri();
  if (HasParentPart(name) || !Covers(uri)) return Refused(uri);
  return target;
}

}  // namespace rowfs
