// Pictures that libav decodes as one packet: BMP, PNM, JPEG-LS, lossless JPEG.
//
// Functions without state.
#ifndef ROWFS_INDEX_PLUGINS_IMAGE_AV_CODEC_H_
#define ROWFS_INDEX_PLUGINS_IMAGE_AV_CODEC_H_

#include "index/plugins/common/picture.h"

namespace rowfs::plugin {

// Opens codecs, so that their tables are there before files are closed off.
void WarmUpAv();

// By libav's codec name ("bmp", "ppm", "jpegls"), as `colors` channels of
// `type`, which is kU8 or kU16. ROWFS_E_CORRUPT, ROWFS_E_UNSUPPORTED.
Result<Raster> DecodeAv(const char* codec, ByteSpan bytes, uint8_t colors,
                        SampleType type);

}  // namespace rowfs::plugin
#endif  // ROWFS_INDEX_PLUGINS_IMAGE_AV_CODEC_H_
