// Pixels of any sample type and what is done to them between decoding and
// encoding: cut, turn, scale, reduce to what a format can hold.
//
// Values; pure functions; deterministic.
#ifndef ROWFS_INDEX_PLUGINS_COMMON_PICTURE_H_
#define ROWFS_INDEX_PLUGINS_COMMON_PICTURE_H_

#include <cstdint>
#include <string_view>

#include "index/plugins/common/bytes.h"
#include "index/plugins/common/iiif.h"
#include "index/plugins/common/image_encoder.h"
#include "index/plugins/common/status.h"

namespace rowfs::plugin {

enum class SampleType : uint8_t {
  kU8,
  kU16,
  kU32,
  kI8,
  kI16,
  kI32,
  kF32,
  kF64
};
size_t SampleSize(SampleType type);
// "|u1", "<f4", as NPY files name it.
std::string_view NpyType(SampleType type);

// Rows from the top, without padding; samples interleaved, little-endian. The
// first `colors` channels are gray or RGB; alpha, when there is one, comes next
// and is not premultiplied; what follows is kept in npy and not shown.
struct Raster {
  uint32_t width = 0;
  uint32_t height = 0;
  uint32_t channels = 0;
  SampleType type = SampleType::kU8;
  uint8_t colors = 1;  // 1 or 3
  bool alpha = false;
  uint8_t bits = 0;  // of unsigned samples that do not use all of their type
  double low = 0;    // floats: what is shown black
  double high = 1;   // and white
  Bytes samples;
  Bytes icc;

  size_t pixel_size() const { return channels * SampleSize(type); }
  size_t stride() const { return width * pixel_size(); }
};

// A raster of zeros: 1 channel is gray, 2 are gray and alpha, 3 RGB, 4 RGBA,
// more are RGB and others. ROWFS_E_LIMIT above 1 GiB.
Result<Raster> MakeRaster(uint32_t width, uint32_t height, uint32_t channels,
                          SampleType type);

// Requires: `rect` lies inside.
Raster Crop(const Raster& raster, const PixelRect& rect);

// EXIF orientation 1..8 applied: what is stored that way, upright. Any other
// number is 1.
Raster Upright(Raster raster, uint8_t orientation);
// Where an upright rectangle lies in the stored picture of `width` x `height`.
PixelRect StoredRect(const PixelRect& upright, uint8_t orientation,
                     uint32_t width, uint32_t height);
inline bool SwapsSides(uint8_t orientation) {
  return orientation >= 5 && orientation <= 8;
}

// The orientation that mirrors (left and right) and then turns clockwise.
uint8_t OrientationOf(bool mirror, uint8_t quarters);

// Averages of the covered area, with alpha weighing the colors.
Result<Raster> Scale(const Raster& raster, uint32_t width, uint32_t height);

// What `raster` is shown as: 8 or 16 bits. kU32 gives its upper 16 bits;
// negative samples are 0 (of kI8 the bits are kept: unsigned bytes that were
// declared signed are common, readers ignore the sign); floats are taken from
// [low, high].
Picture ShownPicture(Raster raster);

// The shape of ShownPicture.
ImageShape ShownShape(const Raster& raster);

// `picture` with no more depth, channels and alpha than `format` holds: 16 bits
// lose the lower 8, transparent parts are laid over white.
Picture Reduce(Picture picture, ImageFormat format,
               const ImageOptions& options);

Picture WithQuality(Picture picture, IiifQuality quality);

// `raster` as a file. In npy every sample type and channel is kept, in the
// others it is what ShownPicture and Reduce make of it.
Result<Bytes> EncodeRaster(Raster raster, ImageFormat format,
                           const ImageOptions& options,
                           IiifQuality quality = IiifQuality::kDefault);

}  // namespace rowfs::plugin
#endif  // ROWFS_INDEX_PLUGINS_COMMON_PICTURE_H_
