#include "index/plugins/video/colour.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

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

// Loops over rows without a branch, so that compilers make vectors of them. The
// same integer arithmetic on every processor gives the same bits.
struct Loops {
  // What Cb and Cr add to the luma of two pixels each.
  static inline __attribute__((always_inline)) void SpreadChroma(
      const uint8_t* cb, const uint8_t* cr, uint32_t width, const Mapping& m,
      int32_t* out) {
    const int32_t bias = kHalf - m.y * m.black - 128 * (m.y_cb + m.y_cr);
    for (uint32_t x = 0; x < width / 2; ++x) {
      const int32_t c = cb[x] * m.y_cb + cr[x] * m.y_cr + bias;
      out[2 * x] = c;
      out[2 * x + 1] = c;
    }
    if (width % 2 != 0) {
      out[width - 1] = cb[width / 2] * m.y_cb + cr[width / 2] * m.y_cr + bias;
    }
  }

  static inline __attribute__((always_inline)) void MapLuma(
      const uint8_t* y, const int32_t* added, uint32_t width, int32_t by_y,
      uint8_t* out) {
    for (uint32_t x = 0; x < width; ++x) out[x] = Clip(y[x] * by_y + added[x]);
  }

  static inline __attribute__((always_inline)) void MapChroma(
      const uint8_t* cb, const uint8_t* cr, uint32_t width, int32_t by_cb,
      int32_t by_cr, uint8_t* out) {
    const int32_t bias = kHalf + (128 << 16) - 128 * (by_cb + by_cr);
    for (uint32_t x = 0; x < width; ++x) {
      out[x] = Clip(cb[x] * by_cb + cr[x] * by_cr + bias);
    }
  }
};

struct PlaneSizes {
  uint32_t width;
  uint32_t height;
  size_t stride;  // of the chroma planes half of it
};

// `added` has room for a row.
inline __attribute__((always_inline)) void MapFrame(
    const AVFrame& frame, const Mapping& m, const PlaneSizes& size,
    const std::array<uint8_t*, 3>& out, int32_t* added) {
  const auto row = [&](int plane, uint32_t at) {
    return frame.data[plane] + ptrdiff_t{at} * frame.linesize[plane];
  };
  const uint32_t half_width = (size.width + 1) / 2;
  const uint32_t half_height = (size.height + 1) / 2;
  const size_t half = size.stride / 2;
  for (uint32_t i = 0; i < half_height; ++i) {
    Loops::SpreadChroma(row(1, i), row(2, i), size.width, m, added);
    for (uint32_t y = 2 * i; y < std::min(2 * i + 2, size.height); ++y) {
      Loops::MapLuma(row(0, y), added, size.width, m.y,
                     out[0] + y * size.stride);
    }
    Loops::MapChroma(row(1, i), row(2, i), half_width, m.cb_cb, m.cb_cr,
                     out[1] + i * half);
    Loops::MapChroma(row(1, i), row(2, i), half_width, m.cr_cb, m.cr_cr,
                     out[2] + i * half);
  }
}

using MapFunction = void (*)(const AVFrame&, const Mapping&, const PlaneSizes&,
                             const std::array<uint8_t*, 3>&, int32_t*);

void MapAnywhere(const AVFrame& frame, const Mapping& m, const PlaneSizes& size,
                 const std::array<uint8_t*, 3>& out, int32_t* added) {
  MapFrame(frame, m, size, out, added);
}

#if defined(__x86_64__)
__attribute__((target("avx2"))) void MapWithAvx2(
    const AVFrame& frame, const Mapping& m, const PlaneSizes& size,
    const std::array<uint8_t*, 3>& out, int32_t* added) {
  MapFrame(frame, m, size, out, added);
}

MapFunction FastestMap() {
  return __builtin_cpu_supports("avx2") ? MapWithAvx2 : MapAnywhere;
}
#else
MapFunction FastestMap() { return MapAnywhere; }
#endif

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
  std::vector<int32_t> added(planes->width);
  FastestMap()(frame, m, {planes->width, planes->height, stride}, {y, cb, cr},
               added.data());
  const auto extend = [](uint8_t* out, size_t from, size_t to) {
    std::fill(out + from, out + to, out[from - 1]);
  };
  for (uint32_t i = 0; i < planes->height; ++i) {
    extend(y + i * stride, planes->width, stride);
  }
  for (uint32_t i = 0; i < half_height; ++i) {
    extend(cb + i * half, half_width, half);
    extend(cr + i * half, half_width, half);
  }
  return true;
}

}  // namespace rowfs::plugin
