#include "index/convert/pack_set.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <numeric>
#include <unordered_map>
#include <unordered_set>

#include "storage/object/local_store.h"
#include "storage/object/posix_file.h"
#include "storage/pack/blob_key.h"
#include "storage/pack/pack_writer.h"
#include "storage/pack/posix_path.h"

namespace rowfs {
namespace {

constexpr uint16_t kEncryptedFlags = kZipEncrypted | kZipStrongEncryption;

Status Corrupt(const PackShard& shard, const std::string& what) {
  return {Code::kCorruption, shard.path + ": " + what};
}

Status Corrupt(const PackShard& shard, const ShardMember& member,
               const std::string& what) {
  return Corrupt(shard, "member " + QuoteText(member.name) + " " + what);
}

uint64_t HeaderOffset(const ShardMember& member) {
  return static_cast<uint64_t>(member.header_offset);
}

// Where it ends at least: its local header may have an extra field besides.
uint64_t LeastEnd(const ShardMember& member) {
  const uint64_t head = HeaderOffset(member) + kLocalHeaderBytes +
                        EncodeMemberName(member.name, member.flags).size();
  return CheckedAdd(head, member.size).value_or(UINT64_MAX);
}

Status CheckMembers(const PackShard& shard, const ShardDirectory& directory) {
  std::unordered_set<std::string_view> names;
  std::unordered_set<int64_t> offsets;
  bool shared = false;
  bool inside = false;
  for (const ShardMember& member : directory.members) {
    if (member.header_offset < 0) {
      return Corrupt(shard, "negative member header offset");
    }
  }
  for (const ShardMember& member : directory.members) {
    if (!names.insert(member.name).second) {
      return Corrupt(shard, "duplicate member name " + QuoteText(member.name) +
                                " within one shard");
    }
    if ((member.flags & kEncryptedFlags) != 0) {
      return Status(
          Code::kUnsupported,
          shard.path + ": member " + QuoteText(member.name) + " is encrypted");
    }
    if (member.method != kZipStored) {
      return Status(Code::kUnsupported,
                    shard.path + ": member " + QuoteText(member.name) +
                        " is not STORED; blobpack requires uncompressed "
                        "members");
    }
    shared = shared || !offsets.insert(member.header_offset).second;
    inside = inside || HeaderOffset(member) >= directory.start;
  }
  if (shared) {
    return Corrupt(shard, "two members share a local header offset");
  }
  if (inside) {
    return Corrupt(shard,
                   "a member's local header lies inside the central directory");
  }
  return {};
}

bool LooksRemote(const std::string& location) {
  const size_t end = location.find("://");
  return end != location.npos && end > 1 &&
         std::all_of(location.begin(),
                     location.begin() + static_cast<std::ptrdiff_t>(end),
                     [](unsigned char c) { return std::isalnum(c) != 0; });
}

Result<std::vector<PackShard>> ListRemote(StoreRegistry& stores,
                                          const std::string& location) {
  ROWFS_ASSIGN_OR_RETURN(const Location folder, stores.Resolve(location));
  ROWFS_ASSIGN_OR_RETURN(const auto entries, folder.store->List(folder.path));
  std::vector<PackShard> shards;
  for (const ListEntry& entry : entries) {
    if (entry.is_directory || !entry.name.ends_with(".zip")) continue;
    PackShard shard;
    shard.name = entry.name;
    shard.object.location = folder.Join(entry.name);
    shard.path = shard.object.location.uri();
    ROWFS_ASSIGN_OR_RETURN(shard.object.meta,
                           folder.store->Stat(shard.object.location.path));
    shards.push_back(std::move(shard));
  }
  return shards;
}

}  // namespace

Result<PackShard> OpenLocalShard(const std::string& path) {
  const PosixFile file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct ::stat status = {};
  int error = file.is_open() ? 0 : errno;
  if (error == 0 && ::fstat(file.fd(), &status) != 0) error = errno;
  if (error == 0 && S_ISDIR(status.st_mode)) error = EISDIR;
  if (error != 0) {
    return Status(Code::kUnavailable, "[Errno " + std::to_string(error) + "] " +
                                          std::strerror(error) + ": " +
                                          QuoteText(path));
  }
  PackShard shard;
  shard.name = LastPart(path);
  shard.path = path;
  std::error_code ignored;
  shard.object.location = {std::make_shared<LocalStore>(),
                           std::filesystem::absolute(path, ignored).string()};
  ROWFS_ASSIGN_OR_RETURN(shard.object.meta, MetaOf(status, path));
  return shard;
}

Result<PackSet> PackSet::Open(StoreRegistry& stores,
                              const std::string& location) {
  PackSet set;
  if (LooksRemote(location)) {
    ROWFS_ASSIGN_OR_RETURN(set.shards_, ListRemote(stores, location));
  } else {
    const std::string folder = CleanPath(location);
    for (const std::string& name : ListZipNames(folder)) {
      ROWFS_ASSIGN_OR_RETURN(set.shards_.emplace_back(),
                             OpenLocalShard(ChildPath(folder, name)));
    }
  }
  if (set.shards_.empty()) {
    return Status(Code::kNotFound, "no *.zip shards under " + location);
  }
  return set;
}

Result<ShardDirectory> ReadPackDirectory(const PackShard& shard) {
  auto read = ReadShardDirectory(shard.object);
  if (!read.ok()) return read.status().With(shard.path);
  ShardDirectory directory = std::move(read).value();
  for (const ShardMember& member : directory.members) {
    if (member.name.empty()) return Corrupt(shard, "a member has no name");
  }
  std::erase_if(directory.members,
                [](const ShardMember& m) { return m.IsDirectory(); });
  ROWFS_RETURN_IF_ERROR(CheckMembers(shard, directory));
  return directory;
}

Result<uint64_t> PackSet::CheckDirectories() const {
  std::unordered_map<KeyHash, size_t, HashOfKeyHash> shard_of;
  for (size_t i = 0; i < shards_.size(); ++i) {
    ROWFS_ASSIGN_OR_RETURN(const ShardDirectory directory,
                           ReadPackDirectory(shards_[i]));
    for (const ShardMember& member : directory.members) {
      const auto [at, added] = shard_of.emplace(HashKey(member.name), i);
      if (added) continue;
      return Status(Code::kCorruption,
                    "duplicate key " + QuoteText(member.name) + " in " +
                        shards_[i].name + " and " + shards_[at->second].name);
    }
  }
  return static_cast<uint64_t>(shard_of.size());
}

std::vector<PackMember> LayOutMembers(const ShardDirectory& directory) {
  std::vector<size_t> order(directory.members.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return directory.members[a].header_offset <
           directory.members[b].header_offset;
  });
  std::vector<PackMember> members(order.size());
  for (size_t i = 0; i < order.size(); ++i) {
    PackMember& member = members[order[i]];
    member.member = &directory.members[order[i]];
    if (i > 0) member.begin_min = LeastEnd(directory.members[order[i - 1]]);
    member.end_max = i + 1 < order.size()
                         ? HeaderOffset(directory.members[order[i + 1]])
                         : directory.start;
  }
  return members;
}

