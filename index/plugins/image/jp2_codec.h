// JPEG 2000 pictures and codestreams by OpenJPEG.
//
// Functions without state.
#ifndef ROWFS_INDEX_PLUGINS_IMAGE_JP2_CODEC_H_
#define ROWFS_INDEX_PLUGINS_IMAGE_JP2_CODEC_H_

#include <cstdint>

#include "index/plugins/common/picture.h"

namespace rowfs::plugin {

// kRaw: numbers as they are coded, not spread over the full range.
enum class Jp2Colors : uint8_t { kAsStored, kYcc, kRaw };

// A JP2 file or a bare codestream as `channels` samples of `type` (8 or 16
// bits; but for kRaw the full range is used whatever the depth).
// ROWFS_E_CORRUPT.
Result<Raster> DecodeJp2(ByteSpan bytes, uint32_t channels, SampleType type,
                         Jp2Colors colors);

}  // namespace rowfs::plugin
#endif  // ROWFS_INDEX_PLUGINS_IMAGE_JP2_CODEC_H_
