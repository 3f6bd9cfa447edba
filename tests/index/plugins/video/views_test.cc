// What the views of a video are called, hold and refuse.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/index/plugins/video/harness.h"

namespace rowfs::video_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr char kNtsc[] =
    "$FF -f lavfi -i testsrc2=size=96x64:rate=30000/1001:duration=1 -an "
    "-pix_fmt yuv420p -c:v libx264 -g 10 -bf 2 $OUT";

std::unique_ptr<OpenIndex> OpenVideo(const std::string& name,
                                     const std::string& recipe,
                                     const std::string& config = "",
                                     IngestSpec spec = {}) {
  if (!MakeVideo(name, recipe)) return nullptr;
  const Bytes file = ReadFile(CorpusFolder() + "/" + name);
  Ingested ingested = Ingest(file, name, spec);
  EXPECT_EQ(ROWFS_OK, ingested.code) << ingested.error;
  return std::make_unique<OpenIndex>(std::move(ingested), config);
}

std::vector<std::string> Names(const std::vector<FileEntry>& entries) {
  std::vector<std::string> names;
  for (const FileEntry& e : entries) names.push_back(e.name);
  return names;
}

TEST(VideoViews, StandBesideTheBlob) {
  auto index = OpenVideo("ntsc.mp4", kNtsc);
  ASSERT_NE(nullptr, index);

  EXPECT_THAT(Names(index->List("")),
              ElementsAre(".mp4", ".frames", ".keyframes", ".gops", ".at",
                          ".clips", ".info.json"));
  EXPECT_THAT(Names(index->List(".keyframes")),
              ElementsAre("000000.jpg", "000010.jpg", "000020.jpg"));
  EXPECT_THAT(Names(index->List(".gops")),
              ElementsAre("000000.mp4", "000001.mp4", "000002.mp4"));
  EXPECT_TRUE(index->List(".at").empty());
}

TEST(VideoViews, AreListedFromTheHeadAlone) {
  ASSERT_TRUE(MakeVideo("ntsc.mp4", kNtsc));
  const Bytes file = ReadFile(CorpusFolder() + "/ntsc.mp4");
  const Ingested all = Ingest(file, "ntsc.mp4", IngestSpec());
  ASSERT_EQ(ROWFS_OK, all.code) << all.error;
  OpenIndex whole(all, "");
  const rowfs_plugin* plugin = rowfs_plugin_entry();
  rowfs_index* head = nullptr;
  rowfs_error error = {};
  ASSERT_EQ(ROWFS_OK,
            plugin->open({all.stream_info.data(), 512}, {nullptr, 0},
                         all.payload.size(), {nullptr, 0}, &head, &error))
      << error.message;
  std::vector<std::pair<std::string, uint64_t>> listed;
  const auto put = [](void* ctx, const rowfs_entry* e) -> int32_t {
    static_cast<std::vector<std::pair<std::string, uint64_t>>*>(ctx)
        ->emplace_back(std::string(e->name.data, e->name.size), e->size);
    return 0;
  };
  const rowfs_entry_sink sink = {&listed, put};

  EXPECT_EQ(ROWFS_OK, plugin->list(head, {nullptr, 0}, 0, 100, &sink, &error));
  EXPECT_EQ(ROWFS_E_NEED_ENTRIES,
            plugin->list(head, {".frames", 7}, 0, 1, &sink, &error));
  plugin->close(head);

  const std::vector<FileEntry> expected = whole.List("");
  ASSERT_EQ(expected.size(), listed.size());
  for (size_t i = 0; i < listed.size(); ++i) {
    EXPECT_EQ(expected[i].name, listed[i].first);
    EXPECT_EQ(expected[i].size, listed[i].second);
  }
}

TEST(VideoViews, SizesToldBeforeDecodingAreTrue) {
  auto index = OpenVideo("ntsc.mp4", kNtsc);
  ASSERT_NE(nullptr, index);

  for (const char* path :
       {".mp4", ".info.json", ".gops/000001.mp4", ".clips/0.1-0.5.mp4",
        ".frames/000007.bmp", ".frames/000007.ppm", ".frames/000007.npy",
        ".at/0.5.npy"}) {
    const std::vector<FileEntry> entry = index->Lookup(path);
    ASSERT_EQ(1u, entry.size()) << path << ": " << index->last_error();
    EXPECT_TRUE(entry[0].flags & ROWFS_ENTRY_SIZE_EXACT) << path;
    EXPECT_EQ(entry[0].size, index->Read(path).size()) << path;
  }
  for (const char* path :
       {".frames/000007.jpg", ".frames/000007.png", ".frames/000007.webp"}) {
    const std::vector<FileEntry> entry = index->Lookup(path);
    ASSERT_EQ(1u, entry.size()) << path;
    EXPECT_FALSE(entry[0].flags & ROWFS_ENTRY_SIZE_EXACT) << path;
    EXPECT_GT(entry[0].size, 0u) << path;
    EXPECT_FALSE(index->Read(path).empty()) << path;
  }
}