Result<ByteRange> LocatePayload(const PackShard& shard,
                                const PackMember& room) {
  const ShardMember& member = *room.member;
  const uint64_t at = HeaderOffset(member);
  const std::string name = EncodeMemberName(member.name, member.flags);
  ROWFS_ASSIGN_OR_RETURN(
      const Bytes header,
      shard.object.ReadUpTo(at, kLocalHeaderBytes + name.size()));
  if (header.size() < kLocalHeaderBytes ||
      LoadU32(header) != kLocalHeaderMagic) {
    return Corrupt(shard, "bad local header for " + QuoteText(member.name));
  }
  const ByteSpan span(header);
  const uint16_t flags = LoadU16(span.subspan(6));
  const uint64_t name_size = LoadU16(span.subspan(26));
  if (name_size != name.size()) {
    return Corrupt(shard, "local header name length for " +
                              QuoteText(member.name) +
                              " disagrees with the central directory");
  }
  if (((member.flags | flags) & kEncryptedFlags) != 0) {
    return Status(
        Code::kUnsupported,
        shard.path + ": member " + QuoteText(member.name) + " is encrypted");
  }
  if (LoadU16(span.subspan(8)) != kZipStored) {
    return Corrupt(shard, "local header of " + QuoteText(member.name) +
                              " disagrees with the central directory on "
                              "compression method");
  }
  if (AsText(span.subspan(kLocalHeaderBytes)) !=
      EncodeMemberName(member.name, flags)) {
    return Corrupt(shard, "local header name mismatch at offset " +
                              std::to_string(at) + " (expected " +
                              QuoteText(member.name) + ")");
  }
  const uint64_t begin =
      at + kLocalHeaderBytes + name_size + LoadU16(span.subspan(28));
  const auto end = CheckedAdd(begin, member.size);
  if (!end || *end > room.end_max) {
    return Corrupt(shard, member,
                   "overlaps the next member or the central directory");
  }
  if (at < room.begin_min) {
    return Corrupt(shard, member, "overlaps the previous member");
  }
  return ByteRange{begin, *end};
}

}  // namespace rowfs
