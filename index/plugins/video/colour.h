// Which YUV a frame is in, and the quick way from it to the YUV of JPEG.
//
// Pure functions.
#ifndef ROWFS_INDEX_PLUGINS_VIDEO_COLOUR_H_
#define ROWFS_INDEX_PLUGINS_VIDEO_COLOUR_H_

#include "index/plugins/common/bytes.h"
#include "index/plugins/common/image_encoder.h"
#include "index/plugins/common/libav.h"
#include "index/plugins/video/media_index.h"

namespace rowfs::plugin {

struct YuvKind {
  int matrix = 5;     // AVCOL_SPC_, never unspecified
  bool full = false;  // range
};

// The frame's own colour, else the container's, else BT.709 above 576 lines or
// from 1280 columns on and BT.601 below; limited range unless told otherwise.
YuvKind YuvKindOf(const AVFrame& frame, const Stream& stream);

// Whether ToJpegPlanes takes it: 8-bit 4:2:0 planes.
bool HasJpegPlanes(const AVFrame& frame);
// Planes for EncodeJpegPlanes of `rows` of a frame, whose first is even.
// `storage` holds what they point to. Requires: HasJpegPlanes.
struct Rows {
  uint32_t first = 0;
  uint32_t count = 0;
};
JpegPlanes ToJpegPlanes(const AVFrame& frame, const YuvKind& kind,
                        const Rows& rows, Bytes* storage);

}  // namespace rowfs::plugin
#endif  // ROWFS_INDEX_PLUGINS_VIDEO_COLOUR_H_
