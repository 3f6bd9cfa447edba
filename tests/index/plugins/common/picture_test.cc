#include "index/plugins/common/picture.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

namespace rowfs::plugin {
namespace {

Raster Gray8(uint32_t width, uint32_t height, const Bytes& samples) {
  Raster r = MakeRaster(width, height, 1, SampleType::kU8).value();
  r.samples = samples;
  return r;
}

TEST(Picture, TurnsAsExifSays) {
  const Raster stored = Gray8(3, 2, {1, 2, 3, 4, 5, 6});

  const std::vector<Bytes> upright = {{1, 2, 3, 4, 5, 6}, {3, 2, 1, 6, 5, 4},
                                      {6, 5, 4, 3, 2, 1}, {4, 5, 6, 1, 2, 3},
                                      {1, 4, 2, 5, 3, 6}, {4, 1, 5, 2, 6, 3},
                                      {6, 3, 5, 2, 4, 1}, {3, 6, 2, 5, 1, 4}};
  for (uint8_t o = 1; o <= 8; ++o) {
    EXPECT_EQ(Upright(stored, o).samples, upright[o - 1u]) << int{o};
  }
}

TEST(Picture, FindsAnUprightRegionInTheStoredPicture) {
  const Raster stored = Gray8(3, 2, {1, 2, 3, 4, 5, 6});
  for (uint8_t o = 1; o <= 8; ++o) {
    const Raster whole = Upright(stored, o);
    for (uint32_t y = 0; y < whole.height; ++y) {
      for (uint32_t x = 0; x < whole.width; ++x) {
        const PixelRect at = StoredRect({x, y, 1, 1}, o, 3, 2);
        EXPECT_EQ(Crop(stored, at).samples, Crop(whole, {x, y, 1, 1}).samples);
      }
    }
  }
}

TEST(Picture, AveragesWhenItGetsSmaller) {
  const Raster r = Gray8(4, 2, {0, 10, 20, 30, 40, 50, 60, 70});

  const auto small = Scale(r, 2, 1);

  ASSERT_TRUE(small.ok());
  EXPECT_EQ(small.value().samples, (Bytes{25, 45}));
  const auto odd = Scale(Gray8(3, 1, {0, 90, 180}), 2, 1);
  EXPECT_EQ(odd.value().samples, (Bytes{30, 150}));
}

TEST(Picture, LetsTransparentPixelsNotColorTheirNeighbours) {
  Raster r = MakeRaster(2, 1, 2, SampleType::kU8).value();
  r.samples = {200, 255, 7, 0};

  EXPECT_EQ(Scale(r, 1, 1).value().samples, (Bytes{200, 128}));
}

TEST(Picture, LaysAlphaOverWhite) {
  Raster r = MakeRaster(2, 1, 4, SampleType::kU8).value();
  r.samples = {10, 20, 30, 255, 10, 20, 30, 0};

  const auto ppm = EncodeRaster(r, ImageFormat::kPpm, {});

  ASSERT_TRUE(ppm.ok());
  const Bytes pixels(ppm.value().end() - 6, ppm.value().end());
  EXPECT_EQ(pixels, (Bytes{10, 20, 30, 255, 255, 255}));
}

TEST(Picture, KeepsFloatsInNpyAndShowsThemFromZeroToOne) {
  Raster r = MakeRaster(2, 1, 1, SampleType::kF32).value();
  const float values[2] = {0.5F, 3};
  std::memcpy(r.samples.data(), values, sizeof(values));

  const auto npy = EncodeRaster(r, ImageFormat::kNpy, {});

  ASSERT_TRUE(npy.ok());
  EXPECT_EQ(Bytes(npy.value().end() - 8, npy.value().end()), r.samples);
  const Picture shown = ShownPicture(r);
  EXPECT_TRUE(shown.shape.deep);
  EXPECT_EQ(shown.samples, (Bytes{0x00, 0x80, 0xff, 0xff}));
}

TEST(Picture, HasTheSizesItSays) {
  for (const bool deep : {false, true}) {
    for (uint32_t channels = 1; channels <= 4; ++channels) {
      const SampleType type = deep ? SampleType::kU16 : SampleType::kU8;
      const Raster r = MakeRaster(5, 3, channels, type).value();
      for (const ImageFormat f : kImageFormats) {
        const auto size = ExactImageSize(f, ShownShape(r), {});
        const auto file = EncodeRaster(r, f, {});
        ASSERT_TRUE(file.ok()) << ImageExtension(f) << file.status().message();
        if (size) {
          EXPECT_EQ(file.value().size(), *size) << ImageExtension(f);
        }
      }
    }
  }
}

}  // namespace
}  // namespace rowfs::plugin
