#include "index/plugins/video/colour.h"

#include <algorithm>
#include <cmath>

#include "index/plugins/video/yuv_map.h"

namespace rowfs::plugin {
namespace {

struct Luma {
  double kr;
  double kb;
};

// Weights of red and blue, ITU-T H.273 table 4.
Luma LumaOf(int matrix) {
  switch (matrix) {
    case AVCOL_SPC_BT709:
      return {0.2126, 0.0722};
    case AVCOL_SPC_FCC:
      return {0.30, 0.11};
    case AVCOL_SPC_SMPTE240M:
      return {0.212, 0.087};
    case AVCOL_SPC_BT2020_NCL:
    case AVCOL_SPC_BT2020_CL:
      return {0.2627, 0.0593};
    default:
      return {0.299, 0.114};
  }
}

// From `kind` through RGB to full-range BT.601.
YuvMapping MappingOf(const YuvKind& kind) {
  const Luma from = LumaOf(kind.matrix);
  const Luma to = LumaOf(AVCOL_SPC_BT470BG);
  const double y_scale = kind.full ? 1.0 : 255.0 / 219.0;
  const double c_scale = kind.full ? 1.0 : 255.0 / 224.0;
  const double kg = 1 - from.kr - from.kb;
  // R, G, B minus Y by one unit of Cb and of Cr.
  const double b_cb = 2 * (1 - from.kb);
  const double r_cr = 2 * (1 - from.kr);
  const double g_cb = -b_cb * from.kb / kg;
  const double g_cr = -r_cr * from.kr / kg;
  const double to_g = 1 - to.kr - to.kb;
  const double y_cb = to_g * g_cb + to.kb * b_cb;
  const double y_cr = to.kr * r_cr + to_g * g_cr;
  const auto fixed = [](double v) {
    return static_cast<int32_t>(std::lround(v * 65536));
  };
  YuvMapping m;
  m.black = kind.full ? 0 : 16;
  m.y = fixed(y_scale);
  m.y_cb = fixed(c_scale * y_cb);
  m.y_cr = fixed(c_scale * y_cr);
  m.cb_cb = fixed(c_scale * (b_cb - y_cb) / (2 * (1 - to.kb)));
  m.cb_cr = fixed(c_scale * -y_cr / (2 * (1 - to.kb)));
  m.cr_cb = fixed(c_scale * -y_cb / (2 * (1 - to.kr)));
  m.cr_cr = fixed(c_scale * (r_cr - y_cr) / (2 * (1 - to.kr)));
  return m;
}

}  // namespace

YuvKind YuvKindOf(const AVFrame& frame, const Stream& stream) {
  YuvKind kind;
  kind.matrix = frame.colorspace;
  if (kind.matrix == AVCOL_SPC_UNSPECIFIED ||
      kind.matrix == AVCOL_SPC_RESERVED) {
    kind.matrix = stream.colour.matrix;
  }
  if (kind.matrix == AVCOL_SPC_UNSPECIFIED ||
      kind.matrix == AVCOL_SPC_RESERVED || kind.matrix == AVCOL_SPC_RGB) {
    kind.matrix = frame.height > 576 || frame.width >= 1280 ? AVCOL_SPC_BT709
                                                            : AVCOL_SPC_BT470BG;
  }
  int range = frame.color_range;
  if (range == AVCOL_RANGE_UNSPECIFIED) range = stream.colour.range;
  kind.full = range == AVCOL_RANGE_JPEG;
  switch (frame.format) {
    case AV_PIX_FMT_YUVJ420P:
    case AV_PIX_FMT_YUVJ422P:
    case AV_PIX_FMT_YUVJ444P:
    case AV_PIX_FMT_YUVJ440P:
    case AV_PIX_FMT_YUVJ411P:
      kind.full = true;
      break;
    default:
      break;
  }
  return kind;
}

bool HasJpegPlanes(const AVFrame& frame) {
  return frame.format == AV_PIX_FMT_YUV420P ||
         frame.format == AV_PIX_FMT_YUVJ420P;
}

JpegPlanes ToJpegPlanes(const AVFrame& frame, const YuvKind& kind,
                        const Rows& rows, Bytes* storage) {
  JpegPlanes planes;
  planes.width = static_cast<uint32_t>(frame.width);
  planes.height = rows.count;
  const uint32_t half_width = (planes.width + 1) / 2;
  const uint32_t half_height = (planes.height + 1) / 2;
  // libjpeg reads whole blocks; so rows are as wide as its blocks.
  const size_t stride = (size_t{planes.width} + 31) / 32 * 32;
  const size_t half = stride / 2;
  storage->resize(stride * planes.height + 2 * half * half_height);
  uint8_t* y = storage->data();
  uint8_t* cb = y + stride * planes.height;
  uint8_t* cr = cb + half * half_height;
  planes.data = {y, cb, cr};
  planes.stride = {stride, half, half};
  YuvSource source;
  source.width = planes.width;
  source.height = planes.height;
  for (size_t i = 0; i < 3; ++i) {
    const uint32_t above = i == 0 ? rows.first : rows.first / 2;
    source.data[i] = frame.data[i] + ptrdiff_t{above} * frame.linesize[i];
    source.stride[i] = frame.linesize[i];
  }
  MapYuv(source, MappingOf(kind), {{y, cb, cr}, planes.stride});
  const auto extend = [](uint8_t* out, size_t from, size_t to) {
    std::fill(out + from, out + to, out[from - 1]);
  };
  for (uint32_t i = 0; i < planes.height; ++i) {
    extend(y + i * stride, planes.width, stride);
  }
  for (uint32_t i = 0; i < half_height; ++i) {
    extend(cb + i * half, half_width, half);
    extend(cr + i * half, half_width, half);
  }
  return planes;
}

}  // namespace rowfs::plugin
