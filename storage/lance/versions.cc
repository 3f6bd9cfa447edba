#include "storage/lance/versions.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <ctime>

#include "storage/base/clock.h"
#include "storage/base/json_members.h"
#include "storage/lance/manifest_check.h"

namespace rowfs {
namespace {

constexpr std::string_view kVersions = "_versions";
constexpr std::string_view kHint = "_versions/latest_version_hint.json";
constexpr std::string_view kJson = ".json";
constexpr uint64_t kRefBytesMax = 1 << 20;
// How far above a hint to look for newer versions on a store that cannot list.
constexpr uint64_t kProbesMax = 100000;

Status NotFound(const Location& root, std::string_view what) {
  return Status(Code::kNotFound, root.uri() + ": " + std::string(what));
}

std::optional<uint64_t> ParseVersion(std::string_view text) {
  uint64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (text.empty() || error != std::errc() || stop != end) return {};
  return value;
}

// Whether version `version` is there under either name, and under which.
Result<std::optional<ManifestName>> Probe(const Location& root,
                                          uint64_t version) {
  const Location versions = root.Join(kVersions);
  for (const auto naming :
       {ManifestNaming::kInverted, ManifestNaming::kDecimal}) {
    const auto meta = versions.store->Stat(
        versions.Join(FormatManifestName(version, naming)).path);
    if (meta.ok()) return std::optional(ManifestName{version, naming});
    if (meta.status().code() != Code::kNotFound) return meta.status();
  }
  return std::optional<ManifestName>();
}

// The latest version where no listing can tell.
Result<ManifestName> ProbeLatest(const Location& root) {
  uint64_t version = 1;
  const auto hint = ReadWhole(root.Join(kHint), kRefBytesMax);
  if (hint.ok()) {
    const auto json = ParseJson(AsText(hint.value()));
    const Json* value = json.ok() ? json.value().Find("version") : nullptr;
    if (value != nullptr) version = value->AsUint().value_or(1);
  }
  ROWFS_ASSIGN_OR_RETURN(auto found, Probe(root, version));
  if (!found && version != 1) {
    ROWFS_ASSIGN_OR_RETURN(found, Probe(root, 1));
    version = 1;
  }
  if (!found) {
    return NotFound(root,
                    "no version found (the store cannot list, and there is no "
                    "usable _versions/latest_version_hint.json)");
  }
  // A hint may be stale; versions follow one another without gaps above it.
  for (uint64_t i = 0; i < kProbesMax && version < UINT64_MAX; ++i) {
    ROWFS_ASSIGN_OR_RETURN(const auto next, Probe(root, version + 1));
    if (!next) break;
    found = next;
    ++version;
  }
  return *found;
}

// Names of the .json files in `folder`, decoded, without the ending.
Result<std::vector<std::string>> ListRefs(const Location& folder) {
  std::vector<std::string> names;
  if (!folder.store->capabilities().list) return names;
  auto entries = folder.store->List(folder.path);
  if (entries.status().code() == Code::kNotFound) return names;
  if (!entries.ok()) return entries.status();
  for (const ListEntry& entry : entries.value()) {
    if (entry.is_directory || !entry.name.ends_with(kJson)) continue;
    const std::string_view stem =
        std::string_view(entry.name)
            .substr(0, entry.name.size() - kJson.size());
    if (!stem.empty()) names.emplace_back(stem);
  }
  return names;
}

// Branch names hold '/', files cannot.
std::string DecodeSlashes(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    const std::string_view code = text.substr(i, 3);
    if (code == "%2F" || code == "%2f") {
      out += '/';
      i += 2;
    } else {
      out += text[i];
    }
  }
  return out;
}

std::string EncodeSlashes(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '/') {
      out += "%2F";
    } else {
      out += c;
    }
  }
  return out;
}

// Names that can be a tag's: letters, digits, '.', '-', '_', as upstream has
// it.
bool IsTagName(std::string_view name) {
  if (name.empty() || name.size() > 200 || name.front() == '.' ||
      name.back() == '.' || name.find("..") != std::string_view::npos ||
      name.ends_with(".lock")) {
    return false;
  }
  return std::all_of(name.begin(), name.end(), [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '.' || c == '-' || c == '_';
  });
}

Location TagFile(const Location& root, std::string_view name) {
  return root.Join("_refs/tags").Join(std::string(name) + std::string(kJson));
}

