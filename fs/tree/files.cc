#include "fs/tree/files.h"

#include <algorithm>

namespace rowfs {

Result<size_t> TextFile::ReadAt(uint64_t offset, MutableByteSpan out) const {
  if (offset >= text_.size()) return size_t{0};
  const size_t size = std::min<uint64_t>(out.size(), text_.size() - offset);
  const ByteSpan part = AsBytes(text_).subspan(offset, size);
  std::copy(part.begin(), part.end(), out.begin());
  return size;
}

Result<size_t> BlobFile::ReadAt(uint64_t offset, MutableByteSpan out) const {
  if (offset >= blob_->size()) return size_t{0};
  const size_t size = std::min<uint64_t>(out.size(), blob_->size() - offset);
  ROWFS_RETURN_IF_ERROR(blob_->ReadAt(offset, out.first(size)));
  return size;
}

}  // namespace rowfs
