// Pictures for tests: made by libtiff here, or by tools through a command.
//
// No state.
#ifndef ROWFS_TESTS_INDEX_PLUGINS_IMAGE_PICTURES_H_
#define ROWFS_TESTS_INDEX_PLUGINS_IMAGE_PICTURES_H_

#include <tiffio.h>

#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "tests/index/plugins/video/harness.h"

namespace rowfs::image_test {

using video_test::Bytes;

// The sample of pixel (x, y) and channel c in every test picture.
inline uint32_t Formula(uint32_t x, uint32_t y, uint32_t c, uint32_t page) {
  return (x * 7 + y * 13 + c * 61 + page * 101) & 255;
}

struct TiffSpec {
  uint32_t width = 100;
  uint32_t height = 70;
  uint32_t channels = 3;
  uint32_t bits = 8;
  uint16_t photometric = PHOTOMETRIC_RGB;
  uint16_t compression = COMPRESSION_NONE;
  uint16_t planar = PLANARCONFIG_CONTIG;
  uint16_t predictor = 1;
  uint16_t orientation = 1;
  uint32_t tile = 0;  // the side; 0: strips
  uint32_t rows = 16;
  const char* mode = "w";  // w8: BigTIFF, wb: big-endian
};

// The formula's picture as one page; 16 bits hold 257 times it.
inline void WritePage(TIFF* tiff, const TiffSpec& s, uint32_t page) {
  TIFFSetField(tiff, TIFFTAG_IMAGEWIDTH, s.width);
  TIFFSetField(tiff, TIFFTAG_IMAGELENGTH, s.height);
  TIFFSetField(tiff, TIFFTAG_BITSPERSAMPLE, s.bits);
  TIFFSetField(tiff, TIFFTAG_SAMPLESPERPIXEL, s.channels);
  TIFFSetField(tiff, TIFFTAG_PHOTOMETRIC, s.photometric);
  TIFFSetField(tiff, TIFFTAG_COMPRESSION, s.compression);
  TIFFSetField(tiff, TIFFTAG_PLANARCONFIG, s.planar);
  TIFFSetField(tiff, TIFFTAG_ORIENTATION, s.orientation);
  if (s.predictor != 1) TIFFSetField(tiff, TIFFTAG_PREDICTOR, s.predictor);
  if (s.compression == COMPRESSION_JPEG && s.photometric == PHOTOMETRIC_YCBCR) {
    TIFFSetField(tiff, TIFFTAG_JPEGCOLORMODE, JPEGCOLORMODE_RGB);
  }
  const uint32_t w = s.tile != 0 ? s.tile : s.width;
  const uint32_t h = s.tile != 0 ? s.tile : s.rows;
  if (s.tile != 0) {
    TIFFSetField(tiff, TIFFTAG_TILEWIDTH, w);
    TIFFSetField(tiff, TIFFTAG_TILELENGTH, h);
  } else {
    TIFFSetField(tiff, TIFFTAG_ROWSPERSTRIP, h);
  }
  const bool apart = s.planar == PLANARCONFIG_SEPARATE;
  uint32_t number = 0;
  for (uint32_t plane = 0; plane < (apart ? s.channels : 1); ++plane) {
    for (uint32_t top = 0; top < s.height; top += h) {
      for (uint32_t left = 0; left < s.width; left += w) {
        Bytes cell;
        const uint32_t rows = s.tile != 0 ? h : std::min(h, s.height - top);
        for (uint32_t y = 0; y < rows; ++y) {
          for (uint32_t x = 0; x < w; ++x) {
            for (uint32_t c = 0; c < (apart ? 1 : s.channels); ++c) {
              const auto v = static_cast<uint8_t>(
                  Formula(left + x, top + y, apart ? plane : c, page));
              cell.insert(cell.end(), s.bits / 8, v);
            }
          }
        }
        const auto size = static_cast<tmsize_t>(cell.size());
        const tmsize_t done =
            s.tile != 0
                ? TIFFWriteEncodedTile(tiff, number, cell.data(), size)
                : TIFFWriteEncodedStrip(tiff, number, cell.data(), size);
        ASSERT_GE(done, 0);
        ++number;
      }
    }
  }
}

// A TIFF file of `pages`; its bytes.
inline Bytes MakeTiff(const std::vector<TiffSpec>& pages) {
  const std::string path =
      testing::TempDir() + "/made" + std::to_string(getpid()) + ".tif";
  TIFF* tiff = TIFFOpen(path.c_str(), pages[0].mode);
  EXPECT_NE(tiff, nullptr);
  for (uint32_t i = 0; i < pages.size(); ++i) {
    WritePage(tiff, pages[i], i);
    TIFFWriteDirectory(tiff);
  }
  TIFFClose(tiff);
  Bytes bytes = video_test::ReadFile(path);
  std::filesystem::remove(path);
  return bytes;
}

// Bytes of an NPY file behind its head.
inline Bytes NpySamples(const Bytes& npy) {
  return npy.size() < 128 ? Bytes() : Bytes(npy.begin() + 128, npy.end());
}

// What the formula gives for a region, as an NPY file holds it.
inline Bytes Expected(const TiffSpec& s, uint32_t page, uint32_t left,
                      uint32_t top, uint32_t width, uint32_t height) {
  Bytes out;
  for (uint32_t y = top; y < top + height; ++y) {
    for (uint32_t x = left; x < left + width; ++x) {
      for (uint32_t c = 0; c < s.channels; ++c) {
        out.insert(out.end(), s.bits / 8,
                   static_cast<uint8_t>(Formula(x, y, c, page)));
      }
    }
  }
  return out;
}

// `bytes` ingested and opened; both layouts give the same files.
inline std::unique_ptr<video_test::OpenIndex> OpenPicture(
    const Bytes& bytes, int layout = ROWFS_LAYOUT_STORED,
    const std::string& config = "") {
  video_test::IngestSpec spec;
  spec.layout = layout;
  auto ingested = video_test::Ingest(bytes, "a", spec);
  EXPECT_EQ(ingested.code, 0) << ingested.error;
  return std::make_unique<video_test::OpenIndex>(std::move(ingested), config);
}

}  // namespace rowfs::image_test
#endif  // ROWFS_TESTS_INDEX_PLUGINS_IMAGE_PICTURES_H_
