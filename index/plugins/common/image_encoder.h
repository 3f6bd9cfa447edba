// Pictures as files: JPEG, PNG, WebP, BMP, PPM, NPY and TIFF.
//
// Deterministic: the same pixels and options give the same bytes in the same
// build. No state.
#ifndef ROWFS_INDEX_PLUGINS_COMMON_IMAGE_ENCODER_H_
#define ROWFS_INDEX_PLUGINS_COMMON_IMAGE_ENCODER_H_

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "index/plugins/common/bytes.h"
#include "index/plugins/common/status.h"

namespace rowfs::plugin {

enum class ImageFormat : uint8_t { kJpg, kPng, kWebp, kBmp, kPpm, kNpy, kTif };
inline constexpr std::array<ImageFormat, 7> kImageFormats = {
    ImageFormat::kJpg, ImageFormat::kPng, ImageFormat::kWebp, ImageFormat::kBmp,
    ImageFormat::kPpm, ImageFormat::kNpy, ImageFormat::kTif};

// "jpg", ...
const char* ImageExtension(ImageFormat format);
const char* ImageMediaType(ImageFormat format);
std::optional<ImageFormat> ImageFormatOf(std::string_view extension);

struct ImageOptions {
  int quality = 90;        // of jpg and webp, 1..100
  bool ppm_16bit = false;  // maxval 65535 for deep pictures
};

struct ImageShape {
  uint32_t width = 0;
  uint32_t height = 0;
  bool deep = false;   // 16 bits a sample
  bool alpha = false;  // a channel behind the colors
  bool gray = false;   // one color, else RGB
  uint32_t channels() const { return (gray ? 1 : 3) + (alpha ? 1 : 0); }
};

// Samples interleaved, rows without padding; deep ones little-endian.
struct Picture {
  ImageShape shape;
  Bytes samples;
  Bytes icc;  // the color profile, embedded by jpg, png, webp and tif
};

// What a picture of `shape` is turned into before it is written as `format`:
// 16 bits only in png, npy and tif (and ppm on request), alpha only in these
// three, gray nowhere in webp, bmp and ppm.
ImageShape ShapeFor(ImageFormat format, const ImageShape& shape,
                    const ImageOptions& options);
// The size of the file without a profile; nullopt when only encoding tells
// (jpg, png, webp).
std::optional<uint64_t> ExactImageSize(ImageFormat format,
                                       const ImageShape& shape,
                                       const ImageOptions& options);
// A guess for the others; never 0.
uint64_t GuessImageSize(ImageFormat format, const ImageShape& shape);

// Write `picture`, whose shape is ShapeFor(format, ...) already.
// ROWFS_E_UNSUPPORTED when the format has no room for so many pixels.
Result<Bytes> EncodeImage(const Picture& picture, ImageFormat format,
                          const ImageOptions& options);

// "<u2", (height, width, channels): the 128 bytes before the samples of an NPY
// file. No third number for one channel.
Bytes NpyHead(std::string_view type, uint32_t width, uint32_t height,
              uint32_t channels);
inline constexpr size_t kNpyHeadSize = 128;

// 4:2:0 planes as JPEG has them: full range, BT.601, chroma of half the width
// and height (rounded up).
struct JpegPlanes {
  uint32_t width = 0;
  uint32_t height = 0;
  std::array<const uint8_t*, 3> data{};
  std::array<size_t, 3> stride{};
};
Result<Bytes> EncodeJpegPlanes(const JpegPlanes& planes, int quality);

// The same file out of bands that may be made at the same time: each of
// JpegBandRows rows but the last, none if the height is 0. What EncodeJpegBand
// makes of them is for JoinJpegBands alone.
uint32_t JpegBandRows(uint32_t width, uint32_t height);
Result<Bytes> EncodeJpegBand(const JpegPlanes& band, int quality);
Bytes JoinJpegBands(const std::vector<Bytes>& bands, uint32_t height);

}  // namespace rowfs::plugin
#endif  // ROWFS_INDEX_PLUGINS_COMMON_IMAGE_ENCODER_H_
