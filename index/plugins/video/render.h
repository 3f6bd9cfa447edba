// A decoded frame as a picture file: upright, in RGB by the colour the stream
// says, encoded.
//
// Keeps scaler tables between calls; one thread at a time.
#ifndef ROWFS_INDEX_PLUGINS_VIDEO_RENDER_H_
#define ROWFS_INDEX_PLUGINS_VIDEO_RENDER_H_

#include <cstdint>

#include "index/plugins/common/image_encoder.h"
#include "index/plugins/common/libav.h"
#include "index/plugins/common/status.h"
#include "index/plugins/video/media_index.h"
#include "index/plugins/video/orientation.h"

struct SwsContext;

namespace rowfs::plugin {

// The upright picture of frames of `shape`.
ImageShape UprightShape(const Stream& stream, const FrameShape& shape);

class Renderer {
 public:
  Renderer() = default;
  ~Renderer();
  Renderer(const Renderer&) = delete;
  Renderer& operator=(const Renderer&) = delete;

  // `frame` of `stream` as `format`. ROWFS_E_CORRUPT when it does not have the
  // shape that the index promised (and that its exact size was told by).
  Result<Bytes> Render(const AVFrame& frame, const Stream& stream,
                       const FrameShape& shape, ImageFormat format,
                       const ImageOptions& options);

 private:
  Result<Picture> ToRgb(const AVFrame& frame, const Stream& stream,
                        const ImageShape& shape);

  SwsContext* scaler_ = nullptr;
  Bytes planes_;  // room for one frame, kept between calls
};

}  // namespace rowfs::plugin
#endif  // ROWFS_INDEX_PLUGINS_VIDEO_RENDER_H_
