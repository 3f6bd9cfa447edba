#include "index/plugins/common/picture.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>
#include <vector>

namespace rowfs::plugin {
namespace {

constexpr uint64_t kRasterBytesMax = uint64_t{1} << 30;

template <typename T>
T Load(const uint8_t* at) {
  T value;
  std::memcpy(&value, at, sizeof(T));
  return value;
}

template <typename T>
void Store(uint8_t* at, T value) {
  std::memcpy(at, &value, sizeof(T));
}

// Calls `body` with a value of the C++ type of `type`.
template <typename Body>
auto WithType(SampleType type, Body body) {
  switch (type) {
    case SampleType::kU8:
      return body(uint8_t{});
    case SampleType::kU16:
      return body(uint16_t{});
    case SampleType::kU32:
      return body(uint32_t{});
    case SampleType::kI8:
      return body(int8_t{});
    case SampleType::kI16:
      return body(int16_t{});
    case SampleType::kI32:
      return body(int32_t{});
    case SampleType::kF32:
      return body(float{});
    case SampleType::kF64:
      break;
  }
  return body(double{});
}

// One output position of a box filter: inputs [first, first + weights.size()).
struct Taps {
  uint32_t first = 0;
  std::vector<float> weights;
};

// For reduction the share of each input pixel in the output pixel's area, for
// enlargement linear between the two nearest centers.
std::vector<Taps> MakeTaps(uint32_t from, uint32_t to) {
  std::vector<Taps> taps(to);
  const double step = static_cast<double>(from) / to;
  for (uint32_t i = 0; i < to; ++i) {
    Taps& t = taps[i];
    if (to >= from) {
      const double center = std::clamp((i + 0.5) * step - 0.5, 0.0, from - 1.0);
      t.first = static_cast<uint32_t>(center);
      const auto part = static_cast<float>(center - t.first);
      t.weights = {1 - part};
      if (t.first + 1 < from && part > 0) t.weights.push_back(part);
      continue;
    }
    const double begin = i * step;
    const double end = std::min<double>(begin + step, from);
    t.first = static_cast<uint32_t>(begin);
    for (uint32_t x = t.first; x < from && x < end; ++x) {
      const double share =
          std::min<double>(x + 1, end) - std::max<double>(x, begin);
      t.weights.push_back(static_cast<float>(share / (end - begin)));
    }
  }
  return taps;
}

// One row as floats, colors multiplied by alpha.
template <typename T>
void LoadRow(const Raster& r, uint32_t y, std::vector<float>* row) {
  const uint8_t* at = r.samples.data() + y * r.stride();
  row->resize(size_t{r.width} * r.channels);
  for (float& sample : *row) {
    sample = static_cast<float>(Load<T>(at));
    at += sizeof(T);
  }
  if (!r.alpha) return;
  for (size_t i = 0; i < row->size(); i += r.channels) {
    const float alpha = (*row)[i + r.colors];
    for (size_t c = 0; c < r.colors; ++c) (*row)[i + c] *= alpha;
  }
}

template <typename T>
void StoreRow(const std::vector<float>& row, uint32_t y, Raster* r) {
  uint8_t* at = r->samples.data() + y * r->stride();
  for (size_t i = 0; i < row.size(); ++i, at += sizeof(T)) {
    float value = row[i];
    const size_t c = i % r->channels;
    if (r->alpha && c < r->colors) {
      const float alpha = row[i - c + r->colors];
      value = alpha > 0 ? value / alpha : 0;
    }
    if constexpr (std::is_floating_point_v<T>) {
      Store<T>(at, static_cast<T>(value));
    } else {
      const double low = static_cast<double>(std::numeric_limits<T>::min());
      const double high = static_cast<double>(std::numeric_limits<T>::max());
      Store<T>(
          at, static_cast<T>(std::clamp(std::round(double{value}), low, high)));
    }
  }
}

// Rows are squeezed sideways as they are needed, then added up.
template <typename T>
void ScaleRows(const Raster& from, Raster* to) {
  const std::vector<Taps> across = MakeTaps(from.width, to->width);
  const std::vector<Taps> down = MakeTaps(from.height, to->height);
  const size_t channels = from.channels;
  std::vector<float> row, sum;
  std::array<std::vector<float>, 2> narrow;  // the last two rows, by parity
  std::array<uint32_t, 2> have = {UINT32_MAX, UINT32_MAX};
  for (uint32_t y = 0; y < to->height; ++y) {
    sum.assign(size_t{to->width} * channels, 0);
    for (uint32_t k = 0; k < down[y].weights.size(); ++k) {
      const uint32_t source = down[y].first + k;
      std::vector<float>& line = narrow[source % 2];
      if (have[source % 2] != source) {
        have[source % 2] = source;
        LoadRow<T>(from, source, &row);
        line.assign(size_t{to->width} * channels, 0);
        for (uint32_t x = 0; x < to->width; ++x) {
          for (uint32_t j = 0; j < across[x].weights.size(); ++j) {
            const float weight = across[x].weights[j];
            const float* in = row.data() + (across[x].first + j) * channels;
            for (size_t c = 0; c < channels; ++c) {
              line[x * channels + c] += weight * in[c];
            }
          }
        }
      }
      const float weight = down[y].weights[k];
      for (size_t i = 0; i < sum.size(); ++i) sum[i] += weight * line[i];
    }
    StoreRow<T>(sum, y, to);
  }
}

// One sample as it is shown, in 8 bits or 16.
template <typename T>
uint16_t Shown(const uint8_t* at, const Raster& r) {
  const T value = Load<T>(at);
  if constexpr (std::is_floating_point_v<T>) {
    const double part = (double{value} - r.low) / (r.high - r.low);
    if (!(part > 0)) return 0;  // NaN as well
    return static_cast<uint16_t>(std::min<double>(part, 1) * 65535 + 0.5);
  } else if constexpr (std::is_same_v<T, int8_t>) {
    return static_cast<uint8_t>(value);
  } else if constexpr (std::is_same_v<T, uint32_t>) {
    const int spare = r.bits == 0 ? 16 : r.bits - 16;
    return static_cast<uint16_t>(std::min<uint32_t>(value >> spare, 65535));
  } else if constexpr (std::is_same_v<T, int32_t>) {
    return static_cast<uint16_t>(value < 0 ? 0 : value >> 15);
  } else if constexpr (std::is_same_v<T, uint16_t>) {
    if (r.bits == 0) return value;
    const uint32_t most = (1u << r.bits) - 1;
    return static_cast<uint16_t>(
        (std::min<uint32_t>(value, most) * 65535 + most / 2) / most);
  } else {
    return static_cast<uint16_t>(value < 0 ? 0 : value);
  }
}

// All that describes `raster`.
Raster WithoutSamples(const Raster& raster) {
  Raster out;
  out.width = raster.width;
  out.height = raster.height;
  out.channels = raster.channels;
  out.type = raster.type;
  out.colors = raster.colors;
  out.alpha = raster.alpha;
  out.bits = raster.bits;
  out.low = raster.low;
  out.high = raster.high;
  out.icc = raster.icc;
  return out;
}

uint32_t SampleAt(const Picture& p, size_t index) {
  return p.shape.deep ? Load<uint16_t>(p.samples.data() + 2 * index)
                      : p.samples[index];
}

void PutSample(Picture* p, size_t index, uint32_t value) {
  if (p->shape.deep) {
    Store<uint16_t>(p->samples.data() + 2 * index,
                    static_cast<uint16_t>(value));
  } else {
    p->samples[index] = static_cast<uint8_t>(value);
  }
}

Picture EmptyPicture(const ImageShape& shape, const Bytes& icc) {
  Picture p;
  p.shape = shape;
  p.samples.resize(size_t{shape.width} * shape.height * shape.channels() *
                   (shape.deep ? 2 : 1));
  p.icc = icc;
  return p;
}

// BT.601, as JPEG and most tools define gray.
uint32_t Luma(uint32_t r, uint32_t g, uint32_t b) {
  return (r * 19595 + g * 38470 + b * 7471 + 32768) >> 16;
}

Picture Gray(const Picture& p) {
  ImageShape shape = p.shape;
  shape.gray = true;
  // A profile of three colors does not fit one.
  Picture out = EmptyPicture(shape, {});
  const size_t pixels = size_t{shape.width} * shape.height;
  const size_t from = p.shape.channels(), to = shape.channels();
  for (size_t i = 0; i < pixels; ++i) {
    PutSample(&out, i * to,
              Luma(SampleAt(p, i * from), SampleAt(p, i * from + 1),
                   SampleAt(p, i * from + 2)));
    if (shape.alpha) PutSample(&out, i * to + 1, SampleAt(p, i * from + 3));
  }
  return out;
}

}  // namespace

size_t SampleSize(SampleType type) {
  return WithType(type, [](auto sample) { return sizeof(sample); });
}

std::string_view NpyType(SampleType type) {
  static constexpr std::array<std::string_view, 8> kTypes = {
      "|u1", "<u2", "<u4", "|i1", "<i2", "<i4", "<f4", "<f8"};
  return kTypes[static_cast<size_t>(type)];
}

Result<Raster> MakeRaster(uint32_t width, uint32_t height, uint32_t channels,
                          SampleType type) {
  const uint64_t pixels = uint64_t{width} * height;
  const uint64_t pixel = uint64_t{channels} * SampleSize(type);
  if (pixel == 0 || pixels > kRasterBytesMax / pixel) {
    return Limit(std::to_string(width) + "x" + std::to_string(height) +
                 " pixels are more than 1 GiB; ask for a region");
  }
  Raster r;
  r.width = width;
  r.height = height;
  r.channels = channels;
  r.type = type;
  r.colors = channels < 3 ? 1 : 3;
  r.alpha = channels == 2 || channels == 4;
  r.samples.resize(static_cast<size_t>(pixels * pixel));
  return r;
}

Raster Crop(const Raster& raster, const PixelRect& rect) {
  if (rect == PixelRect{0, 0, raster.width, raster.height}) return raster;
  Raster out = WithoutSamples(raster);
  out.width = rect.width;
  out.height = rect.height;
  out.samples.resize(out.stride() * rect.height);
  for (uint32_t y = 0; y < rect.height; ++y) {
    std::memcpy(out.samples.data() + y * out.stride(),
                raster.samples.data() + (rect.y + y) * raster.stride() +
                    rect.x * raster.pixel_size(),
                out.stride());
  }
  return out;
}

Raster Upright(Raster raster, uint8_t orientation) {
  if (orientation < 2 || orientation > 8) return raster;
  Raster out = WithoutSamples(raster);
  out.samples.resize(raster.samples.size());
  if (SwapsSides(orientation)) std::swap(out.width, out.height);
  const size_t size = raster.pixel_size();
  // Bits of what to do: stored row runs along x or y, from which end.
  const bool swap = SwapsSides(orientation);
  const bool from_right = orientation == 2 || orientation == 3 ||
                          orientation == 7 || orientation == 8;
  const bool from_bottom = orientation == 3 || orientation == 4 ||
                           orientation == 6 || orientation == 7;
  for (uint32_t y = 0; y < out.height; ++y) {
    uint8_t* to = out.samples.data() + y * out.stride();
    for (uint32_t x = 0; x < out.width; ++x, to += size) {
      uint32_t sx = swap ? y : x;
      uint32_t sy = swap ? x : y;
      if (from_right) sx = raster.width - 1 - sx;
      if (from_bottom) sy = raster.height - 1 - sy;
      std::memcpy(to, raster.samples.data() + sy * raster.stride() + sx * size,
                  size);
    }
  }
  return out;
}

PixelRect StoredRect(const PixelRect& upright, uint8_t orientation,
                     uint32_t width, uint32_t height) {
  PixelRect r = upright;
  if (SwapsSides(orientation)) {
    std::swap(r.x, r.y);
    std::swap(r.width, r.height);
  }
  if (orientation == 2 || orientation == 3 || orientation == 7 ||
      orientation == 8) {
    r.x = width - r.x - r.width;
  }
  if (orientation == 3 || orientation == 4 || orientation == 6 ||
      orientation == 7) {
    r.y = height - r.y - r.height;
  }
  return r;
}

uint8_t OrientationOf(bool mirror, uint8_t quarters) {
  static constexpr std::array<uint8_t, 4> kPlain = {1, 6, 3, 8};
  static constexpr std::array<uint8_t, 4> kMirrored = {2, 7, 4, 5};
  return mirror ? kMirrored[quarters % 4] : kPlain[quarters % 4];
}

Result<Raster> Scale(const Raster& raster, uint32_t width, uint32_t height) {
  if (width == raster.width && height == raster.height) return raster;
  PLUGIN_ASSIGN_OR_RETURN(
      Raster sized, MakeRaster(width, height, raster.channels, raster.type));
  Raster out = WithoutSamples(raster);
  out.width = width;
  out.height = height;
  out.samples = std::move(sized.samples);
  WithType(raster.type,
           [&](auto sample) { ScaleRows<decltype(sample)>(raster, &out); });
  return out;
}

ImageShape ShownShape(const Raster& raster) {
  ImageShape shape;
  shape.width = raster.width;
  shape.height = raster.height;
  shape.deep = raster.type != SampleType::kU8 && raster.type != SampleType::kI8;
  shape.gray = raster.colors == 1;
  shape.alpha = raster.alpha;
  return shape;
}

Picture ShownPicture(Raster raster) {
  const ImageShape shape = ShownShape(raster);
  if (shape.channels() == raster.channels &&
      (raster.type == SampleType::kU8 ||
       (raster.type == SampleType::kU16 && raster.bits == 0))) {
    Picture p;
    p.shape = shape;
    p.samples = std::move(raster.samples);
    p.icc = std::move(raster.icc);
    return p;
  }
  Picture p = EmptyPicture(shape, raster.icc);
  const size_t pixels = size_t{raster.width} * raster.height;
  WithType(raster.type, [&](auto sample) {
    using T = decltype(sample);
    for (size_t i = 0; i < pixels; ++i) {
      const uint8_t* at = raster.samples.data() + i * raster.pixel_size();
      for (size_t c = 0; c < shape.channels(); ++c) {
        PutSample(&p, i * shape.channels() + c,
                  Shown<T>(at + c * sizeof(T), raster));
      }
    }
  });
  return p;
}

Picture Reduce(Picture picture, ImageFormat format,
               const ImageOptions& options) {
  const ImageShape from = picture.shape;
  const ImageShape to = ShapeFor(format, from, options);
  if (to.deep == from.deep && to.alpha == from.alpha && to.gray == from.gray) {
    return picture;
  }
  Picture out = EmptyPicture(to, to.gray == from.gray ? picture.icc : Bytes());
  const size_t pixels = size_t{to.width} * to.height;
  const uint32_t high = from.deep ? 65535 : 255;
  const size_t colors = from.gray ? 1 : 3;
  for (size_t i = 0; i < pixels; ++i) {
    const size_t in = i * from.channels();
    const size_t at = i * to.channels();
    const uint32_t alpha = from.alpha ? SampleAt(picture, in + colors) : high;
    for (size_t c = 0; c + (to.alpha ? 1 : 0) < to.channels(); ++c) {
      uint32_t value = SampleAt(picture, in + (from.gray ? 0 : c));
      if (from.alpha && !to.alpha) {
        const uint64_t over = uint64_t{value} * alpha +
                              uint64_t{high} * (high - alpha) + high / 2;
        value = static_cast<uint32_t>(over / high);
      }
      PutSample(&out, at + c, from.deep && !to.deep ? value >> 8 : value);
    }
    if (to.alpha) {
      PutSample(&out, at + to.channels() - 1,
                from.deep && !to.deep ? alpha >> 8 : alpha);
    }
  }
  return out;
}

Picture WithQuality(Picture picture, IiifQuality quality) {
  if (quality == IiifQuality::kDefault || quality == IiifQuality::kColor) {
    return picture;
  }
  Picture out = picture.shape.gray ? std::move(picture) : Gray(picture);
  if (quality == IiifQuality::kGray) return out;
  const uint32_t high = out.shape.deep ? 65535 : 255;
  const size_t pixels = size_t{out.shape.width} * out.shape.height;
  for (size_t i = 0; i < pixels; ++i) {
    const size_t at = i * out.shape.channels();
    PutSample(&out, at, SampleAt(out, at) > high / 2 ? high : 0);
  }
  return out;
}

Result<Bytes> EncodeRaster(Raster raster, ImageFormat format,
                           const ImageOptions& options, IiifQuality quality) {
  const bool as_is =
      quality == IiifQuality::kDefault || quality == IiifQuality::kColor;
  if (format == ImageFormat::kNpy && as_is) {
    Bytes out = NpyHead(NpyType(raster.type), raster.width, raster.height,
                        raster.channels);
    out.insert(out.end(), raster.samples.begin(), raster.samples.end());
    return out;
  }
  Picture picture = WithQuality(ShownPicture(std::move(raster)), quality);
  return EncodeImage(Reduce(std::move(picture), format, options), format,
                     options);
}

}  // namespace rowfs::plugin
