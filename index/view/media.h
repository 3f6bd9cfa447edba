// A blob and its virtual files: resolve -> plan -> read -> decode, the read
// path of design section 4, independent of any file system.
//
// Thread-safe. Calls may wait for a disk, a network or a worker, except where
// said.
#ifndef ROWFS_INDEX_VIEW_MEDIA_H_
#define ROWFS_INDEX_VIEW_MEDIA_H_

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "index/dataset/dataset.h"
#include "index/runtime/plugin.h"

namespace rowfs {

// Times one read took, and what it asked of the store.
struct ViewTimes {
  int64_t plan_ns = 0;
  int64_t read_ns = 0;
  int64_t decode_ns = 0;
  std::vector<ByteRange> ranges;  // of the blob, one request each
};

// The content of one virtual file. Immutable.
class ViewFile {
 public:
  virtual ~ViewFile() = default;
  virtual uint64_t size() const = 0;
  // Up to out.size() bytes from `offset`; fewer only at the end. Rendered files
  // answer from memory, others read exactly what is asked of the blob.
  virtual Result<size_t> ReadAt(uint64_t offset, MutableByteSpan out) const = 0;
  // Whether ReadAt answers from memory; then it was rendered or is all literal.
  virtual bool in_memory() const = 0;
};

// What a media blob is to rowfs: the blob, its index and the plugin that reads
// it.
class Media {
 public:
  // The views of a blob with blob_info. kUnsupported when no plugin wrote such
  // an index, kInvalidArgument when the blob has none. No request beyond what
  // made `blob`; its cell carries blob_info in full, or the head alone, in
  // which case only List("") works and the rest is kOutOfRange.
  static Result<std::shared_ptr<Media>> Open(std::shared_ptr<const Blob> blob,
                                             PluginRegistry& plugins,
                                             std::string_view config);
  // The same with an index that came from elsewhere (the catalog).
  static std::shared_ptr<Media> Make(std::shared_ptr<const Blob> blob,
                                     Plugin& plugin, const BlobInfo& info,
                                     std::string_view config);

  Plugin& plugin() const { return plugin_; }
  const PluginIndex& index() const { return index_; }
  const Blob& blob() const { return *blob_; }

  Result<std::vector<ViewEntry>> List(std::string_view directory,
                                      uint64_t start, uint64_t limit) const;
  Result<ViewEntry> Lookup(std::string_view path) const;
  Result<std::vector<ViewEntry>> Select(std::string_view view,
                                        std::string_view from,
                                        std::string_view to) const;

  // The plan for several files, checked: what it reads lies inside the blob.
  // kInternal when the plugin contradicts itself. Reads nothing.
  Result<ViewPlan> Plan(std::span<const std::string> paths) const;

  // Make several files: one plan, the fewest ranges read in parallel, one
  // decode a group. One result per path. `times` may be null.
  std::vector<Result<std::shared_ptr<const ViewFile>>> OpenFiles(
      std::span<const std::string> paths, ViewTimes* times) const;

 private:
  Media(std::shared_ptr<const Blob> blob, Plugin& plugin, PluginIndex index)
      : blob_(std::move(blob)), plugin_(plugin), index_(std::move(index)) {}

  const std::shared_ptr<const Blob> blob_;
  Plugin& plugin_;
  const PluginIndex index_;
};

}  // namespace rowfs
#endif  // ROWFS_INDEX_VIEW_MEDIA_H_
