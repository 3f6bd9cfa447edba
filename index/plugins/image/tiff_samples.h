// How the samples of a TIFF directory become a raster: which of the ways to
// decode applies, and what the raster looks like.
//
// Pure functions.
#ifndef ROWFS_INDEX_PLUGINS_IMAGE_TIFF_SAMPLES_H_
#define ROWFS_INDEX_PLUGINS_IMAGE_TIFF_SAMPLES_H_

#include <cstdint>
#include <string>

#include "index/plugins/common/picture.h"
#include "index/plugins/image/tiff_directory.h"

namespace rowfs::plugin {

struct TiffSamples {
  enum class Way : uint8_t {
    kPlain,    // gray or color samples as they are
    kPalette,  // one sample a pixel, looked up
    kCmyk,     // 8 or 16 bits, four samples and more
    kRgba,     // whatever libtiff makes RGBA of
    kTile      // each cell is a file of another format (JPEG 2000)
  };
  Way way = Way::kPlain;
  uint32_t compression = 1;
  uint32_t photometric = 1;
  uint32_t bits = 1;
  uint32_t format = 1;  // 1 unsigned, 2 signed, 3 float
  uint32_t samples = 1;
  bool planar = false;         // planes one behind the other
  bool invert = false;         // white is zero
  bool premultiplied = false;  // by alpha
  bool jpeg_to_rgb = false;    // libjpeg converts
  // Of the raster.
  uint32_t channels = 1;
  uint8_t colors = 1;
  bool alpha = false;
  SampleType type = SampleType::kU8;
};

TiffSamples ClassifySamples(const TiffDirectory& directory);

// "lzw, rgb, 16 bits", for people.
std::string DescribeSamples(const TiffSamples& samples);

// Take one row of `count` packed samples apart. 16, 32 and 64 bits are in
// native order, others packed from the high bit. `out` has room for `count`
// samples of samples.type.
void UnpackSamples(const TiffSamples& samples, const uint8_t* row, size_t count,
                   uint8_t* out);

}  // namespace rowfs::plugin
#endif  // ROWFS_INDEX_PLUGINS_IMAGE_TIFF_SAMPLES_H_
