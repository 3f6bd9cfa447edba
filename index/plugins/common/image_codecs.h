// The larger formats of image_encoder.h, one file each.
//
// No state.
#ifndef ROWFS_INDEX_PLUGINS_COMMON_IMAGE_CODECS_H_
#define ROWFS_INDEX_PLUGINS_COMMON_IMAGE_CODECS_H_

#include "index/plugins/common/image_encoder.h"

namespace rowfs::plugin {

// 8 bits, no alpha. ROWFS_E_UNSUPPORTED above 65500 pixels a side.
Result<Bytes> EncodeJpegRgb(const Picture& picture, int quality);
// Fast: compression level 1, the Sub filter.
Result<Bytes> EncodePng(const Picture& picture);
// Baseline TIFF, little-endian, one strip, not compressed.
Result<Bytes> EncodeTiff(const Picture& picture);
uint64_t TiffSize(const ImageShape& shape);
// 8 bits, no alpha. ROWFS_E_UNSUPPORTED above 16383 pixels a side.
Result<Bytes> EncodeWebp(const Picture& picture, int quality);

}  // namespace rowfs::plugin
#endif  // ROWFS_INDEX_PLUGINS_COMMON_IMAGE_CODECS_H_
