#include "storage/lance/garbage.h"

#include <algorithm>
#include <set>

#include "storage/lance/deletions.h"
#include "storage/lance/manifest.h"
#include "storage/lance/versions.h"
#include "storage/object/unfinished_uploads.h"

namespace rowfs {
namespace {

constexpr std::string_view kDataSuffix = ".lance";
constexpr uint64_t kManifestBytesMax = uint64_t{1} << 30;
constexpr int64_t kNsPerMs = 1000000;

// Names that versions refer to, whichever folder of the dataset they are in:
// they are unique, and a branch may keep what it refers to in the main line.
struct References {
  std::set<std::string, std::less<>> data_files;
  std::set<std::string, std::less<>> deletions;
  std::set<std::string, std::less<>> transactions;
};

void AddReferences(const pb::Manifest& manifest, References* out) {
  if (!manifest.transaction_file().empty()) {
    out->transactions.insert(manifest.transaction_file());
  }
  for (const pb::DataFragment& fragment : manifest.fragments()) {
    for (const pb::DataFile& file : fragment.files()) {
      out->data_files.insert(file.path());
    }
    if (fragment.has_deletion_file()) {
      out->deletions.insert(
          DeletionFileName(fragment.id(), fragment.deletion_file()));
    }
  }
}

// Entries of a folder; none where there is no such folder.
Result<std::vector<ListEntry>> ListFolder(const Location& folder) {
  auto entries = folder.store->List(folder.path);
  if (entries.status().code() == Code::kNotFound) {
    return std::vector<ListEntry>();
  }
  return entries;
}

// What the store's own unfinished writes are called.
bool IsUnfinished(std::string_view name) {
  return name.starts_with(".rowfs-") && name.ends_with(".tmp");
}

// 32 binary digits and ".blob".
bool IsSidecar(std::string_view name) {
  return name.size() == 37 && name.ends_with(".blob") &&
         name.substr(0, 32).find_first_not_of("01") == std::string_view::npos;
}

bool IsDeletion(std::string_view name) {
  const bool known = name.ends_with(".arrow") || name.ends_with(".bin");
  const std::string_view stem = name.substr(0, name.rfind('.'));
  return known && std::count(stem.begin(), stem.end(), '-') == 2 &&
         stem.find_first_not_of("0123456789-") == std::string_view::npos;
}

class Collector {
 public:
  Collector(const Location& root, const GarbageOptions& options, Clock* clock)
      : root_(root),
        dry_run_(options.dry_run),
        newest_ns_(clock->NowNs() - options.grace_ms * kNsPerMs) {}

  Result<std::vector<Garbage>> Run();

 private:
  struct Candidate {
    std::string path;  // below root_
    std::string name;  // what a reference would say
    uint64_t size = 0;
    enum class Kind { kData, kDeletion, kTransaction, kUnfinished } kind;
  };

  Status FindCandidates(const std::string& line);
  Status FindData(const std::string& folder);
  Status FindIn(const std::string& folder, Candidate::Kind kind,
                bool (*is_known)(std::string_view));
  void Consider(const std::string& path, const ListEntry& entry,
                std::string name, Candidate::Kind kind);
  Status ReadReferences(const std::string& line);
  bool IsReferenced(const Candidate& candidate) const;

