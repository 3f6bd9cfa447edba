// Which versions, tags and branches a dataset has, and which one a user's
// "@..." means.
//
// Functions without shared state; thread-safe.
#ifndef ROWFS_STORAGE_LANCE_VERSIONS_H_
#define ROWFS_STORAGE_LANCE_VERSIONS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "storage/lance/manifest.h"
#include "storage/object/object_store.h"

namespace rowfs {

struct VersionEntry {
  ManifestName name;
  ObjectMeta meta;
};

struct Tag {
  std::string branch;  // empty: the main line
  uint64_t version = 0;
};

// Oldest first. kNotFound when `root` has no `_versions` folder or no version
// in it, kCorruption when both namings are mixed. One listing.
Result<std::vector<VersionEntry>> ListVersions(const Location& root);

// The newest version. Stores that cannot list: the version hint, then upwards
// until a version is missing.
Result<ManifestName> FindLatest(const Location& root);

// The name of version `version`; kNotFound when it is not there. At most two
// requests.
Result<ManifestName> FindVersion(const Location& root, uint64_t version);

// Tags by name, branches by name. Empty where the store cannot list or there
// are none.
Result<std::map<std::string, Tag>> ListTags(const Location& root);
Result<std::vector<std::string>> ListBranches(const Location& root);

// Set a tag to a version that is there (kNotFound otherwise) or remove it.
// kAlreadyExists when the tag exists and `replace` is false; kInvalidArgument
// for a name that is none.
Status PutTag(const Location& root, std::string_view name, const Tag& tag,
              bool replace);
Status RemoveTag(const Location& root, std::string_view name);

// Where a branch's own files lie: `root` itself for the main line.
Location BranchRoot(const Location& root, std::string_view branch);

struct ResolvedVersion {
  Location root;  // the folder whose `_versions` has it
  std::string branch;
  ManifestName name;
};
// What `spec` means: empty or "latest", "v12" or "12", a tag, a branch,
// "branch:12". kNotFound names what there is.
Result<ResolvedVersion> ResolveVersion(const Location& root,
                                       std::string_view spec);

}  // namespace rowfs
#endif  // ROWFS_STORAGE_LANCE_VERSIONS_H_
