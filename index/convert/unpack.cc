#include "index/convert/unpack.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <unordered_set>

#include "storage/base/hash.h"
#include "storage/object/posix_file.h"
#include "storage/pack/blob_key.h"
#include "storage/pack/posix_path.h"

namespace rowfs {
namespace {

namespace path = std::filesystem;

constexpr uint64_t kChunkBytes = 1 << 20;

// The files and folders that keys before this one need.
class KeyTree {
 public:
  void Add(std::string_view key) {
    files_.insert(HashKey(key));
    for (size_t at = key.find('/'); at != key.npos;
         at = key.find('/', at + 1)) {
      folders_.insert(HashKey(key.substr(0, at)));
    }
  }
  bool IsFolder(std::string_view key) const {
    return folders_.contains(HashKey(key));
  }
  bool IsBelowFile(std::string_view key) const {
    for (size_t at = key.find('/'); at != key.npos;
         at = key.find('/', at + 1)) {
      if (files_.contains(HashKey(key.substr(0, at)))) return true;
    }
    return false;
  }

 private:
  std::unordered_set<KeyHash, HashOfKeyHash> files_;
  std::unordered_set<KeyHash, HashOfKeyHash> folders_;
};

class Extraction {
 public:
  Extraction(const PackSet& set, std::string folder,
             const ConvertProgress& progress)
      : set_(set), folder_(std::move(folder)), progress_(progress) {}
  ~Extraction() {
    if (!done_) Undo();
  }
  Extraction(const Extraction&) = delete;
  Extraction& operator=(const Extraction&) = delete;

  Status Prepare() {
    ROWFS_RETURN_IF_ERROR(CheckPath(folder_));
    std::error_code error;
    const bool existed = path::exists(folder_, error);
    ROWFS_RETURN_IF_ERROR(CheckKeys());
    const int code = MakeFolder(folder_);
    if (code != 0) return ErrnoStatus(code, folder_, "make folder");
    root_ = path::canonical(folder_, error);
    if (error) return ErrnoStatus(error.value(), folder_, "open");
    return existed ? CheckContainment() : Status();
  }