Result<Tag> ReadTag(const Location& root, std::string_view name) {
  const Location file = TagFile(root, name);
  ROWFS_ASSIGN_OR_RETURN(const Bytes bytes, ReadWhole(file, kRefBytesMax));
  const auto json = ParseJson(AsText(bytes));
  const Json* version = json.ok() ? json.value().Find("version") : nullptr;
  if (version == nullptr || !version->AsUint()) {
    return Status(Code::kCorruption, file.uri() + ": no tag in it");
  }
  Tag tag;
  tag.version = *version->AsUint();
  tag.branch = StringMember(json.value(), "branch");
  if (!tag.branch.empty() && !IsConfinedPath(tag.branch)) {
    return Status(Code::kCorruption, file.uri() + ": branch \"" + tag.branch +
                                         "\" leaves the dataset");
  }
  return tag;
}

// "2026-11-30T02:54:58.185912203Z".
std::string FormatTime(int64_t ns) {
  constexpr int64_t kSecond = 1'000'000'000;
  const std::time_t seconds = ns / kSecond;
  std::tm utc = {};
  gmtime_r(&seconds, &utc);
  char text[64];
  const size_t length =
      std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &utc);
  std::string digits = std::to_string(ns % kSecond);
  digits.insert(0, 9 - digits.size(), '0');
  return std::string(text, length) + "." + digits + "Z";
}

// A tag that moves keeps what else its file says: when it was made, metadata.
void KeepOldFields(const Location& file, Json* tag) {
  const auto bytes = ReadWhole(file, kRefBytesMax);
  if (!bytes.ok()) return;
  const auto old = ParseJson(AsText(bytes.value()));
  if (!old.ok()) return;
  for (auto& [key, value] : tag->members) {
    const Json* kept = old.value().Find(key);
    if (kept != nullptr && (key == "createdAt" || key == "metadata")) {
      value = *kept;
    }
  }
}

// The version `version`, or the latest, of a branch.
Result<ResolvedVersion> OnBranch(const Location& root, std::string_view branch,
                                 std::optional<uint64_t> version) {
  ResolvedVersion out;
  out.root = BranchRoot(root, branch);
  out.branch = std::string(branch);
  if (version) {
    ROWFS_ASSIGN_OR_RETURN(out.name, FindVersion(out.root, *version));
  } else {
    ROWFS_ASSIGN_OR_RETURN(out.name, FindLatest(out.root));
  }
  return out;
}

std::string JoinNames(const std::vector<std::string>& names) {
  std::string out;
  for (size_t i = 0; i < names.size() && i < 20; ++i) {
    out += (i == 0 ? "" : ", ") + names[i];
  }
  if (names.size() > 20) out += ", ...";
  return out.empty() ? "none" : out;
}

Status UnknownRef(const Location& root, std::string_view spec) {
  std::vector<std::string> tags;
  std::vector<std::string> branches;
  const auto tag_list = ListTags(root);
  if (tag_list.ok()) {
    for (const auto& [name, tag] : tag_list.value()) tags.push_back(name);
  }
  auto branch_list = ListBranches(root);
  if (branch_list.ok()) branches = std::move(branch_list).value();
  return NotFound(root, "no version, tag or branch \"" + std::string(spec) +
                            "\" (tags: " + JoinNames(tags) +
                            "; branches: " + JoinNames(branches) + ")");
}

}  // namespace

Location BranchRoot(const Location& root, std::string_view branch) {
  if (branch.empty()) return root;
  return root.Join("tree").Join(branch);
}

Result<std::vector<VersionEntry>> ListVersions(const Location& root) {
  const Location folder = root.Join(kVersions);
  auto entries = folder.store->List(folder.path);
  if (entries.status().code() == Code::kNotFound) {
    return NotFound(root, "no Lance dataset (no _versions folder)");
  }
  if (!entries.ok()) return entries.status();
  std::vector<VersionEntry> versions;
  for (const ListEntry& entry : entries.value()) {
    if (entry.is_directory) continue;
    const auto name = ParseManifestName(entry.name);
    if (name) versions.push_back({*name, entry.meta});
  }
  if (versions.empty()) return NotFound(root, "no version in _versions");
  for (const VersionEntry& entry : versions) {
    if (entry.name.naming != versions.front().name.naming) {
      return Status(Code::kCorruption,
                    root.uri() +
                        ": _versions mixes old and new manifest names; finish "
                        "the migration of the manifest paths");
    }
  }
  std::sort(versions.begin(), versions.end(), [](const auto& a, const auto& b) {
    return a.name.version < b.name.version;
  });
  return versions;
}

