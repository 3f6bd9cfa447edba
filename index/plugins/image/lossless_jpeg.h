// Lossless JPEG (ITU-T T.81 annex H, process 14), the usual coding of medical
// pictures: libav's decoder shifts samples of 9 to 15 bits and does not know
// the difference of 32768 that 16 bits need.
//
// A pure function.
#ifndef ROWFS_INDEX_PLUGINS_IMAGE_LOSSLESS_JPEG_H_
#define ROWFS_INDEX_PLUGINS_IMAGE_LOSSLESS_JPEG_H_

#include "index/plugins/common/bytes.h"
#include "index/plugins/common/picture.h"

namespace rowfs::plugin {

// Samples as they were coded, one component or three side by side, of `type`
// (kU8 or kU16). ROWFS_E_UNSUPPORTED for other processes and subsampling,
// ROWFS_E_CORRUPT for damage, ROWFS_E_LIMIT for too many pixels.
Result<Raster> DecodeLosslessJpeg(ByteSpan jpeg, SampleType type);

}  // namespace rowfs::plugin
#endif  // ROWFS_INDEX_PLUGINS_IMAGE_LOSSLESS_JPEG_H_