  Result<UnpackSummary> Run() {
    for (const PackShard& shard : set_.shards()) {
      ROWFS_ASSIGN_OR_RETURN(const ShardDirectory directory,
                             ReadPackDirectory(shard));
      for (const PackMember& member : LayOutMembers(directory)) {
        ROWFS_RETURN_IF_ERROR(ExtractMember(shard, member));
      }
    }
    // One sync for all files: a million single ones would take hours.
    const PosixFile root(
        ::open(folder_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!root.is_open() || ::syncfs(root.fd()) != 0) {
      return ErrnoStatus(errno, folder_, "sync");
    }
    done_ = true;
    return summary_;
  }

 private:
  Status ForEachKey(
      const std::function<Status(const std::string&)>& visit) const {
    for (const PackShard& shard : set_.shards()) {
      ROWFS_ASSIGN_OR_RETURN(const ShardDirectory directory,
                             ReadPackDirectory(shard));
      for (const ShardMember& member : directory.members) {
        ROWFS_RETURN_IF_ERROR(visit(member.name));
      }
    }
    return {};
  }

  Status CheckKeys() {
    KeyTree tree;
    return ForEachKey([&](const std::string& key) -> Status {
      const Status status = CheckPathKey(key);
      if (!status.ok()) {
        return status.With("refusing to extract unsafe member");
      }
      if (tree.IsBelowFile(key)) return Collision(key);
      if (tree.IsFolder(key)) {
        return {Code::kInvalidArgument,
                QuoteText(key) + " is a folder of other members"};
      }
      tree.Add(key);
      ++total_;
      return {};
    });
  }

  static Status Collision(const std::string& key) {
    return {Code::kInvalidArgument,
            QuoteText(key) + " collides with an already-extracted file"};
  }

  // A folder that was there may hold links that lead out of it.
  Status CheckContainment() {
    return ForEachKey([&](const std::string& key) -> Status {
      std::error_code error;
      const path::path target = path::weakly_canonical(root_ / key, error);
      const auto [end, rest] = std::mismatch(root_.begin(), root_.end(),
                                             target.begin(), target.end());
      if (!error && end == root_.end()) return {};
      return {Code::kInvalidArgument,
              "member escapes destination: " + QuoteText(key)};
    });
  }

  // Makes it and its parents; returns 0 or an errno.
  int MakeFolder(const std::string& folder) {
    std::error_code error;
    std::vector<std::string> missing;
    for (std::string at = folder; !at.empty() && at != "/" && at != ".";
         at = path::path(at).parent_path().string()) {
      if (path::is_directory(at, error)) break;
      missing.push_back(at);
    }
    for (auto at = missing.rbegin(); at != missing.rend(); ++at) {
      if (::mkdir(at->c_str(), 0777) != 0) return errno;
      made_folders_.push_back(*at);
    }
    return 0;
  }

  Status ExtractMember(const PackShard& shard, const PackMember& member) {
    ROWFS_ASSIGN_OR_RETURN(const ByteRange payload,
                           LocatePayload(shard, member));
    const std::string& key = member.member->name;
    const std::string target = ChildPath(folder_, key);
    const std::string parent = path::path(target).parent_path().string();
    if (parent != last_parent_) {
      const int code = MakeFolder(parent);
      if (code == EEXIST || code == ENOTDIR) return Collision(key);
      if (code != 0) return ErrnoStatus(code, parent, "make folder");
      last_parent_ = parent;
    }
    if (::access(target.c_str(), F_OK) == 0) replaced_.insert(HashKey(key));
    ROWFS_RETURN_IF_ERROR(
        WriteFile(shard, payload, target, member.member->crc));
    ++summary_.blobs;
    if (progress_) progress_(summary_.blobs, total_);
    return {};
  }

  Status WriteFile(const PackShard& shard, ByteRange payload,
                   const std::string& target, uint32_t expected_crc) {
    ROWFS_ASSIGN_OR_RETURN(const std::string unique, UniqueName());
    const std::string temporary =
        path::path(target).parent_path() / (".rowfs-" + unique);
    PosixFile file(::open(temporary.c_str(),
                          O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
    if (!file.is_open()) return ErrnoStatus(errno, target, "create");
    uint32_t crc = 0;
    Status status;
    for (uint64_t at = payload.begin; status.ok() && at < payload.end;) {
      const auto bytes =
          shard.object.ReadUpTo(at, std::min(kChunkBytes, payload.end - at));
      status = bytes.status();
      if (!status.ok()) break;
      if (bytes.value().empty()) {
        status = Status(Code::kCorruption, shard.path + ": short read");
        break;
      }
      crc = Crc32(bytes.value(), crc);
      status = WriteAll(file, target, bytes.value());
      at += bytes.value().size();
    }
    if (status.ok() && ::rename(temporary.c_str(), target.c_str()) != 0) {
      status = ErrnoStatus(errno, target, "rename");
    }
    if (!status.ok()) ::unlink(temporary.c_str());
    if (status.ok() && crc != expected_crc) {
      summary_.mismatches.push_back(target);
    }
    return status;
  }

  // Takes away what this run made, in the order it was made.
  void Undo() {
    uint64_t left = summary_.blobs;
    const Status ignored = ForEachKey([&](const std::string& key) -> Status {
      if (left-- == 0) return {Code::kCancelled, "all are gone"};
      if (!replaced_.contains(HashKey(key))) {
        ::unlink(ChildPath(folder_, key).c_str());
      }
      return {};
    });
    static_cast<void>(ignored);
    for (auto at = made_folders_.rbegin(); at != made_folders_.rend(); ++at) {
      ::rmdir(at->c_str());
    }
  }

  const PackSet& set_;
  const std::string folder_;
  const ConvertProgress& progress_;
  path::path root_;
  uint64_t total_ = 0;
  std::string last_parent_;
  std::vector<std::string> made_folders_;
  std::unordered_set<KeyHash, HashOfKeyHash> replaced_;
  UnpackSummary summary_;
  bool done_ = false;
};

}  // namespace

Result<UnpackSummary> Unpack(const PackSet& set, const std::string& folder,
                             const ConvertProgress& progress) {
  Extraction extraction(set, folder, progress);
  ROWFS_RETURN_IF_ERROR(extraction.Prepare());
  return extraction.Run();
}

}  // namespace rowfs
