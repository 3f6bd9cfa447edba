// A blob pack as the blobpack tool reads it: a folder of "*.zip" shards, local
// or remote, whose directories are checked before anything is told of them.
//
// One thread.
#ifndef ROWFS_INDEX_CONVERT_PACK_SET_H_
#define ROWFS_INDEX_CONVERT_PACK_SET_H_

#include <string>
#include <string_view>
#include <vector>

#include "storage/object/open_store.h"
#include "storage/pack/shard_directory.h"

namespace rowfs {

struct PackShard {
  std::string name;  // "pack-0000.zip"
  std::string path;  // as messages show it
  ShardObject object;
};

// The shard at local `path`; the error is what Python says of a file that
// cannot be opened: "[Errno 13] Permission denied: 'x.zip'".
Result<PackShard> OpenLocalShard(const std::string& path);

// A member and the bytes that are its own.
struct PackMember {
  const ShardMember* member = nullptr;
  // Where the previous member ends at least, and the next one or the directory
  // begins.
  uint64_t begin_min = 0;
  uint64_t end_max = 0;
};

class PackSet {
 public:
  // The shards below `location`, a path or URL, by name. kNotFound when there
  // are none. One listing, one metadata request a shard.
  static Result<PackSet> Open(StoreRegistry& stores,
                              const std::string& location);

  const std::vector<PackShard>& shards() const { return shards_; }

  // Read every directory: kCorruption or kUnsupported, naming the shard, for
  // anything but distinct keys and STORED, unencrypted members that lie inside
  // the shard. Returns the count of blobs. One or two requests a shard; 40
  // bytes of memory a blob.
  Result<uint64_t> CheckDirectories() const;

 private:
  std::vector<PackShard> shards_;
};

// The directory of `shard` without its folder entries, checked by itself.
Result<ShardDirectory> ReadPackDirectory(const PackShard& shard);

// The members in the order of the directory with the room that each has.
std::vector<PackMember> LayOutMembers(const ShardDirectory& directory);

// The payload of `member`: its local header agrees with the directory and it
// keeps to its room. kCorruption or kUnsupported otherwise. One request.
Result<ByteRange> LocatePayload(const PackShard& shard,
                                const PackMember& member);

}  // namespace rowfs
#endif  // ROWFS_INDEX_CONVERT_PACK_SET_H_
