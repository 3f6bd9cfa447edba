// The directory of a shard, read exactly as CPython's zipfile reads it (3.11:
// which end record counts, what a prefix or zip64 record does to offsets, how
// names decode, what it refuses and in which words), because the blobpack tool
// is defined by it. Ordinary reading of zip files is pack_reader's.
//
// Pure functions over a reader; thread-safe.
#ifndef ROWFS_STORAGE_PACK_SHARD_DIRECTORY_H_
#define ROWFS_STORAGE_PACK_SHARD_DIRECTORY_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "storage/base/bytes.h"
#include "storage/object/object_store.h"

namespace rowfs {

inline constexpr uint16_t kZipEncrypted = 0x1;
inline constexpr uint16_t kZipPatched = 0x20;
inline constexpr uint16_t kZipStrongEncryption = 0x40;
inline constexpr uint16_t kZipUtf8 = 0x800;
inline constexpr uint16_t kZipStored = 0;
inline constexpr uint16_t kZipDeflated = 8;
inline constexpr uint16_t kZipBzip2 = 12;
inline constexpr uint16_t kZipLzma = 14;
inline constexpr uint64_t kLocalHeaderBytes = 30;
inline constexpr uint32_t kLocalHeaderMagic = 0x04034b50;

// A shard and its size when it was opened.
struct ShardObject {
  Location location;
  ObjectMeta meta;

  // Up to `size` bytes from `offset`; fewer at the end of the object. Costs one
  // request.
  Result<Bytes> ReadUpTo(uint64_t offset, uint64_t size) const;
};

struct ShardMember {
  std::string name;  // UTF-8, cut at its first NUL
  // The whole name, where a NUL cut it.
  std::optional<std::string> uncut_name;
  uint16_t flags = 0;
  uint16_t method = 0;
  uint32_t crc = 0;
  uint64_t packed_size = 0;
  uint64_t size = 0;
  // May be negative, or past the end, in a forged shard.
  int64_t header_offset = 0;

  bool IsDirectory() const { return name.ends_with('/'); }
};

struct ShardDirectory {
  std::vector<ShardMember> members;  // in the order of the directory
  uint64_t start = 0;                // where it begins in the object
};

// Costs the tail (64 KiB of it) and the directory: one or two requests. The
// message of an error is what zipfile would raise: kCorruption "File is not a
// zip file", kUnsupported "zip file version 9.9"; kResourceExhausted for a
// directory above 1 GiB.
Result<ShardDirectory> ReadShardDirectory(const ShardObject& shard);

// The bytes a member named `name` has in a header with `flags`.
std::string EncodeMemberName(std::string_view name, uint16_t flags);
// `bytes` as a name: UTF-8 where `flags` say so, else code page 437.
// kCorruption in the words of Python for bytes that are not UTF-8.
Result<std::string> DecodeMemberName(std::string_view bytes, uint16_t flags);

}  // namespace rowfs
#endif  // ROWFS_STORAGE_PACK_SHARD_DIRECTORY_H_
