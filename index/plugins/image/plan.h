// From a virtual file to byte ranges, and from their bytes to the file.
//
// Pure functions.
#ifndef ROWFS_INDEX_PLUGINS_IMAGE_PLAN_H_
#define ROWFS_INDEX_PLUGINS_IMAGE_PLAN_H_

#include <cstdint>
#include <span>
#include <vector>

#include "index/abi/rowfs_plugin.h"
#include "index/plugins/image/composer.h"
#include "index/plugins/image/image_index.h"
#include "index/plugins/image/views.h"

namespace rowfs::plugin {

// Pieces as ranges: sorted, disjoint. One range over all of them when what lies
// between is no more than a request is worth.
std::vector<rowfs_range> CoverPieces(std::vector<BlobPiece> pieces);

// What a picture, frame or decoded tile needs of the blob.
std::vector<rowfs_range> RangesOf(const ImageIndex& index,
                                  const ImageItem& item);

struct PictureSize {
  uint64_t bytes = 1;
  bool exact = false;
};
// Of a picture, frame or decoded tile.
PictureSize SizeOf(const ImageIndex& index, const ImageItem& item,
                   const ImageOptions& options);

// Ranges with their bytes.
class ReadRanges {
 public:
  ReadRanges(std::vector<rowfs_range> ranges,
             std::span<const rowfs_bytes> bytes)
      : ranges_(std::move(ranges)), bytes_(bytes) {}
  // ROWFS_E_INVALID when they are not among what was read.
  Result<ByteSpan> Find(const BlobPiece& piece) const;

 private:
  const std::vector<rowfs_range> ranges_;
  const std::span<const rowfs_bytes> bytes_;
};

// A picture or decoded tile, as the file it is asked for. `composer` serves
// pages that are frames of an animation.
Result<Bytes> MakePicture(const ImageIndex& index, const ImageItem& item,
                          const ImageOptions& options, const ReadRanges& read,
                          Composer* composer);

}  // namespace rowfs::plugin
#endif  // ROWFS_INDEX_PLUGINS_IMAGE_PLAN_H_
