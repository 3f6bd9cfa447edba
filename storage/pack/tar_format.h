// The records of a tar file: ustar, old GNU and PAX (POSIX.1-2001) headers.
//
// Pure functions over bytes, thread-safe.
#ifndef ROWFS_STORAGE_PACK_TAR_FORMAT_H_
#define ROWFS_STORAGE_PACK_TAR_FORMAT_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "storage/base/bytes.h"

namespace rowfs {

inline constexpr uint64_t kTarBlock = 512;

// A piece of a sparse file that has bytes; the pieces follow one another in the
// shard.
struct SparsePiece {
  uint64_t offset = 0;  // in the content
  uint64_t size = 0;
};
using SparseMap = std::vector<SparsePiece>;

struct TarHeader {
  char type = '0';
  std::string name;
  std::string link;
  uint64_t size = 0;  // of what follows the header
  // Old GNU sparse files: the size of the content and the first pieces.
  uint64_t real_size = 0;
  SparseMap pieces;
  bool more_pieces = false;  // extension blocks follow
};

bool IsZeroBlock(ByteSpan block);
// kCorruption when the checksum or a number is wrong. Requires: 512 bytes, not
// all zero.
Result<TarHeader> ReadTarHeader(ByteSpan block);
// One extension block of an old GNU sparse header: appends its pieces; true
// when another one follows.
Result<bool> ReadSparseExtension(ByteSpan block, SparseMap* pieces);

// The records of a PAX header that matter, each with what it last said.
struct PaxRecords {
  std::optional<std::string> path;
  std::optional<std::string> link;
  std::optional<uint64_t> size;
  // GNU sparse 0.0, 0.1 and 1.0.
  std::optional<std::string> sparse_name;
  std::optional<uint64_t> sparse_size;
  uint64_t sparse_major = 0;
  SparseMap sparse_map;
  bool sparse = false;
};
// Add the records of `bytes` to `records`. kCorruption on anything that does
// not parse: a record that was skipped could have said where members lie.
Status ReadPax(ByteSpan bytes, PaxRecords* records);

// A sparse 1.0 map as it stands in front of the data: absent when `bytes` ends
// before the map does. `used`: its bytes, padding included.
Result<std::optional<SparseMap>> ReadSparseMap(ByteSpan bytes, uint64_t* used);

// kCorruption unless the pieces ascend, lie in a content of `size` bytes and
// take no more than `stored`.
Status CheckSparseMap(const SparseMap& map, uint64_t size, uint64_t stored);

}  // namespace rowfs
#endif  // ROWFS_STORAGE_PACK_TAR_FORMAT_H_
