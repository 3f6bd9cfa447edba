// Files of frames do not depend on what was read before, in whatever order and
// company; and what a decoder knows is used.
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <random>

#include "tests/index/plugins/video/harness.h"

namespace rowfs::video_test {
namespace {

// Large enough to be made in two bands, GOPs of 12, B-frames that others need.
constexpr char kBands[] =
    "$FF -f lavfi -i testsrc2=size=426x240:rate=25:duration=2 -an -pix_fmt "
    "yuv420p -c:v libx264 -x264-params keyint=12:min-keyint=12:bframes=3:"
    "b-pyramid=normal:scenecut=0 $OUT";

Ingested MakeBands() {
  EXPECT_TRUE(MakeVideo("bands.mp4", kBands));
  return Ingest(ReadFile(CorpusFolder() + "/bands.mp4"), "bands.mp4", {});
}

std::string Frame(size_t k, const char* extension = "jpg") {
  std::string digits = std::to_string(k);
  return ".frames/" + std::string(6 - digits.size(), '0') + digits + "." +
         extension;
}

TEST(Session, EveryOrderGivesTheSameBytes) {
  const Ingested ingested = MakeBands();
  OpenIndex forwards(ingested, "");
  std::vector<Bytes> files;
  for (size_t k = 0; k < 50; ++k) files.push_back(forwards.Read(Frame(k)));
  std::vector<size_t> order(50);
  for (size_t k = 0; k < 50; ++k) order[k] = 49 - k;
  for (unsigned seed = 0; seed < 4; ++seed) {
    OpenIndex fresh(ingested, "");
    for (const size_t k : order) {
      ASSERT_EQ(files[k], fresh.Read(Frame(k))) << k << " seed " << seed;
    }
    std::shuffle(order.begin(), order.end(), std::mt19937(seed));
  }
}

TEST(Session, FramesAskedForTogetherAreThoseAskedForAlone) {
  const Ingested ingested = MakeBands();
  OpenIndex together(ingested, "");
  OpenIndex alone(ingested, "");
  std::vector<std::string> paths;
  for (size_t k = 5; k < 40; ++k) {
    paths.push_back(Frame(k, k % 3 == 0 ? "png" : "jpg"));
  }
  const Plan plan = together.MakePlan(paths);
  size_t seen = 0;
  for (const Group& group : plan.groups) {
    const std::vector<Bytes> files = together.Decode(group);
    for (size_t i = 0; i < files.size(); ++i, ++seen) {
      EXPECT_FALSE(files[i].empty());
      EXPECT_EQ(alone.Read(paths[group.items[i]]), files[i])
          << paths[group.items[i]];
    }
  }
  EXPECT_EQ(paths.size(), seen);
}

TEST(Session, BandsOfAJpegAreThePictureOfFfmpeg) {
  const Ingested ingested = MakeBands();
  OpenIndex index(ingested, "");
  const std::string file = CorpusFolder() + "/bands-17.jpg";
  WriteFile(file, index.Read(Frame(17)));
  const Bytes shown =
      RunCommand("ffmpeg -nostdin -loglevel error -i '" + file +
                 "' -vf format=rgb24 -f rawvideo - 2>&1 </dev/null");
  const Bytes real = PpmPixels(index.Read(Frame(17, "ppm")));
  ASSERT_EQ(real.size(), shown.size());
  double sum = 0;
  for (size_t i = 0; i < real.size(); ++i) sum += std::abs(real[i] - shown[i]);
  EXPECT_LT(sum / static_cast<double>(real.size()), 3.0);
}

TEST(Session, ReadersAtSeveralPlacesHaveADecoderEach) {
  const Ingested ingested = MakeBands();
  OpenIndex whole(ingested, "");
  std::vector<Bytes> files;
  for (size_t k = 0; k < 50; ++k) files.push_back(whole.Read(Frame(k)));
  OpenIndex index(ingested, "");
  // What a reader's decoder has been given once is not looked at again.
  std::map<size_t, uint64_t> known;
  for (size_t k = 0; k < 10; ++k) {
    for (const size_t place : {0, 12, 24}) {
      const Plan plan = index.MakePlan({Frame(place + k)});
      ASSERT_EQ(1u, plan.groups.size());
      const Group& group = plan.groups[0];
      EXPECT_EQ(files[place + k], index.Decode(group, known[place])[0])
          << place + k;
      known[place] = std::max(known[place], group.ranges.back().end);
    }
  }
}

TEST(Session, GoingBackwardsDecodesAGopOnce) {
  const Ingested ingested = MakeBands();
  OpenIndex whole(ingested, "");
  OpenIndex index(ingested, "");
  std::map<uint64_t, uint64_t> known;  // by where a GOP begins
  for (size_t k = 48; k-- > 0;) {
    const Plan plan = index.MakePlan({Frame(k)});
    ASSERT_EQ(1u, plan.groups.size());
    const Group& group = plan.groups[0];
    uint64_t& fed = known[group.ranges[0].begin];
    EXPECT_EQ(whole.Read(Frame(k)), index.Decode(group, fed)[0]) << k;
    // The first of all is read like any frame, alone.
    if (k < 36) fed = std::max(fed, group.ranges[0].end);
  }
}

}  // namespace
}  // namespace rowfs::video_test
