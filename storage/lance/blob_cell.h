// Blob descriptors as cells of a table: where the bytes of a blob lie and, in
// the six-field form, what a plugin wrote about it.
//
// Pure; thread-safe.
#ifndef ROWFS_STORAGE_LANCE_BLOB_CELL_H_
#define ROWFS_STORAGE_LANCE_BLOB_CELL_H_

#include <cstdint>
#include <string>

#include "storage/base/bytes.h"
#include "storage/base/status.h"
#include "storage/lance/encodings.pb.h"
#include "storage/table/blob.h"

namespace rowfs {

// Bytes of a descriptor before its URI: kind, position, size, blob id, and the
// URI's length.
inline constexpr uint64_t kDescriptorHeadBytes = 25;

// Where sidecar `id` of the data file "data/x.lance" is:
// "data/x/<32 binary digits>.blob".
std::string SidecarPath(const std::string& file_path, uint32_t id);

// A descriptor row's form, from its encoding: five fields, or six.
struct DescriptorForm {
  bool has_info = false;

  // kUnsupported, naming what differs, unless it is exactly the five fields of
  // widths 8, 64, 64, 32 and length 32, or these and a blob_info.
  static Result<DescriptorForm> Make(
      const lance::pb::CompressiveEncoding& encoding);
};

// Decode one row. `row` may be a prefix of the row's `row_size` bytes; what it
// lacks of blob_info is left out (detail kHead) - but for kFull it must be
// whole. `*missing` becomes how many more bytes of the prefix are needed, and
// the result is meaningless, when the URI or the head is cut.
// kCorruption for a row that contradicts itself, kUnsupported for an unknown
// kind.
Result<BlobCell> DecodeDescriptor(ByteSpan row, uint64_t row_size,
                                  DescriptorForm form, BlobDetail detail,
                                  const std::string& file_path,
                                  uint64_t* missing);

}  // namespace rowfs
#endif  // ROWFS_STORAGE_LANCE_BLOB_CELL_H_
