// A decoded frame as a picture file: upright, in RGB by the colour the stream
// says, encoded.
//
// Keeps scaler tables between calls; one thread at a time.
#ifndef ROWFS_INDEX_PLUGINS_VIDEO_RENDER_H_
#define ROWFS_INDEX_PLUGINS_VIDEO_RENDER_H_

#include <cstdint>
#include <vector>

#include "index/plugins/common/image_encoder.h"
#include "index/plugins/common/libav.h"
#include "index/plugins/common/status.h"
#include "index/plugins/video/media_index.h"
#include "index/plugins/video/orientation.h"

struct SwsContext;

namespace rowfs::plugin {

// The upright picture of frames of `shape`.
ImageShape UprightShape(const Stream& stream, const FrameShape& shape);

struct RenderRequest {
  FramePtr frame;
  const Stream* stream = nullptr;
  FrameShape shape;  // as the index promised it
  ImageFormat format = ImageFormat::kJpg;
  ImageOptions options;

  // In how many parts the file is made, each by any renderer.
  uint32_t parts() const;
};

class Renderer {
 public:
  Renderer() = default;
  ~Renderer();
  Renderer(const Renderer&) = delete;
  Renderer& operator=(const Renderer&) = delete;

  // One part of the file. ROWFS_E_CORRUPT when the frame does not have the
  // shape that the index promised (and that its exact size was told by).
  Result<Bytes> RenderPart(const RenderRequest& request, uint32_t part);

 private:
  Result<Picture> ToRgb(const AVFrame& frame, const Stream& stream,
                        const ImageShape& shape);

  SwsContext* scaler_ = nullptr;
  Bytes planes_;  // room for one part, kept between calls
};

// The file of all parts.
Bytes JoinParts(const RenderRequest& request, std::vector<Bytes> parts);

}  // namespace rowfs::plugin
#endif  // ROWFS_INDEX_PLUGINS_VIDEO_RENDER_H_
