#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "tests/index/plugins/image/pictures.h"

namespace rowfs::image_test {
namespace {

std::vector<TiffSpec> AllLayouts() {
  std::vector<TiffSpec> specs;
  const uint16_t compressions[] = {COMPRESSION_NONE, COMPRESSION_LZW,
                                   COMPRESSION_ADOBE_DEFLATE,
                                   COMPRESSION_PACKBITS, COMPRESSION_ZSTD};
  for (const uint16_t compression : compressions) {
    for (const uint32_t tile : {0u, 32u}) {
      for (const int planar : {PLANARCONFIG_CONTIG, PLANARCONFIG_SEPARATE}) {
        for (const char* mode : {"w", "wb8"}) {
          TiffSpec s;
          s.compression = compression;
          s.tile = tile;
          s.planar = static_cast<uint16_t>(planar);
          s.mode = mode;
          s.bits = mode[1] == 'b' ? 16 : 8;
          specs.push_back(s);
        }
      }
    }
  }
  return specs;
}

TEST(Tiff, GivesEveryPixelOfEveryLayout) {
  for (const TiffSpec& s : AllLayouts()) {
    for (const int layout : {ROWFS_LAYOUT_STORED, ROWFS_LAYOUT_CONTAINER}) {
      auto file = OpenPicture(MakeTiff({s}), layout);
      EXPECT_EQ(NpySamples(file->Read(".pages/0001.npy")),
                Expected(s, 0, 0, 0, s.width, s.height))
          << s.compression << " " << s.tile << " " << s.planar;
      const Bytes region =
          file->Read(".pages/0001/37,20,50,45/max/0/default.npy");
      EXPECT_EQ(NpySamples(region), Expected(s, 0, 37, 20, 50, 45))
          << s.compression << " " << s.tile << " " << s.planar;
    }
  }
}

TEST(Tiff, ReadsAPageOrARegionInOneRange) {
  for (const TiffSpec& s : AllLayouts()) {
    auto file = OpenPicture(MakeTiff({s, s, s}));
    for (const char* path :
         {".pages/0002.png", ".pages/0003/10,10,40,40/max/0/default.png"}) {
      const auto plan = file->MakePlan({path});
      ASSERT_EQ(plan.groups.size(), 1u);
      EXPECT_EQ(plan.groups[0].ranges.size(), 1u);
    }
    const auto plan = file->MakePlan({".pages/0002.png"});
    const auto& range = plan.groups[0].ranges[0];
    EXPECT_LT(range.end - range.begin, file->payload().size() / 2);
  }
}

TEST(Tiff, ReadsOfAnUncompressedPageTheRowsOfTheRegion) {
  TiffSpec s;
  s.width = 1000;
  s.height = 2000;
  s.rows = 2000;
  auto file = OpenPicture(MakeTiff({s}), ROWFS_LAYOUT_CONTAINER);

  const auto plan =
      file->MakePlan({".pages/0001/0,500,1000,20/max/0/default.png"});

  const auto& range = plan.groups.at(0).ranges.at(0);
  EXPECT_LT(range.end - range.begin, 3000u * 50);
}

TEST(Tiff, CountsPagesFromOneAndSkipsNothing) {
  TiffSpec small;
  small.width = 20;
  small.height = 10;
  auto file = OpenPicture(MakeTiff({TiffSpec(), small, TiffSpec()}));

  const auto pages = file->List(".pages");

  ASSERT_EQ(pages.size(), 3u);
  EXPECT_EQ(pages[0].name, "0001.png");
  EXPECT_EQ(pages[2].name, "0003.png");
  EXPECT_EQ(NpySamples(file->Read(".pages/0002.npy")),
            Expected(small, 1, 0, 0, 20, 10));
  EXPECT_TRUE(file->Lookup(".pages/0000.png").empty());
  EXPECT_TRUE(file->Lookup(".pages/0004.png").empty());
  EXPECT_EQ(file->last(), ROWFS_E_NOT_FOUND);
}

TEST(Tiff, TurnsPagesUpright) {
  TiffSpec s;
  s.orientation = 6;
  auto file = OpenPicture(MakeTiff({s}));

  const Bytes upright = NpySamples(file->Read(".pages/0001.npy"));
  const Bytes corner =
      NpySamples(file->Read(".pages/0001/0,0,1,1/max/0/default.npy"));

  // The first pixel of the picture is the last row's first.
  EXPECT_EQ(corner, Expected(s, 0, 0, s.height - 1, 1, 1));
  EXPECT_EQ(Bytes(upright.begin(), upright.begin() + 3), corner);
  EXPECT_EQ(file->Lookup(".pages/0001.npy")[0].size,
            128u + s.width * s.height * 3);
}

TEST(Tiff, KeepsSixteenBitsInPng) {
  TiffSpec s;
  s.bits = 16;
  s.channels = 1;
  s.photometric = PHOTOMETRIC_MINISBLACK;
  auto file = OpenPicture(MakeTiff({s}));

  const Bytes png = file->Read(".pages/0001.png");

  ASSERT_GT(png.size(), 33u);
  EXPECT_EQ(png[24], 16);  // bits
  EXPECT_EQ(png[25], 0);   // gray
}

TEST(Tiff, HandsOutJpegTilesAsTheyAreStored) {
  TiffSpec s;
  s.width = 90;
  s.tile = 32;
  s.compression = COMPRESSION_JPEG;
  s.photometric = PHOTOMETRIC_YCBCR;
  auto file = OpenPicture(MakeTiff({s}));

  const auto levels = file->List(".tiles");
  const auto tiles = file->List(".tiles/0");

  ASSERT_EQ(levels.size(), 1u);
  ASSERT_EQ(tiles.size(), 9u);
  EXPECT_EQ(tiles[5].name, "2_1.jpg");
  const Bytes jpeg = file->Read(".tiles/0/2_1.jpg");
  EXPECT_EQ(jpeg.size(), tiles[5].size);
  const auto plan = file->MakePlan({".tiles/0/2_1.jpg"});
  EXPECT_TRUE(plan.groups.empty());
  // It opens as a picture of its own.
  auto tile = OpenPicture(jpeg);
  EXPECT_EQ(tile->Lookup(".pages/0001.npy").at(0).size, 128u + 32 * 32 * 3);
}

TEST(Tiff, LosesNoPageToADamagedOne) {
  TiffSpec s;
  s.compression = COMPRESSION_ADOBE_DEFLATE;
  Bytes bytes = MakeTiff({s, s, s});
  auto sound = OpenPicture(bytes);
  const auto range = sound->MakePlan({".pages/0002.png"}).groups[0].ranges[0];
  for (uint64_t i = range.begin; i < range.end; ++i) bytes[i] = 0xff;

  auto file = OpenPicture(bytes, ROWFS_LAYOUT_CONTAINER);

  EXPECT_EQ(file->List(".pages").size(), 3u);
  EXPECT_TRUE(file->Read(".pages/0002.png").empty());
  EXPECT_NE(file->decode_error(), "");
  EXPECT_FALSE(file->Read(".pages/0003.png").empty());
}

TEST(Tiff, RefusesDirectoriesThatGoRound) {
  Bytes bytes = MakeTiff({TiffSpec(), TiffSpec()});
  // The second directory's "next" becomes the first's offset.
  uint32_t first = 0;
  std::memcpy(&first, bytes.data() + 4, 4);
  uint16_t tags = 0;
  std::memcpy(&tags, bytes.data() + first, 2);
  uint32_t second = 0;
  std::memcpy(&second, bytes.data() + first + 2 + 12u * tags, 4);
  std::memcpy(&tags, bytes.data() + second, 2);
  std::memcpy(bytes.data() + second + 2 + 12u * tags, &first, 4);

  const auto ingested = video_test::Ingest(bytes, "a.tif", {});

  EXPECT_EQ(ingested.code, ROWFS_E_CORRUPT);
}

TEST(Tiff, SurvivesEveryTruncation) {
  TiffSpec s;
  s.width = 20;
  s.height = 20;
  s.compression = COMPRESSION_LZW;
  const Bytes whole = MakeTiff({s, s});
  for (size_t size = 0; size < whole.size(); size += 3) {
    const Bytes part(whole.begin(), whole.begin() + static_cast<long>(size));
    video_test::IngestSpec spec;
    spec.layout = ROWFS_LAYOUT_CONTAINER;
    auto ingested = video_test::Ingest(part, "a.tif", spec);
    if (ingested.code != 0) continue;
    video_test::OpenIndex file(std::move(ingested), "");
    ASSERT_EQ(file.code(), 0) << file.error();
    for (const auto& page : file.List(".pages")) {
      file.Read(".pages/" + page.name);
    }
  }
}

}  // namespace
}  // namespace rowfs::image_test
