#include "index/convert/verify_pack.h"

#include <algorithm>
#include <unordered_map>

#include "index/convert/manifest.h"
#include "storage/pack/blob_key.h"
#include "storage/pack/posix_path.h"
#include "storage/pack/shard_check.h"

namespace rowfs {
namespace {

class Verification {
 public:
  Verification(std::string folder, const std::vector<std::string>& names,
               ThreadPool& pool,
               const std::function<void(const std::string&)>& problem)
      : folder_(std::move(folder)),
        names_(names),
        pool_(pool),
        problem_(problem) {}

  Result<PackVerdict> Run(const ConvertProgress& progress) {
    std::vector<Result<PackShard>> shards;
    for (const std::string& name : names_) {
      shards.push_back(OpenLocalShard(ChildPath(folder_, name)));
    }
    ROWFS_ASSIGN_OR_RETURN(const auto recorded, ReadManifest(folder_));
    if (recorded) ROWFS_RETURN_IF_ERROR(CheckManifest(*recorded, shards));
    for (size_t i = 0; i < shards.size(); ++i) {
      if (!shards[i].ok()) {
        Tell(names_[i],
             "unreadable (" + std::string(shards[i].status().message()) + ")");
      } else {
        CheckShard(shards[i].value(), i);
      }
      if (progress) progress(i + 1, shards.size());
    }
    verdict_.shards = shards.size();
    return verdict_;
  }

 private:
  void Tell(const std::string& shard, const std::string& what) {
    ++verdict_.problems;
    problem_(shard + ": " + what);
  }
  void Tell(const PackShard& shard, const std::string& key,
            const std::string& what) {
    ++verdict_.problems;
    problem_(shard.name + ":" + key + ": " + what);
  }

  Status CheckManifest(const std::map<std::string, Json>& recorded,
                       const std::vector<Result<PackShard>>& shards) {
    for (const auto& [name, entry] : recorded) {
      if (std::find(names_.begin(), names_.end(), name) == names_.end()) {
        Tell(name, "listed in manifest but missing");
      }
    }
    // Only shards whose size fits need their bytes read.
    std::vector<PackShard> to_hash;
    std::vector<const Json*> entries(names_.size(), nullptr);
    for (size_t i = 0; i < names_.size(); ++i) {
      const auto found = recorded.find(names_[i]);
      if (found == recorded.end()) {
        Tell(names_[i], "not listed in manifest");
      } else if (found->second.kind != Json::Kind::kNull) {
        entries[i] = &found->second;
      }
    }
    for (size_t i = 0; i < names_.size(); ++i) {
      if (entries[i] == nullptr) continue;
      ROWFS_RETURN_IF_ERROR(shards[i].status());
      if (SizeFits(*entries[i], shards[i].value())) {
        to_hash.push_back(shards[i].value());
      }
    }
    std::atomic<uint64_t> done = 0;
    ROWFS_ASSIGN_OR_RETURN(const auto digests,
                           HashShards(to_hash, pool_, &done));
    size_t hashed = 0;
    for (size_t i = 0; i < names_.size(); ++i) {
      if (entries[i] == nullptr) continue;
      const Json* size = entries[i]->Find("bytes");
      const Json* digest = entries[i]->Find("sha256");
      const bool fits = SizeFits(*entries[i], shards[i].value());
      if (size == nullptr || (fits && digest == nullptr)) {
        return {Code::kCorruption,
                ChildPath(folder_, kManifestName) + ": the entry of " +
                    names_[i] + " needs bytes and sha256; write it again"};
      }
      if (!fits || digest->kind != Json::Kind::kString ||
          digest->text != digests[hashed++]) {
        Tell(names_[i], "does not match manifest");
      }
    }
    return {};
  }

  static bool SizeFits(const Json& entry, const PackShard& shard) {
    const Json* size = entry.Find("bytes");
    return size != nullptr && size->kind == Json::Kind::kNumber &&
           size->AsUint() == shard.object.meta.size;
  }

  void CheckShard(const PackShard& shard, size_t index) {
    const auto read = ReadShardDirectory(shard.object);
    if (!read.ok()) {
      Tell(shard.name,
           "unreadable (" + std::string(read.status().message()) + ")");
      return;
    }
    const ShardDirectory& directory = read.value();
    for (const ShardMember& member : directory.members) {
      if (member.name.empty()) {
        // What Python says of the last character of nothing.
        Tell(shard.name, "unreadable (string index out of range)");
        return;
      }
      if (!member.IsDirectory()) CountMember(shard, member, index);
    }
    std::atomic<uint64_t> done = 0;
    const ShardVerdict verdict =
        CheckShardMembers(shard.object, directory, pool_, &done);
    if (verdict.kind == ShardVerdict::Kind::kBadMember) {
      Tell(shard, verdict.text, "CRC mismatch");
    } else if (verdict.kind == ShardVerdict::Kind::kUnreadable) {
      Tell(shard.name, "unreadable (" + verdict.text + ")");
    }
  }

  void CountMember(const PackShard& shard, const ShardMember& member,
                   size_t index) {
    if (member.method != kZipStored) Tell(shard, member.name, "not STORED");
    if ((member.flags & kZipEncrypted) != 0) {
      Tell(shard, member.name, "encrypted");
    }
    const auto [at, added] = seen_.emplace(HashKey(member.name), index);
    if (!added) {
      Tell(shard, member.name,
           "duplicate key (also in " + names_[at->second] + ")");
      at->second = index;
    }
    ++verdict_.blobs;
    verdict_.bytes += member.size;
  }

  const std::string folder_;
  const std::vector<std::string>& names_;
  ThreadPool& pool_;
  const std::function<void(const std::string&)>& problem_;
  std::unordered_map<KeyHash, size_t, HashOfKeyHash> seen_;
  PackVerdict verdict_;
};

}  // namespace

Result<PackVerdict> VerifyPack(
    const std::string& folder, const std::vector<std::string>& names,
    ThreadPool& pool, const std::function<void(const std::string&)>& problem,
    const ConvertProgress& progress) {
  return Verification(folder, names, pool, problem).Run(progress);
}

}  // namespace rowfs
