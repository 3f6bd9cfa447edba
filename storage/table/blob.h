// A blob cell as a table holds it: where the bytes are, and what a plugin wrote
// about them.
//
// Values; thread-safe to read.
#ifndef ROWFS_STORAGE_TABLE_BLOB_H_
#define ROWFS_STORAGE_TABLE_BLOB_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "storage/base/bytes.h"

namespace rowfs {

class ObjectReader;

// Lance discussion #8739: the nullable sixth field of a blob descriptor.
// `stream_info` and `entries` are opaque to everyone but the plugin that wrote
// them; `stream_info` starts with a head that suffices to list and stat.
struct BlobInfo {
  uint8_t blob_type = 0;  // 1 video, 2 audio, 3 image
  SharedBytes stream_info;
  SharedBytes entries;
  // Only a prefix of stream_info was read and `entries` is null: enough to list
  // views and tell sizes (BlobDetail::kHead).
  bool head_only = false;
};

// How a blob v2 cell is stored (facts: Lance blob kinds). kCell: bytes came
// with the cell itself (binary columns of any format).
enum class BlobKind : uint8_t {
  kInline = 0,
  kPacked = 1,
  kDedicated = 2,
  kExternal = 3,
  kManaged = 4,
  kManagedWithBase = 5,
  kCell = 255,
};

struct BlobCell {
  BlobKind kind = BlobKind::kCell;
  // Where the bytes are, as stored: a path inside the dataset ("data/x.lance",
  // "data/x/1000...blob"), or a URI for external blobs. Empty for kCell.
  std::string object;
  uint64_t offset = 0;
  // Absent: to the end of the object (external blobs of size 0).
  std::optional<uint64_t> size;
  SharedBytes bytes;  // kCell
  std::optional<BlobInfo> info;
  // The manifest's base path that `object` lies under; absent: this dataset.
  // 0 is a base like any other.
  std::optional<uint32_t> base_id;
};

// How much of a blob cell a read is to bring along.
enum class BlobDetail {
  kDescriptor,  // where and how long; `info` absent even if there is one
  kHead,        // + blob_type and the head of stream_info, never `entries`
  kFull,        // + stream_info and entries
};

// Bytes of stream_info that BlobDetail::kHead brings at least (or all, when it
// is shorter).
inline constexpr uint64_t kBlobInfoHeadBytes = 512;

// blob_info as bytes: `u8 blob_type | u32 size | stream_info | u32 size |
// entries`. The value of the sixth descriptor field in a data file, and of a
// cell of the index column COLUMN__blob_info in the column layout.
Bytes EncodeBlobInfo(const BlobInfo& info);
// kCorruption when the sizes do not add up to `bytes`.
Result<BlobInfo> DecodeBlobInfo(ByteSpan bytes);
// From a prefix of an encoded blob_info: head_only is set unless all is there.
// kCorruption when `prefix` is too short for blob_type and the first size.
Result<BlobInfo> DecodeBlobInfoHead(ByteSpan prefix);

}  // namespace rowfs
#endif  // ROWFS_STORAGE_TABLE_BLOB_H_