  const Location root_;
  const bool dry_run_;
  const int64_t newest_ns_;
  std::vector<Candidate> candidates_;
  References references_;
};

void Collector::Consider(const std::string& path, const ListEntry& entry,
                         std::string name, Candidate::Kind kind) {
  if (entry.is_directory) return;
  // A store that does not know when it was written cannot show it is old.
  if (entry.meta.mtime_ns == 0 || entry.meta.mtime_ns > newest_ns_) return;
  if (IsUnfinished(entry.name)) kind = Candidate::Kind::kUnfinished;
  candidates_.push_back({path, std::move(name), entry.meta.size, kind});
}

Status Collector::FindData(const std::string& folder) {
  ROWFS_ASSIGN_OR_RETURN(const auto entries, ListFolder(root_.Join(folder)));
  for (const ListEntry& entry : entries) {
    const std::string path = folder + "/" + entry.name;
    if (!entry.is_directory) {
      const bool known =
          entry.name.ends_with(kDataSuffix) || IsUnfinished(entry.name);
      if (known) Consider(path, entry, entry.name, Candidate::Kind::kData);
      continue;
    }
    // Sidecars live and die with the data file their folder is named after.
    ROWFS_ASSIGN_OR_RETURN(const auto sidecars, ListFolder(root_.Join(path)));
    for (const ListEntry& sidecar : sidecars) {
      if (!IsSidecar(sidecar.name) && !IsUnfinished(sidecar.name)) continue;
      Consider(path + "/" + sidecar.name, sidecar,
               entry.name + std::string(kDataSuffix), Candidate::Kind::kData);
    }
  }
  return {};
}

Status Collector::FindIn(const std::string& folder, Candidate::Kind kind,
                         bool (*is_known)(std::string_view)) {
  ROWFS_ASSIGN_OR_RETURN(const auto entries, ListFolder(root_.Join(folder)));
  for (const ListEntry& entry : entries) {
    if (!is_known(entry.name) && !IsUnfinished(entry.name)) continue;
    Consider(folder + "/" + entry.name, entry, entry.name, kind);
  }
  return {};
}

Status Collector::FindCandidates(const std::string& line) {
  ROWFS_RETURN_IF_ERROR(FindData(line + "data"));
  ROWFS_RETURN_IF_ERROR(
      FindIn(line + "_deletions", Candidate::Kind::kDeletion, IsDeletion));
  ROWFS_RETURN_IF_ERROR(
      FindIn(line + "_transactions", Candidate::Kind::kTransaction,
             [](std::string_view name) { return name.ends_with(".txn"); }));
  return FindIn(line + "_versions", Candidate::Kind::kUnfinished, IsUnfinished);
}

Status Collector::ReadReferences(const std::string& line) {
  const Location versions = root_.Join(line + "_versions");
  ROWFS_ASSIGN_OR_RETURN(const auto entries, ListFolder(versions));
  for (const ListEntry& entry : entries) {
    // Detached versions count: somebody may come back to them.
    if (entry.is_directory || !entry.name.ends_with(".manifest")) continue;
    const Location file = versions.Join(entry.name);
    ROWFS_ASSIGN_OR_RETURN(const Bytes bytes,
                           ReadWhole(file, kManifestBytesMax));
    ROWFS_ASSIGN_OR_RETURN(const Manifest manifest,
                           DecodeManifest(bytes, file.uri()));
    AddReferences(manifest.message, &references_);
  }
  return {};
}

bool Collector::IsReferenced(const Candidate& candidate) const {
  switch (candidate.kind) {
    case Candidate::Kind::kData:
      return references_.data_files.contains(candidate.name);
    case Candidate::Kind::kDeletion:
      return references_.deletions.contains(candidate.name);
    case Candidate::Kind::kTransaction:
      return references_.transactions.contains(candidate.name);
    case Candidate::Kind::kUnfinished:
      return false;
  }
  return true;
}

Result<std::vector<Garbage>> Collector::Run() {
  // Lines of history: the main one, then branches, each in its own folder.
  std::vector<std::string> lines = {""};
  ROWFS_ASSIGN_OR_RETURN(const auto branches, ListBranches(root_));
  for (const std::string& branch : branches) {
    lines.push_back("tree/" + branch + "/");
  }
  // Files before versions: what is committed in between is referred to.
  for (const std::string& line : lines) {
    ROWFS_RETURN_IF_ERROR(FindCandidates(line));
  }
  ROWFS_RETURN_IF_ERROR(ListVersions(root_).status());
  for (const std::string& line : lines) {
    ROWFS_RETURN_IF_ERROR(ReadReferences(line));
  }
  std::vector<Garbage> out;
  // An upload in parts that nobody finished would have become something new.
  ROWFS_ASSIGN_OR_RETURN(const auto uploads,
                         AbortUploads(root_, newest_ns_, dry_run_));
  for (const UnfinishedUploads::Upload& upload : uploads) {
    out.push_back({upload.path.substr(root_.path.size() + 1), 0});
  }
  for (const Candidate& candidate : candidates_) {
    if (IsReferenced(candidate)) continue;
    if (!dry_run_) {
      ROWFS_RETURN_IF_ERROR(
          root_.store->Remove(root_.Join(candidate.path).path));
    }
    out.push_back({candidate.path, candidate.size});
  }
  return out;
}

}  // namespace

Result<std::vector<Garbage>> CollectGarbage(const Location& root,
                                            const GarbageOptions& options) {
  RealClock real;
  Clock* clock = options.clock != nullptr ? options.clock : &real;
  return Collector(root, options, clock).Run();
}

}  // namespace rowfs
