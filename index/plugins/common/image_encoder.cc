#include "index/plugins/common/image_encoder.h"

#include <algorithm>
#include <string>

#include "index/plugins/common/image_codecs.h"

namespace rowfs::plugin {
namespace {

constexpr size_t kBmpHead = 54;

uint64_t SampleBytes(const ImageShape& s) {
  return uint64_t{s.width} * s.height * s.channels() * (s.deep ? 2 : 1);
}

std::string PpmHead(const ImageShape& s) {
  return "P6\n" + std::to_string(s.width) + " " + std::to_string(s.height) +
         "\n" + (s.deep ? "65535" : "255") + "\n";
}

uint64_t BmpRow(const ImageShape& s) {
  return (uint64_t{s.width} * 3 + 3) / 4 * 4;
}

Bytes EncodePpm(const Picture& p) {
  ByteWriter out;
  out.bytes().reserve(SampleBytes(p.shape) + 32);
  out.Text(PpmHead(p.shape));
  const size_t at = out.size();
  out.Raw(p.samples);
  if (p.shape.deep) {  // PPM is big-endian
    Bytes& b = out.bytes();
    for (size_t i = at; i + 1 < b.size(); i += 2) std::swap(b[i], b[i + 1]);
  }
  return std::move(out.bytes());
}

Result<Bytes> EncodeBmp(const Picture& p) {
  const ImageShape& s = p.shape;
  const uint64_t size = kBmpHead + BmpRow(s) * s.height;
  if (size > UINT32_MAX) return Unsupported("BMP files end at 4 GiB");
  ByteWriter out;
  out.bytes().reserve(static_cast<size_t>(size));
  out.Text("BM");
  out.U32(static_cast<uint32_t>(size));
  out.U32(0);
  out.U32(kBmpHead);
  out.U32(40);  // BITMAPINFOHEADER
  out.U32(s.width);
  out.U32(s.height);
  out.U16(1);
  out.U16(24);
  out.U32(0);
  out.U32(static_cast<uint32_t>(size - kBmpHead));
  out.U32(2835);  // 72 dpi
  out.U32(2835);
  out.U32(0);
  out.U32(0);
  Bytes& b = out.bytes();
  const size_t stride = static_cast<size_t>(BmpRow(s));
  b.resize(static_cast<size_t>(size));
  for (uint32_t y = 0; y < s.height; ++y) {
    const uint8_t* from = p.samples.data() + size_t{y} * s.width * 3;
    uint8_t* to = b.data() + kBmpHead + (s.height - 1 - y) * stride;
    for (uint32_t x = 0; x < s.width; ++x, from += 3, to += 3) {
      to[0] = from[2];
      to[1] = from[1];
      to[2] = from[0];
    }
  }
  return std::move(b);
}

Bytes EncodeNpy(const Picture& p) {
  const ImageShape& s = p.shape;
  Bytes out = NpyHead(s.deep ? "<u2" : "|u1", s.width, s.height, s.channels());
  out.insert(out.end(), p.samples.begin(), p.samples.end());
  return out;
}

}  // namespace

Bytes NpyHead(std::string_view type, uint32_t width, uint32_t height,
              uint32_t channels) {
  std::string dict = "{'descr': '" + std::string(type) +
                     "', 'fortran_order': False, 'shape': (" +
                     std::to_string(height) + ", " + std::to_string(width);
  if (channels != 1) dict += ", " + std::to_string(channels);
  dict += "), }";
  ByteWriter out;
  out.U8(0x93);
  out.Text("NUMPY");
  out.U8(1);
  out.U8(0);
  dict.resize(kNpyHeadSize - 11, ' ');
  dict += '\n';
  out.U16(static_cast<uint16_t>(dict.size()));
  out.Text(dict);
  return std::move(out.bytes());
}

const char* ImageExtension(ImageFormat format) {
  static constexpr std::array<const char*, 7> kNames = {
      "jpg", "png", "webp", "bmp", "ppm", "npy", "tif"};
  return kNames[static_cast<size_t>(format)];
}

const char* ImageMediaType(ImageFormat format) {
  static constexpr std::array<const char*, 7> kTypes = {
      "image/jpeg",
      "image/png",
      "image/webp",
      "image/bmp",
      "image/x-portable-pixmap",
      "application/x-npy",
      "image/tiff"};
  return kTypes[static_cast<size_t>(format)];
}

std::optional<ImageFormat> ImageFormatOf(std::string_view extension) {
  for (ImageFormat f : kImageFormats) {
    if (extension == ImageExtension(f)) return f;
  }
  return std::nullopt;
}

ImageShape ShapeFor(ImageFormat format, const ImageShape& shape,
                    const ImageOptions& options) {
  ImageShape s = shape;
  const bool rich = format == ImageFormat::kPng ||
                    format == ImageFormat::kNpy || format == ImageFormat::kTif;
  s.alpha = s.alpha && rich;
  s.gray = s.gray && (rich || format == ImageFormat::kJpg);
  s.deep =
      s.deep && (rich || (format == ImageFormat::kPpm && options.ppm_16bit));
  return s;
}

std::optional<uint64_t> ExactImageSize(ImageFormat format,
                                       const ImageShape& shape,
                                       const ImageOptions& options) {
  const ImageShape s = ShapeFor(format, shape, options);
  if (format == ImageFormat::kBmp) return kBmpHead + BmpRow(s) * s.height;
  if (format == ImageFormat::kPpm) return PpmHead(s).size() + SampleBytes(s);
  if (format == ImageFormat::kNpy) return kNpyHeadSize + SampleBytes(s);
  if (format == ImageFormat::kTif) return TiffSize(s);
  return std::nullopt;
}

uint64_t GuessImageSize(ImageFormat format, const ImageShape& shape) {
  const uint64_t pixels = uint64_t{shape.width} * shape.height;
  if (format == ImageFormat::kPng) {
    return 1024 + pixels * (shape.deep ? 3 : 1) / 2;
  }
  return 1024 + pixels / (format == ImageFormat::kWebp ? 16 : 8);
}

Result<Bytes> EncodeImage(const Picture& picture, ImageFormat format,
                          const ImageOptions& options) {
  if (picture.samples.size() != SampleBytes(picture.shape)) {
    return Internal("a picture does not have as many samples as its size says");
  }
  switch (format) {
    case ImageFormat::kJpg:
      return EncodeJpegRgb(picture, options.quality);
    case ImageFormat::kPng:
      return EncodePng(picture);
    case ImageFormat::kWebp:
      return EncodeWebp(picture, options.quality);
    case ImageFormat::kBmp:
      return EncodeBmp(picture);
    case ImageFormat::kPpm:
      return EncodePpm(picture);
    case ImageFormat::kNpy:
      return EncodeNpy(picture);
    case ImageFormat::kTif:
      return EncodeTiff(picture);
  }
  return Internal("unknown image format");
}

}  // namespace rowfs::plugin
