#include "index/plugins/video/colour.h"

#include <algorithm>
#include <cmath>

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

// Fixed-point coefficients, 16 fractional bits.
struct Mapping {
  int32_t y = 1 << 16;
  int32_t y_cb = 0, y_cr = 0;
  int32_t cb_cb = 1 << 16, cb_cr = 0;
  int32_t cr_cb = 0, cr_cr = 1 << 16;
  int32_t black = 0;
};

// From `kind` through RGB to full-range BT.601.
Mapping MappingOf(const YuvKind& kind) {
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
  Mapping m;
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

uint8_t Clip(int32_t fixed) {
  const int32_t v = fixed >> 16;
  return static_cast<uint8_t>(std::clamp(v, 0, 255));
}

constexpr int32_t kHalf = 1 << 15;

struct Rows {
  const uint8_t* y;
  const uint8_t* cb;
  const uint8_t* cr;
};

void MapLuma(const Rows& in, uint32_t width, const Mapping& m, uint8_t* out) {
  if (m.y_cb == 0 && m.y_cr == 0) {
    const int32_t bias = kHalf - m.y * m.black;
    for (uint32_t x = 0; x < width; ++x) out[x] = Clip(in.y[x] * m.y + bias);
    return;
  }
  const int32_t bias = kHalf - m.y * m.black - 128 * (m.y_cb + m.y_cr);
  uint32_t x = 0;
  for (; x + 1 < width; x += 2) {
    const int32_t c = in.cb[x / 2] * m.y_cb + in.cr[x / 2] * m.y_cr + bias;
    out[x] = Clip(in.y[x] * m.y + c);
    out[x + 1] = Clip(in.y[x + 1] * m.y + c);
  }
  if (x < width) {
    out[x] = Clip(in.y[x] * m.y + in.cb[x / 2] * m.y_cb +
                  in.cr[x / 2] * m.y_cr + bias);
  }
}

void MapChroma(const uint8_t* cb, const uint8_t* cr, uint32_t width,
               int32_t by_cb, int32_t by_cr, uint8_t* out) {
  const int32_t bias = kHalf + (128 << 16) - 128 * (by_cb + by_cr);
  for (uint32_t x = 0; x < width; ++x) {
    out[x] = Clip(cb[x] * by_cb + cr[x] * by_cr + bias);
  }
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

bool ToJpegPlanes(const AVFrame& frame, const YuvKind& kind, Bytes* storage,
                  JpegPlanes* planes) {
  if (frame.format != AV_PIX_FMT_YUV420P &&
      frame.format != AV_PIX_FMT_YUVJ420P) {
    return false;
  }
  planes->width = static_cast<uint32_t>(frame.width);
  planes->height = static_cast<uint32_t>(frame.height);
  const uint32_t half_width = (planes->width + 1) / 2;
  const uint32_t half_height = (planes->height + 1) / 2;
  // libjpeg reads whole blocks; so rows are as wide as its blocks.
  const size_t stride = (size_t{planes->width} + 31) / 32 * 32;
  const size_t half = stride / 2;
  storage->resize(stride * planes->height + 2 * half * half_height);
  uint8_t* y = storage->data();
  uint8_t* cb = y + stride * planes->height;
  uint8_t* cr = cb + half * half_height;
  planes->data = {y, cb, cr};
  planes->stride = {stride, half, half};
  const Mapping m = MappingOf(kind);
  const auto row = [&](int plane, uint32_t at) {
    return frame.data[plane] + ptrdiff_t{at} * frame.linesize[plane];
  };
  const auto extend = [](uint8_t* out, size_t from, size_t to) {
    std::fill(out + from, out + to, out[from - 1]);
  };
  for (uint32_t i = 0; i < planes->height; ++i) {
    uint8_t* out = y + i * stride;
    MapLuma({row(0, i), row(1, i / 2), row(2, i / 2)}, planes->width, m, out);
    extend(out, planes->width, stride);
  }
  for (uint32_t i = 0; i < half_height; ++i) {
    MapChroma(row(1, i), row(2, i), half_width, m.cb_cb, m.cb_cr,
              cb + i * half);
    MapChroma(row(1, i), row(2, i), half_width, m.cr_cb, m.cr_cr,
              cr + i * half);
    extend(cb + i * half, half_width, half);
    extend(cr + i * half, half_width, half);
  }
  return true;
}

}  // namespace rowfs::plugin