Result<ManifestName> FindLatest(const Location& root) {
  if (!root.store->capabilities().list) return ProbeLatest(root);
  ROWFS_ASSIGN_OR_RETURN(const auto versions, ListVersions(root));
  return versions.back().name;
}

Result<ManifestName> FindVersion(const Location& root, uint64_t version) {
  ROWFS_ASSIGN_OR_RETURN(const auto found, Probe(root, version));
  if (!found) return NotFound(root, "no version " + std::to_string(version));
  return *found;
}

Result<std::map<std::string, Tag>> ListTags(const Location& root) {
  std::map<std::string, Tag> tags;
  ROWFS_ASSIGN_OR_RETURN(const auto names, ListRefs(root.Join("_refs/tags")));
  for (const std::string& name : names) {
    // One damaged tag does not hide the others.
    auto tag = ReadTag(root, name);
    if (tag.ok()) tags.emplace(name, std::move(tag).value());
  }
  return tags;
}

Result<std::vector<std::string>> ListBranches(const Location& root) {
  ROWFS_ASSIGN_OR_RETURN(const auto names,
                         ListRefs(root.Join("_refs/branches")));
  std::vector<std::string> branches;
  for (const std::string& name : names) {
    std::string branch = DecodeSlashes(name);
    if (IsConfinedPath(branch)) branches.push_back(std::move(branch));
  }
  return branches;
}

Status PutTag(const Location& root, std::string_view name, const Tag& tag,
              bool replace) {
  if (!IsTagName(name)) {
    return Status(Code::kInvalidArgument,
                  "\"" + std::string(name) +
                      "\" cannot be a tag (letters, digits, '.', '-', '_')");
  }
  ROWFS_ASSIGN_OR_RETURN(const ResolvedVersion target,
                         OnBranch(root, tag.branch, tag.version));
  ROWFS_ASSIGN_OR_RETURN(
      const ObjectMeta manifest,
      target.root.store->Stat(
          target.root.Join(kVersions)
              .Join(FormatManifestName(target.name.version, target.name.naming))
              .path));
  Json json = Json::Object();
  json.Add("branch", tag.branch.empty() ? Json() : Json::String(tag.branch));
  json.Add("version", Json::Uint(tag.version));
  const std::string now = FormatTime(RealClock().NowNs());
  json.Add("createdAt", Json::String(now));
  json.Add("updatedAt", Json::String(now));
  json.Add("manifestSize", Json::Uint(manifest.size));
  json.Add("metadata", Json::Object());
  if (replace) KeepOldFields(TagFile(root, name), &json);
  return WriteWhole(TagFile(root, name), AsBytes(WriteJson(json)),
                    replace ? PutMode::kOverwrite : PutMode::kIfAbsent);
}

Status RemoveTag(const Location& root, std::string_view name) {
  if (!IsTagName(name)) return UnknownRef(root, name);
  const Location file = TagFile(root, name);
  ROWFS_RETURN_IF_ERROR(file.store->Stat(file.path).status());
  return file.store->Remove(file.path);
}

Result<ResolvedVersion> ResolveVersion(const Location& root,
                                       std::string_view spec) {
  if (spec.empty() || spec == "latest") return OnBranch(root, "", {});
  const std::string_view digits = spec.front() == 'v' ? spec.substr(1) : spec;
  if (const auto version = ParseVersion(digits)) {
    auto found = OnBranch(root, "", *version);
    // A tag may be called "v2" too; the version wins where it exists.
    if (found.status().code() != Code::kNotFound) return found;
  }
  const size_t colon = spec.rfind(':');
  if (colon != std::string_view::npos) {
    const std::string_view branch = spec.substr(0, colon);
    const auto version = ParseVersion(spec.substr(colon + 1));
    if (version && IsConfinedPath(branch)) {
      return OnBranch(root, branch, *version);
    }
    return UnknownRef(root, spec);
  }
  if (!IsConfinedPath(spec)) return UnknownRef(root, spec);
  if (spec.find('/') == std::string_view::npos) {
    const auto tag = ReadTag(root, spec);
    if (tag.ok())
      return OnBranch(root, tag.value().branch, tag.value().version);
    if (tag.status().code() != Code::kNotFound) return tag.status();
  }
  const Location branch_file =
      root.Join("_refs/branches")
          .Join(EncodeSlashes(spec) + std::string(kJson));
  const auto branch = branch_file.store->Stat(branch_file.path);
  if (branch.ok()) return OnBranch(root, spec, {});
  if (branch.status().code() != Code::kNotFound) return branch.status();
  return UnknownRef(root, spec);
}

}  // namespace rowfs
