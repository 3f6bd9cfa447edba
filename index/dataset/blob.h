// One open blob: its bytes by offset, wherever they are.
//
// Thread-safe, immutable.
#ifndef ROWFS_INDEX_DATASET_BLOB_H_
#define ROWFS_INDEX_DATASET_BLOB_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "storage/table/table_source.h"

namespace rowfs {

class Blob {
 public:
  Blob(BlobCell cell, BlobSource source)
      : cell_(std::move(cell)), source_(std::move(source)) {}

  uint64_t size() const;
  // Read exactly out.size() bytes. kOutOfRange past the end; else the errors of
  // ObjectReader::ReadAt. One request at most, of exactly these bytes.
  Status ReadAt(uint64_t offset, MutableByteSpan out) const;
  // Several ranges in one plan, sent in parallel.
  Result<std::vector<Bytes>> ReadMany(std::span<const ByteRange> ranges) const;

  const BlobCell& cell() const { return cell_; }
  // Where the bytes are, for programs that want to read them themselves: URI of
  // the object (empty when the bytes came with the cell), offset in it, etag.
  std::string uri() const;
  uint64_t offset() const { return source_.range.begin; }
  std::string etag() const;

 private:
  const BlobCell cell_;
  const BlobSource source_;
};

// Extension without dot and media type from the first bytes of a file
// ("mp4", "video/mp4"); {"bin", "application/octet-stream"} when unknown.
struct FileType {
  std::string_view extension;
  std::string_view media_type;
};
FileType DetectFileType(ByteSpan head);
// From a media type ("image/png"); absent when it says nothing.
std::optional<FileType> FileTypeOf(std::string_view media_type);
// Bytes of the head that DetectFileType looks at.
inline constexpr uint64_t kFileTypeHeadBytes = 4096;

}  // namespace rowfs
#endif  // ROWFS_INDEX_DATASET_BLOB_H_