TEST(VideoViews, ShowTheFrameOfATimeAndShareItsContent) {
  auto index = OpenVideo("ntsc.mp4", kNtsc);
  ASSERT_NE(nullptr, index);
  const std::vector<std::pair<std::string, int>> times = {
      {"0", 0},
      {"0.000", 0},
      {"0.0333", 0},
      {"0.033366", 0},
      {"0.033367", 1},
      {"0.1", 2},
      {"00:00:00.5", 14},
      {"0.968", 29},
      {"1.0009", 29},
      {"1.001", -1},
      {"99999999999999999999", -1},
      {"1e3", -1},
      {"nan", -1},
      {"-0", -1},
      {"", -1},
      {"0.5.2", -1},
      {"+1", -1},
      {" 1", -1},
      {"0:0:1", -1}};

  for (const auto& [text, frame] : times) {
    const std::vector<FileEntry> e = index->Lookup(".at/" + text + ".jpg");
    if (frame < 0) {
      EXPECT_EQ(ROWFS_E_NOT_FOUND, index->last()) << text;
      continue;
    }
    ASSERT_EQ(1u, e.size()) << text << ": " << index->last_error();
    char name[32];
    std::snprintf(name, sizeof(name), ".frames/%06d.jpg", frame);
    EXPECT_EQ(name, e[0].canonical) << text;
    EXPECT_EQ(text + ".jpg", e[0].name);
  }
}

TEST(VideoViews, FindTheSameFrameByItsOwnPts) {
  auto index = OpenVideo("ntsc.mp4", kNtsc);
  ASSERT_NE(nullptr, index);

  for (const FileEntry& frame : index->List(".frames")) {
    const auto at = index->Lookup(".at/" + frame.attributes.at("pts") + ".jpg");
    ASSERT_EQ(1u, at.size()) << index->last_error();
    EXPECT_EQ(".frames/" + frame.name, at[0].canonical);
  }
}

TEST(VideoViews, SelectTheFramesOfAWindow) {
  auto index = OpenVideo("ntsc.mp4", kNtsc);
  ASSERT_NE(nullptr, index);

  EXPECT_THAT(
      Names(index->Select(".frames", "0.1", "0.2")),
      ElementsAre("000002.jpg", "000003.jpg", "000004.jpg", "000005.jpg"));
  EXPECT_THAT(Names(index->Select(".keyframes", "0", "0.5")),
              ElementsAre("000000.jpg", "000010.jpg"));
  index->Select(".frames", "1.001", "2");
  EXPECT_EQ(ROWFS_E_NOT_FOUND, index->last());
  index->Select(".frames", "0.2", "0.1");
  EXPECT_EQ(ROWFS_E_INVALID, index->last());
}

TEST(VideoViews, RefuseWhatDoesNotExist) {
  auto index = OpenVideo("ntsc.mp4", kNtsc);
  ASSERT_NE(nullptr, index);

  for (const char* path :
       {".frames/000030.jpg", ".frames/7.jpg", ".frames/0000007.jpg",
        ".frames/000007.gif", ".frames/000007", ".frames/", ".frames/x.jpg",
        ".keyframes/000001.jpg", ".gops/000003.mp4", ".gops/000000.mkv",
        ".clips/0.5.mp4", ".clips/0.5-0.5.mp4", ".clips/5-6.mp4", ".nothing",
        ".nothing/x", "", "/", ".frames/../x", ".mkv"}) {
    index->Lookup(path);
    EXPECT_EQ(ROWFS_E_NOT_FOUND, index->last()) << path;
    EXPECT_EQ(ROWFS_E_NOT_FOUND, index->MakePlan({path}).code) << path;
  }
}

TEST(VideoViews, PagesOfAListingMeet) {
  auto index = OpenVideo("ntsc.mp4", kNtsc);
  ASSERT_NE(nullptr, index);
  const std::vector<std::string> all = Names(index->List(".frames"));
  ASSERT_EQ(30u, all.size());

  std::vector<std::string> pages;
  for (uint64_t start = 0; start < 40; start += 7) {
    for (const std::string& name : Names(index->List(".frames", start, 7))) {
      pages.push_back(name);
    }
  }

  EXPECT_EQ(all, pages);
}

TEST(VideoViews, TakeTheirConfiguration) {
  auto index = OpenVideo("ntsc.mp4", kNtsc, "frames=png,quality=50,segment=2");
  ASSERT_NE(nullptr, index);
  EXPECT_EQ("000000.png", index->List(".frames", 0, 1).at(0).name);

  for (const char* bad :
       {"frames=gif", "quality=0", "ppm=12", "x=1", "=", "frames"}) {
    auto refused = OpenVideo("ntsc.mp4", kNtsc, bad);
    EXPECT_EQ(ROWFS_E_INVALID, refused->code()) << bad;
  }
}

