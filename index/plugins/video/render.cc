#include "index/plugins/video/render.h"

extern "C" {
#include <libavutil/imgutils.h>
#include <libavutil/pixdesc.h>
#include <libswscale/swscale.h>
}

#include <algorithm>
#include <array>
#include <cstring>

#include "index/plugins/video/colour.h"
#include "index/plugins/video/describe.h"

namespace rowfs::plugin {
namespace {

// The same bits with and without SIMD (media facts, 6.1).
constexpr int kScalerFlags =
    SWS_BICUBIC | SWS_ACCURATE_RND | SWS_FULL_CHR_H_INT | SWS_BITEXACT;

AVPixelFormat RgbFormat(const ImageShape& shape) {
  if (shape.deep) {
    return shape.alpha ? AV_PIX_FMT_RGBA64LE : AV_PIX_FMT_RGB48LE;
  }
  return shape.alpha ? AV_PIX_FMT_RGBA : AV_PIX_FMT_RGB24;
}

// Pixels in rows that lie `stride` bytes apart.
struct Plane {
  const uint8_t* pixels = nullptr;
  size_t stride = 0;
  uint32_t width = 0;
  uint32_t height = 0;
};

// Move pixels of N bytes to where they are upright.
template <size_t N>
void Turn(const Plane& from, const Orientation& o, uint8_t* out,
          size_t out_stride) {
  const uint32_t out_width = o.swap ? from.height : from.width;
  const uint32_t out_height = o.swap ? from.width : from.height;
  for (uint32_t oy = 0; oy < out_height; ++oy, out += out_stride) {
    const uint32_t v = o.flip_y ? out_height - 1 - oy : oy;
    uint8_t* to = out;
    for (uint32_t ox = 0; ox < out_width; ++ox, to += N) {
      const uint32_t u = o.flip_x ? out_width - 1 - ox : ox;
      const size_t x = o.swap ? v : u;
      const size_t y = o.swap ? u : v;
      std::memcpy(to, from.pixels + y * from.stride + x * N, N);
    }
  }
}

void TurnPixels(size_t bytes, const Plane& from, const Orientation& o,
                uint8_t* out, size_t out_stride) {
  switch (bytes) {
    case 1:
      return Turn<1>(from, o, out, out_stride);
    case 2:
      return Turn<2>(from, o, out, out_stride);
    case 3:
      return Turn<3>(from, o, out, out_stride);
    case 4:
      return Turn<4>(from, o, out, out_stride);
    case 6:
      return Turn<6>(from, o, out, out_stride);
    default:
      return Turn<8>(from, o, out, out_stride);
  }
}

Picture Upright(Picture picture, const Orientation& o) {
  Picture out;
  out.shape = picture.shape;
  if (o.swap) std::swap(out.shape.width, out.shape.height);
  out.samples.resize(picture.samples.size());
  const size_t pixel =
      picture.shape.channels() * (picture.shape.deep ? size_t{2} : size_t{1});
  TurnPixels(pixel,
             {picture.samples.data(), picture.shape.width * pixel,
              picture.shape.width, picture.shape.height},
             o, out.samples.data(), out.shape.width * pixel);
  return out;
}

// The planes turned each by itself, before the chroma is interpolated, as
// libavfilter turns them and ffmpeg shows them. Null for pixels that cannot be
// turned so: those whose chroma is halved along one side alone, and packed YUV.
FramePtr UprightFrame(const AVFrame& frame, const Orientation& o) {
  const auto format = static_cast<AVPixelFormat>(frame.format);
  const AVPixFmtDescriptor* desc = av_pix_fmt_desc_get(format);
  constexpr uint64_t kOther =
      AV_PIX_FMT_FLAG_PAL | AV_PIX_FMT_FLAG_HWACCEL | AV_PIX_FMT_FLAG_BITSTREAM;
  const bool packed_yuv =
      (desc->flags & (AV_PIX_FMT_FLAG_PLANAR | AV_PIX_FMT_FLAG_RGB)) == 0 &&
      desc->nb_components > 2;
  if ((desc->flags & kOther) != 0 || packed_yuv ||
      (o.swap && desc->log2_chroma_w != desc->log2_chroma_h)) {
    return nullptr;
  }
  FramePtr out = NewFrame();
  out->format = frame.format;
  out->width = o.swap ? frame.height : frame.width;
  out->height = o.swap ? frame.width : frame.height;
  if (av_frame_get_buffer(out.get(), 0) < 0 ||
      av_frame_copy_props(out.get(), &frame) < 0) {
    throw std::bad_alloc();
  }
  std::array<int, 4> steps{};
  av_image_fill_max_pixsteps(steps.data(), nullptr, desc);
  for (size_t p = 0; p < steps.size() && frame.data[p] != nullptr; ++p) {
    const bool chroma = p == 1 || p == 2;
    const int w =
        chroma ? AV_CEIL_RSHIFT(frame.width, desc->log2_chroma_w) : frame.width;
    const int h = chroma ? AV_CEIL_RSHIFT(frame.height, desc->log2_chroma_h)
                         : frame.height;
    TurnPixels(static_cast<size_t>(steps[p]),
               {frame.data[p], static_cast<size_t>(frame.linesize[p]),
                static_cast<uint32_t>(w), static_cast<uint32_t>(h)},
               o, out->data[p], static_cast<size_t>(out->linesize[p]));
  }
  return out;
}

// swscale has names of its own for the full-range formats; the range is told
// apart from the format here.
AVPixelFormat WithoutRange(int format) {
  switch (format) {
    case AV_PIX_FMT_YUVJ420P:
      return AV_PIX_FMT_YUV420P;
    case AV_PIX_FMT_YUVJ422P:
      return AV_PIX_FMT_YUV422P;
    case AV_PIX_FMT_YUVJ444P:
      return AV_PIX_FMT_YUV444P;
    case AV_PIX_FMT_YUVJ440P:
      return AV_PIX_FMT_YUV440P;
    default:
      return static_cast<AVPixelFormat>(format);
  }
}

// The rows of one part of a JPEG that needs no way through RGB; none for other
// files, which are made in one.
Rows RowsOfPart(const RenderRequest& request, uint32_t part) {
  const AVFrame& frame = *request.frame;
  if (request.format != ImageFormat::kJpg || !HasJpegPlanes(frame) ||
      !OrientationOf(request.stream->matrix).identity()) {
    return {};
  }
  const auto height = static_cast<uint32_t>(frame.height);
  const uint32_t rows =
      JpegBandRows(static_cast<uint32_t>(frame.width), height);
  const uint32_t first = part * rows;
  return {first, std::min(rows, height - first)};
}

}  // namespace

ImageShape UprightShape(const Stream& stream, const FrameShape& shape) {
  ImageShape s;
  s.width = shape.width;
  s.height = shape.height;
  s.deep = shape.bit_depth > 8;
  s.alpha = shape.has_alpha;
  if (OrientationOf(stream.matrix).swap) std::swap(s.width, s.height);
  return s;
}

Renderer::~Renderer() { sws_freeContext(scaler_); }

Result<Picture> Renderer::ToRgb(const AVFrame& frame, const Stream& stream,
                                const ImageShape& shape) {
  const AVPixelFormat to = RgbFormat(shape);
  scaler_ = sws_getCachedContext(
      scaler_, frame.width, frame.height, WithoutRange(frame.format),
      frame.width, frame.height, to, kScalerFlags, nullptr, nullptr, nullptr);
  if (scaler_ == nullptr) {
    return Unsupported("frames of this pixel format cannot be made RGB");
  }
  const YuvKind kind = YuvKindOf(frame, stream);
  const int* from_yuv = sws_getCoefficients(kind.matrix);
  sws_setColorspaceDetails(scaler_, from_yuv, kind.full ? 1 : 0,
                           sws_getCoefficients(SWS_CS_DEFAULT), 1, 0, 1 << 16,
                           1 << 16);
  Picture picture;
  picture.shape = shape;
  picture.shape.width = static_cast<uint32_t>(frame.width);
  picture.shape.height = static_cast<uint32_t>(frame.height);
  const size_t stride =
      size_t{picture.shape.width} * shape.channels() * (shape.deep ? 2 : 1);
  // swscale writes whole vectors: it needs room behind each row, so it gets a
  // frame of libav's own alignment.
  FramePtr rgb = NewFrame();
  rgb->format = to;
  rgb->width = frame.width;
  rgb->height = frame.height;
  if (av_frame_get_buffer(rgb.get(), 0) < 0) throw std::bad_alloc();
  if (sws_scale(scaler_, frame.data, frame.linesize, 0, frame.height, rgb->data,
                rgb->linesize) != frame.height) {
    return Internal("the conversion to RGB failed");
  }
  picture.samples.resize(stride * picture.shape.height);
  for (int y = 0; y < frame.height; ++y) {
    std::memcpy(picture.samples.data() + static_cast<size_t>(y) * stride,
                rgb->data[0] + ptrdiff_t{y} * rgb->linesize[0], stride);
  }
  return picture;
}

uint32_t RenderRequest::parts() const {
  const Rows band = RowsOfPart(*this, 0);
  if (band.count == 0) return 1;
  return (static_cast<uint32_t>(frame->height) + band.count - 1) / band.count;
}

Result<Bytes> Renderer::RenderPart(const RenderRequest& request,
                                   uint32_t part) {
  const AVFrame& frame = *request.frame;
  const FrameShape& shape = request.shape;
  const FrameShape real = ShapeOfFrame(frame);
  if (real.width != shape.width || real.height != shape.height) {
    return Corrupt("the frame is " + std::to_string(real.width) + "x" +
                   std::to_string(real.height) + ", the index says " +
                   std::to_string(shape.width) + "x" +
                   std::to_string(shape.height));
  }
  const Rows rows = RowsOfPart(request, part);
  if (rows.count != 0) {
    const JpegPlanes planes =
        ToJpegPlanes(frame, YuvKindOf(frame, *request.stream), rows, &planes_);
    return rows.count < real.height
               ? EncodeJpegBand(planes, request.options.quality)
               : EncodeJpegPlanes(planes, request.options.quality);
  }
  const ImageShape wanted = ShapeFor(
      request.format, UprightShape(*request.stream, shape), request.options);
  const Orientation turn = OrientationOf(request.stream->matrix);
  const FramePtr turned = turn.identity() ? nullptr : UprightFrame(frame, turn);
  PLUGIN_ASSIGN_OR_RETURN(Picture picture, ToRgb(turned ? *turned : frame,
                                                 *request.stream, wanted));
  if (!turned && !turn.identity()) picture = Upright(std::move(picture), turn);
  return EncodeImage(picture, request.format, request.options);
}

Bytes JoinParts(const RenderRequest& request, std::vector<Bytes> parts) {
  if (parts.size() == 1) return std::move(parts[0]);
  return JoinJpegBands(parts, request.shape.height);
}

}  // namespace rowfs::plugin
