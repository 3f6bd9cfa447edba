// The TIFF tags this plugin uses, and directories as bytes of its index.
//
// Pure functions.
#ifndef ROWFS_INDEX_PLUGINS_IMAGE_TIFF_TAGS_H_
#define ROWFS_INDEX_PLUGINS_IMAGE_TIFF_TAGS_H_

#include <cstdint>

#include "index/plugins/image/tiff_directory.h"

namespace rowfs::plugin {

enum : uint16_t {
  kTagSubfileType = 254,
  kTagWidth = 256,
  kTagHeight = 257,
  kTagStripOffsets = 273,
  kTagOrientation = 274,
  kTagRowsPerStrip = 278,
  kTagStripSizes = 279,
  kTagColorMap = 320,
  kTagTileWidth = 322,
  kTagTileHeight = 323,
  kTagTileOffsets = 324,
  kTagTileSizes = 325,
  kTagSubIfds = 330,
  kTagLowest = 340,
  kTagHighest = 341,
  kTagJpegTables = 347,
  kTagIcc = 34675
};

// What decoding cells needs besides their size and place: sample layout,
// compression and its options, colors.
inline constexpr uint16_t kDecodeTags[] = {
    258, 259, 262, 266, 277, 284,   292,   293,   317,  318,
    319, 320, 321, 326, 332, 334,   338,   339,   340,  341,
    347, 529, 530, 531, 532, 33421, 33422, 34675, 50674};

Bytes EncodeTags(const TiffDirectory& directory);
// ROWFS_E_CORRUPT.
Result<TiffDirectory> DecodeTags(ByteSpan bytes);

// A BigTIFF file with one directory: `tags` and the cells of a picture of
// `width` x `height`, strips of `cell_height` rows when `cell_width` is 0.
struct TiffCells {
  uint32_t width = 0;
  uint32_t height = 0;
  uint32_t cell_width = 0;
  uint32_t cell_height = 0;
  std::vector<Bytes> cells;
};
Bytes BuildTiff(const TiffDirectory& tags, const TiffCells& cells);

}  // namespace rowfs::plugin
#endif  // ROWFS_INDEX_PLUGINS_IMAGE_TIFF_TAGS_H_