TEST(VideoViews, OneFrameIsOneRangeFromItsKeyToItself) {
  auto index = OpenVideo("ntsc.mp4", kNtsc);
  ASSERT_NE(nullptr, index);
  std::vector<FileEntry> frames = index->List(".frames");

  for (const FileEntry& frame : frames) {
    const Plan plan = index->MakePlan({".frames/" + frame.name});
    ASSERT_EQ(1u, plan.groups.size());
    ASSERT_EQ(1u, plan.groups[0].ranges.size());
    const rowfs_range r = plan.groups[0].ranges[0];
    EXPECT_EQ(std::to_string(r.begin) + "-" + std::to_string(r.end),
              frame.attributes.at("range"));
  }
  // A key frame needs its own packet and nothing else.
  const std::string info = index->Read(".info.json").empty() ? "" : "there";
  EXPECT_EQ("there", info);
  const Plan key = index->MakePlan({".keyframes/000010.jpg"});
  const Plan next = index->MakePlan({".frames/000011.jpg"});
  ASSERT_EQ(1u, key.groups.size());
  EXPECT_EQ(key.groups[0].ranges[0].begin, next.groups[0].ranges[0].begin);
  EXPECT_LT(key.groups[0].ranges[0].end, next.groups[0].ranges[0].end);
}

TEST(VideoViews, FramesOfOneGopShareADecode) {
  auto index = OpenVideo("ntsc.mp4", kNtsc);
  ASSERT_NE(nullptr, index);

  const Plan plan =
      index->MakePlan({".frames/000013.ppm", ".frames/000011.png",
                       ".at/0.36.ppm", ".frames/000025.ppm", ".info.json"});

  ASSERT_EQ(ROWFS_OK, plan.code) << plan.error;
  ASSERT_EQ(2u, plan.groups.size());
  EXPECT_EQ(1u, plan.files.size());
  EXPECT_EQ(3u, plan.groups[0].items.size());
  const std::vector<Bytes> out = index->Decode(plan.groups[0]);
  for (size_t i = 0; i < 3; ++i) {
    const char* paths[] = {".frames/000013.ppm", ".frames/000011.png",
                           ".frames/000010.ppm"};
    EXPECT_EQ(index->Read(paths[plan.groups[0].items[i]]), out[i]);
  }
}

TEST(VideoViews, KeptContainersComeBackByteForByte) {
  IngestSpec spec;
  spec.keep_container = true;
  for (const auto& [name, recipe] :
       std::vector<std::pair<std::string, std::string>>{
           {"ntsc.mp4", kNtsc},
           {"kept.ts",
            "$FF -f lavfi -i testsrc2=size=96x64:rate=25:duration=1 -an "
            "-c:v mpeg2video -g 5 -bf 2 $OUT"},
           {"kept.mkv",
            "$FF -f lavfi -i testsrc2=size=96x64:rate=25:duration=1 -f lavfi "
            "-i sine=duration=1 -pix_fmt yuv420p -c:v libx264 -g 10 $OUT"}}) {
    auto index = OpenVideo(name, recipe, "", spec);
    ASSERT_NE(nullptr, index) << name;
    const Bytes source = ReadFile(CorpusFolder() + "/" + name);
    const std::string original = ".original." + name.substr(name.find('.') + 1);

    const std::vector<FileEntry> entry = index->Lookup(original);

    ASSERT_EQ(1u, entry.size()) << name << ": " << index->last_error();
    EXPECT_EQ(source.size(), entry[0].size);
    EXPECT_EQ(source, index->Read(original)) << name;
  }
}

TEST(VideoViews, CoverArtIsAFileAndNoFrame) {
  auto index = OpenVideo(
      "cover_view.mp4",
      "$FF -f lavfi -i testsrc2=size=96x64:rate=25:duration=0.4 -an -pix_fmt "
      "yuv420p -c:v libx264 v.mp4 && $FF -f lavfi -i mandelbrot=size=64x64 "
      "-frames:v 1 c.jpg && $FF -i c.jpg -i v.mp4 -map 0 -map 1 -c copy "
      "-disposition:v:0 attached_pic $OUT && cp c.jpg ../cover_view.jpg");
  ASSERT_NE(nullptr, index);

  EXPECT_EQ(10u, index->List(".frames").size());
  EXPECT_EQ(ReadFile(CorpusFolder() + "/cover_view.jpg"),
            index->Read(".cover.jpg"));
}

TEST(VideoViews, PlainSoundIsRefused) {
  ASSERT_TRUE(MakeVideo("sound_only.mp4",
                        "$FF -f lavfi -i sine=duration=0.5 -c:a aac $OUT"));
  const Bytes file = ReadFile(CorpusFolder() + "/sound_only.mp4");

  const Ingested refused = Ingest(file, "sound_only.mp4", IngestSpec());

  EXPECT_EQ(ROWFS_E_UNSUPPORTED, refused.code);
  EXPECT_THAT(refused.error, HasSubstr("no video stream"));
}

}  // namespace
}  // namespace rowfs::video_test
