// The contents of open files that are no views: text in memory and stored
// blobs.
//
// Immutable, thread-safe.
#ifndef ROWFS_FS_TREE_FILES_H_
#define ROWFS_FS_TREE_FILES_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "index/dataset/blob.h"
#include "index/view/media.h"

namespace rowfs {

class TextFile final : public ViewFile {
 public:
  explicit TextFile(std::string text) : text_(std::move(text)) {}

  uint64_t size() const override { return text_.size(); }
  bool in_memory() const override { return true; }
  Result<size_t> ReadAt(uint64_t offset, MutableByteSpan out) const override;

 private:
  const std::string text_;
};

class BlobFile final : public ViewFile {
 public:
  explicit BlobFile(std::shared_ptr<const Blob> blob)
      : blob_(std::move(blob)) {}

  uint64_t size() const override { return blob_->size(); }
  bool in_memory() const override { return blob_->cell().bytes != nullptr; }
  Result<size_t> ReadAt(uint64_t offset, MutableByteSpan out) const override;

 private:
  const std::shared_ptr<const Blob> blob_;
};

}  // namespace rowfs
#endif  // ROWFS_FS_TREE_FILES_H_
