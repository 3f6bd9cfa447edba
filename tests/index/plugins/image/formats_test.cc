#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "index/plugins/common/picture.h"
#include "tests/index/plugins/image/pictures.h"

namespace rowfs::image_test {
namespace {

using plugin::ImageFormat;
using plugin::Raster;
using plugin::SampleType;

Raster FormulaRaster(uint32_t width, uint32_t height) {
  Raster r = plugin::MakeRaster(width, height, 3, SampleType::kU8).value();
  size_t i = 0;
  for (uint32_t y = 0; y < height; ++y) {
    for (uint32_t x = 0; x < width; ++x) {
      for (uint32_t c = 0; c < 3; ++c) {
        r.samples[i++] = static_cast<uint8_t>((x + 2 * y + 40 * c) & 255);
      }
    }
  }
  return r;
}

Bytes Encoded(const Raster& r, ImageFormat format) {
  return plugin::EncodeRaster(r, format, {}).value();
}

// A region cut out of the whole page's samples.
Bytes Cut(const Bytes& page, uint32_t width, uint32_t x, uint32_t y, uint32_t w,
          uint32_t h) {
  Bytes out;
  for (uint32_t row = y; row < y + h; ++row) {
    const auto from = page.begin() + static_cast<long>((row * width + x) * 3);
    out.insert(out.end(), from, from + static_cast<long>(w * 3));
  }
  return out;
}

TEST(Jpeg, GivesAnyRowsInOneRangeWithTheSamePixels) {
  const Bytes jpeg = Encoded(FormulaRaster(333, 250), ImageFormat::kJpg);
  auto original = OpenPicture(jpeg, ROWFS_LAYOUT_CONTAINER);
  auto stored = OpenPicture(jpeg, ROWFS_LAYOUT_STORED);
  const Bytes page = NpySamples(original->Read(".pages/0001.npy"));

  EXPECT_EQ(NpySamples(stored->Read(".pages/0001.npy")), page);
  for (const uint32_t y : {0u, 15u, 16u, 100u, 239u}) {
    const std::string path =
        ".pages/0001/31," + std::to_string(y) + ",200,11/max/0/default.npy";
    EXPECT_EQ(NpySamples(stored->Read(path)), Cut(page, 333, 31, y, 200, 11));
    const auto plan = stored->MakePlan({path});
    ASSERT_EQ(plan.groups.at(0).ranges.size(), 1u);
    const auto& range = plan.groups[0].ranges[0];
    EXPECT_LT(range.end - range.begin, stored->payload().size() / 3);
  }
}

TEST(Jpeg, StaysAPlayableFile) {
  const Bytes jpeg = Encoded(FormulaRaster(333, 250), ImageFormat::kJpg);
  auto stored = OpenPicture(jpeg);

  const Bytes whole = stored->Read(".jpg");

  EXPECT_EQ(stored->List("")[0].size, whole.size());
  auto again = OpenPicture(whole, ROWFS_LAYOUT_CONTAINER);
  EXPECT_EQ(again->Read(".pages/0001.npy"), stored->Read(".pages/0001.npy"));
}

TEST(Jpeg, KeepsTheOriginalWhenAsked) {
  const Bytes jpeg = Encoded(FormulaRaster(64, 64), ImageFormat::kJpg);
  video_test::IngestSpec spec;
  spec.keep_container = true;

  video_test::OpenIndex file(video_test::Ingest(jpeg, "a.JPEG", spec), "");

  EXPECT_EQ(file.Read(".original.JPEG"), jpeg);
}

TEST(Jpeg, IsIndexedByItsHeadAlone) {
  Bytes jpeg = Encoded(FormulaRaster(1500, 1500), ImageFormat::kJpg);
  ASSERT_GT(jpeg.size(), 200'000u);
  uint64_t asked = 0;
  struct Counted {
    const Bytes* bytes;
    uint64_t* asked;
  } counted{&jpeg, &asked};
  Bytes info, entries;
  rowfs_ingest_request r = {};
  r.struct_size = sizeof(r);
  r.layout = ROWFS_LAYOUT_CONTAINER;
  r.input = {&counted, jpeg.size(),
             [](void* ctx, uint64_t at, uint8_t* out, size_t size) -> int32_t {
               auto* c = static_cast<Counted*>(ctx);
               *c->asked += size;
               std::memcpy(out, c->bytes->data() + at, size);
               return 0;
             }};
  r.stream_info = {&info, video_test::AppendTo};
  r.entries = {&entries, video_test::AppendTo};
  rowfs_ingest_result result = {};
  rowfs_error error = {};

  ASSERT_EQ(rowfs_plugin_entry()->ingest(&r, &result, &error), 0);

  EXPECT_LE(asked, 128u << 10);
}

TEST(Pictures, AreTheSameInEveryFormatThatLosesNothing) {
  const Raster raster = FormulaRaster(61, 47);
  for (const ImageFormat format : {ImageFormat::kPng, ImageFormat::kBmp,
                                   ImageFormat::kPpm, ImageFormat::kTif}) {
    auto file = OpenPicture(Encoded(raster, format));
    EXPECT_EQ(NpySamples(file->Read(".pages/0001.npy")), raster.samples)
        << plugin::ImageExtension(format);
  }
}

TEST(Pictures, AnswerIiifRequests) {
  auto file = OpenPicture(Encoded(FormulaRaster(60, 40), ImageFormat::kPng));
  EXPECT_EQ(file->Lookup(".pages/0001/full/30,/90/gray.npy").at(0).size,
            128u + 20 * 30);
  EXPECT_EQ(file->Read(".pages/0001/full/30,/90/gray.npy").size(),
            128u + 20 * 30);
  EXPECT_EQ(
      file->Lookup(".pages/0001/0,0,60,40/60,40/0/default.png").at(0).canonical,
      ".pages/0001.png");
  EXPECT_TRUE(file->Lookup(".pages/0001/full").at(0).directory);
  EXPECT_TRUE(file->Lookup(".pages/0001/full/max/0").at(0).directory);
  EXPECT_FALSE(file->Lookup(".pages/0001/info.json").empty());
  for (const char* bad :
       {".pages/0001/nothing", ".pages/0001/full/max/45/default.png",
        ".pages/0001/60,0,1,1/max/0/default.png", ".pages/0001/full/61,",
        ".pages/0001/full/61,/0/default.png", ".pages/0001/full/max/0/x.png",
        ".pages/0001.exe", ".pages/1x.png", ".pages/", ".frames/000000.png",
        ".tiles/0/0_0.png", ".nothing"}) {
    if (std::string(bad) == ".pages/0001/full/61,") continue;  // a folder
    EXPECT_TRUE(file->Lookup(bad).empty()) << bad;
    EXPECT_NE(file->last(), 0) << bad;
  }
}

// A GIF of 4 x 2 whose frames are `frames`: left, width, color, dispose.
Bytes MakeGif(const std::vector<std::array<uint8_t, 4>>& frames) {
  Bytes gif = {'G', 'I', 'F', '8', '9', 'a', 4, 0, 2, 0, 0x81, 0, 0};
  const Bytes palette = {255, 0, 0, 0, 255, 0, 0, 0, 255, 9, 9, 9};
  gif.insert(gif.end(), palette.begin(), palette.end());
  for (const auto& [left, width, color, dispose] : frames) {
    const Bytes control = {0x21, 0xf9, 4, static_cast<uint8_t>(dispose << 2),
                           5,    0,    0, 0};
    gif.insert(gif.end(), control.begin(), control.end());
    const Bytes head = {0x2c, left, 0, 0, 0, width, 0, 2, 0, 0, 2};
    gif.insert(gif.end(), head.begin(), head.end());
    // Clear before every color: all codes have three bits.
    std::vector<uint32_t> codes;
    for (int i = 0; i < 2 * width; ++i) {
      codes.push_back(4);
      codes.push_back(color);
    }
    codes.push_back(5);
    Bytes data;
    uint32_t bits = 0, have = 0;
    for (const uint32_t code : codes) {
      bits |= code << have;
      for (have += 3; have >= 8; have -= 8, bits >>= 8) {
        data.push_back(static_cast<uint8_t>(bits));
      }
    }
    data.push_back(static_cast<uint8_t>(bits));
    gif.push_back(static_cast<uint8_t>(data.size()));
    gif.insert(gif.end(), data.begin(), data.end());
    gif.push_back(0);
  }
  gif.push_back(0x3b);
  return gif;
}

std::vector<int> Row(const Bytes& npy) {  // -1: transparent
  std::vector<int> colors;
  const Bytes s = NpySamples(npy);
  for (size_t i = 0; i < 16 && i + 3 < s.size(); i += 4) {
    colors.push_back(s[i + 3] == 0     ? -1
                     : s[i] == 255     ? 0
                     : s[i + 1] == 255 ? 1
                                       : 2);
  }
  return colors;
}

TEST(Animation, ShowsTheComposedCanvasInAnyOrder) {
  const Bytes gif = MakeGif({{0, 4, 0, 1},    // all red, kept
                             {0, 2, 1, 3},    // green, then as before
                             {2, 2, 2, 2},    // blue, then cleared
                             {0, 1, 1, 1},    // green
                             {0, 4, 2, 1}});  // all blue
  const std::vector<std::vector<int>> expected = {
      {0, 0, 0, 0}, {1, 1, 0, 0}, {0, 0, 2, 2}, {1, 0, -1, -1}, {2, 2, 2, 2}};
  auto file = OpenPicture(gif);

  ASSERT_EQ(file->List(".frames").size(), 5u);
  for (const int k : {4, 2, 3, 0, 1, 2, 2, 4}) {
    EXPECT_EQ(Row(file->Read(".frames/00000" + std::to_string(k) + ".npy")),
              expected[static_cast<size_t>(k)])
        << k;
  }
  EXPECT_EQ(file->List(".pages").size(), 1u);
}

TEST(Animation, OfOneFrameIsAPictureWithoutFrames) {
  auto file = OpenPicture(MakeGif({{0, 4, 2, 1}}));

  for (const auto& entry : file->List("")) EXPECT_NE(entry.name, ".frames");
  EXPECT_TRUE(file->Lookup(".frames/000000.png").empty());
  EXPECT_EQ(Row(file->Read(".pages/0001.npy")), (std::vector{2, 2, 2, 2}));
}

TEST(Animation, DecodesNeighboursTogether) {
  auto file = OpenPicture(
      MakeGif({{0, 4, 0, 1}, {0, 2, 1, 1}, {2, 2, 2, 1}, {0, 4, 1, 1}}));

  const auto plan =
      file->MakePlan({".frames/000002.png", ".frames/000001.png"});

  ASSERT_EQ(plan.groups.size(), 1u);
  EXPECT_EQ(plan.groups[0].ranges.size(), 1u);
  // An opaque frame over everything needs none before it.
  const auto last = file->MakePlan({".frames/000003.png"});
  const auto& range = last.groups.at(0).ranges.at(0);
  EXPECT_LT(range.end - range.begin, file->payload().size() / 2);
}

TEST(Hostile, BombsAreErrorsNotMemory) {
  // A PNG that says 60000 x 60000 in its header and holds nothing.
  Bytes png = Encoded(FormulaRaster(8, 8), ImageFormat::kPng);
  for (const size_t at : {16u, 20u}) {
    png[at + 2] = 0xea;
    png[at + 3] = 0x60;
  }
  auto bomb = OpenPicture(png, ROWFS_LAYOUT_CONTAINER);
  EXPECT_TRUE(bomb->Read(".pages/0001.png").empty());
  EXPECT_NE(bomb->decode_error(), "");

  Bytes gif = MakeGif({{0, 4, 0, 1}, {0, 4, 1, 1}});
  gif[6] = gif[7] = gif[8] = gif[9] = 0xff;  // the canvas
  auto canvas = OpenPicture(gif, ROWFS_LAYOUT_CONTAINER);
  EXPECT_TRUE(canvas->Read(".frames/000001.png").empty());
}

TEST(Hostile, ACutFileIsAnErrorNotAGrayPicture) {
  const Raster raster = FormulaRaster(64, 64);
  for (const ImageFormat format :
       {ImageFormat::kJpg, ImageFormat::kPng, ImageFormat::kWebp}) {
    Bytes bytes = Encoded(raster, format);
    bytes.resize(bytes.size() * 3 / 4);
    for (const int layout : {ROWFS_LAYOUT_STORED, ROWFS_LAYOUT_CONTAINER}) {
      video_test::IngestSpec spec;
      spec.layout = layout;
      auto ingested = video_test::Ingest(bytes, "a", spec);
      if (ingested.code != 0) continue;
      video_test::OpenIndex file(std::move(ingested), "");
      EXPECT_TRUE(file.Read(".pages/0001.png").empty())
          << plugin::ImageExtension(format);
    }
  }
}

TEST(Hostile, NoTruncationAndNoFlippedByteEndsTheProcess) {
  std::vector<Bytes> files;
  for (const ImageFormat f :
       {ImageFormat::kJpg, ImageFormat::kPng, ImageFormat::kWebp,
        ImageFormat::kBmp, ImageFormat::kPpm}) {
    files.push_back(Encoded(FormulaRaster(24, 17), f));
  }
  files.push_back(MakeGif({{0, 4, 0, 1}, {0, 2, 1, 3}, {2, 2, 2, 2}}));
  uint32_t seed = 1;
  for (const Bytes& whole : files) {
    for (int round = 0; round < 60; ++round) {
      Bytes bytes = whole;
      seed = seed * 1664525 + 1013904223;
      if (round % 2 == 0) {
        bytes.resize(seed % (bytes.size() + 1));
      } else {
        bytes[seed % bytes.size()] ^= static_cast<uint8_t>(1u << (seed >> 29));
      }
      for (const int layout : {ROWFS_LAYOUT_STORED, ROWFS_LAYOUT_CONTAINER}) {
        video_test::IngestSpec spec;
        spec.layout = layout;
        auto ingested = video_test::Ingest(bytes, "a", spec);
        if (ingested.code != 0) continue;
        video_test::OpenIndex file(std::move(ingested), "");
        ASSERT_EQ(file.code(), 0) << file.error();
        file.Read(".pages/0001.png");
        file.Read(".frames/000001.png");
      }
    }
  }
}

TEST(Index, RefusesEveryFlippedByte) {
  auto whole = video_test::Ingest(
      Encoded(FormulaRaster(24, 17), ImageFormat::kJpg), "a.jpg", {});
  for (size_t i = 0; i < whole.stream_info.size(); i += 7) {
    auto copy = whole;
    copy.stream_info[i] ^= 0x10;
    EXPECT_NE(video_test::OpenIndex(copy, "").code(), 0) << i;
  }
  for (size_t i = 0; i < whole.entries.size(); ++i) {
    auto copy = whole;
    copy.entries[i] ^= 0x10;
    EXPECT_NE(video_test::OpenIndex(copy, "").code(), 0) << i;
  }
}

TEST(Index, ListsTheTopFromAPrefix) {
  auto whole = video_test::Ingest(
      Encoded(FormulaRaster(24, 17), ImageFormat::kJpg), "a.jpg", {});
  rowfs_index* index = nullptr;
  rowfs_error error = {};
  const size_t prefix = std::min<size_t>(512, whole.stream_info.size());

  ASSERT_EQ(rowfs_plugin_entry()->open({whole.stream_info.data(), prefix},
                                       {nullptr, 0}, whole.payload.size(),
                                       {nullptr, 0}, &index, &error),
            0);

  int entries = 0;
  rowfs_entry_sink sink = {&entries, [](void* ctx, const rowfs_entry*) {
                             ++*static_cast<int*>(ctx);
                             return int32_t{0};
                           }};
  EXPECT_EQ(rowfs_plugin_entry()->list(index, {"", 0}, 0, 100, &sink, &error),
            0);
  EXPECT_EQ(entries, 3);
  EXPECT_EQ(
      rowfs_plugin_entry()->list(index, {".pages", 6}, 0, 9, &sink, &error),
      ROWFS_E_NEED_ENTRIES);
  rowfs_plugin_entry()->close(index);
}

}  // namespace
}  // namespace rowfs::image_test
