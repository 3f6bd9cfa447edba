// The sound of videos as files, against one decode from the start by ffmpeg:
// the samples of all segments and of windows, ingested and not.
#include <random>

#include "tests/index/plugins/video/harness.h"

namespace rowfs::video_test {
namespace {

constexpr char kSources[] =
    "-f lavfi -i testsrc2=s=96x64:r=25:d=3.4 -f lavfi -i "
    "'aevalsrc=0.4*sin(440*2*PI*t)+0.2*sin((200+900*t)*2*PI*t)"
    "|0.3*sin(660*2*PI*t):s=44100:d=3.37'";
constexpr char kH264[] = "-c:v libx264 -preset ultrafast -g 25 ";

struct Kind {
  const char* file;
  const char* how;
  bool exact = true;  // equal bit for bit, not only in length
  const char* raw = "s16le";
};

void PrintTo(const Kind& kind, std::ostream* out) { *out << kind.file; }

const Kind kKinds[] = {
    {"aac.mp4", "-c:a aac -aac_pns 0"},
    {"frag.mp4", "-c:a aac -aac_pns 0 -movflags +frag_keyframe+empty_moov"},
    {"six.mp4", "-ac 6 -c:a aac -aac_pns 0"},
    {"mp3.mp4", "-c:a libmp3lame"},
    {"noise.mp4", "-c:a aac -b:a 48k", false},
    {"opus.mp4", "-c:a libopus", false},
    {"pcm.mov", "-c:a pcm_s16le"},
    {"be24.mov", "-c:a pcm_s24be", true, "s24le"},
    {"alac.mov", "-sample_fmt s16p -c:a alac"},
    {"flac.mkv", "-sample_fmt s16 -c:a flac"},
    {"aac.mkv", "-c:a aac -aac_pns 0"},
    {"vorbis.mkv", "-c:a libvorbis"},
    {"ac3.mkv", "-c:a ac3", false},
    {"aac.ts", "-c:a aac -aac_pns 0"},
    {"ac3.ts", "-c:a ac3", false},
    {"mp3.avi", "-c:a libmp3lame"},
    {"mp2.mpg", "-c:v mpeg2video -c:a mp2", false},
};

Bytes Sequential(const std::string& path, const Kind& kind) {
  const bool opus = std::string(kind.file).starts_with("opus");
  return RunCommand("ffmpeg -nostdin -loglevel quiet -threads 1 " +
                    std::string(opus ? "-c:a libopus " : "") + "-i '" + path +
                    "' -map 0:a:0 -c:a pcm_" + kind.raw + " -f " + kind.raw +
                    " - </dev/null");
}

uint32_t Little32(const Bytes& bytes, size_t at) {
  return bytes[at] | uint32_t{bytes[at + 1]} << 8 |
         uint32_t{bytes[at + 2]} << 16 | uint32_t{bytes[at + 3]} << 24;
}

Bytes WavData(const Bytes& wav) {
  for (size_t at = 12; at + 8 <= wav.size();) {
    const uint32_t size = Little32(wav, at + 4);
    if (std::memcmp(wav.data() + at, "data", 4) == 0) {
      return Bytes(wav.begin() + static_cast<long>(at) + 8,
                   wav.begin() + static_cast<long>(at + 8 + size));
    }
    at += 8 + size + size % 2;
  }
  return {};
}

Bytes Segments(OpenIndex* index) {
  Bytes all;
  for (const FileEntry& entry : index->List(".segments")) {
    const Bytes file = index->Read(".segments/" + entry.name);
    EXPECT_EQ(entry.size, file.size())
        << entry.name << " " << index->decode_error();
    const Bytes data = WavData(file);
    all.insert(all.end(), data.begin(), data.end());
  }
  return all;
}

std::string MakeKind(const Kind& kind) {
  const std::string name = std::string("heard_") + kind.file;
  const std::string how = kind.how;
  const char* video = how.find("-c:v") == std::string::npos ? kH264 : "";
  EXPECT_TRUE(MakeVideo(
      name, std::string("$FF ") + kSources + " " + video + how + " \"$OUT\""));
  return CorpusFolder() + "/" + name;
}

class VideoSoundTest : public ::testing::TestWithParam<Kind> {
 protected:
  void ExpectSound(const Ingested& ingested) {
    ASSERT_EQ(ingested.code, ROWFS_OK) << ingested.error;
    OpenIndex index(ingested, "");
    ASSERT_EQ(index.code(), ROWFS_OK) << index.error();
    const Bytes all = Segments(&index);
    const Bytes expected = Sequential(path_, GetParam());
    ASSERT_EQ(all.size(), expected.size());
    EXPECT_TRUE(!GetParam().exact || all == expected);
    ExpectWindowsCutFrom(&index, all);
  }

  void ExpectWindowsCutFrom(OpenIndex* index, const Bytes& all) {
    const size_t frame = WavData(index->Read(".at/0-1s.wav")).size();
    ASSERT_GT(frame, 0u);
    const size_t total = all.size() / frame;
    std::mt19937 random(7);
    for (int i = 0; i < 6; ++i) {
      size_t from = random() % total;
      size_t to = random() % total;
      if (from > to) std::swap(from, to);
      const std::string path =
          ".at/" + std::to_string(from) + "-" + std::to_string(++to) + "s.wav";
      const Bytes data = WavData(index->Read(path));
      ASSERT_EQ(data.size(), (to - from) * frame) << index->decode_error();
      EXPECT_TRUE(std::equal(data.begin(), data.end(),
                             all.begin() + static_cast<long>(from * frame)))
          << path;
    }
  }

  std::string path_ = MakeKind(GetParam());
  Bytes file_ = ReadFile(path_);
};

TEST_P(VideoSoundTest, StoredVideoIsHeardAsTheSource) {
  ExpectSound(Ingest(file_, GetParam().file, {}));
}

TEST_P(VideoSoundTest, VideoIsHeardWithoutIngest) {
  ExpectSound(Ingest(file_, GetParam().file,
                     {ROWFS_LAYOUT_CONTAINER, ROWFS_VERIFY_OFF, false}));
}

INSTANTIATE_TEST_SUITE_P(All, VideoSoundTest, ::testing::ValuesIn(kKinds),
                         [](const auto& test) {
                           std::string name = test.param.file;
                           std::replace(name.begin(), name.end(), '.', '_');
                           return name;
                         });

// A second inside one GOP is one range; one that crosses GOPs has what lies
// between them left out when that is much.
TEST(VideoSoundRanges, ASegmentWithinAGopIsOneRange) {
  const Kind kind = {"onegop.mp4", "-c:a aac -aac_pns 0 -g 1000"};
  OpenIndex index(Ingest(ReadFile(MakeKind(kind)), kind.file, {}), "");
  for (const FileEntry& entry : index.List(".segments")) {
    const Plan plan = index.MakePlan({".segments/" + entry.name});
    ASSERT_EQ(plan.groups.size(), 1u);
    EXPECT_EQ(plan.groups[0].ranges.size(), 1u) << entry.name;
    EXPECT_EQ(entry.attributes.at("range"),
              std::to_string(plan.groups[0].ranges[0].begin) + "-" +
                  std::to_string(plan.groups[0].ranges[0].end));
  }
}

TEST(VideoSoundTimes, WindowsCountFromTheStartOfTheMedia) {
  const Kind kind = {"late.mkv", "-c:a flac -sample_fmt s16"};
  const std::string name = std::string("heard_") + kind.file;
  ASSERT_TRUE(MakeVideo(name,
                        "$FF -f lavfi -i testsrc2=s=96x64:r=25:d=3 "
                        "-itsoffset 0.5 -f lavfi -i sine=d=2:r=8000 " +
                            std::string(kH264) + kind.how + " \"$OUT\""));
  const std::string path = CorpusFolder() + "/" + name;
  OpenIndex index(Ingest(ReadFile(path), kind.file, {}), "");
  const Bytes all = Segments(&index);
  ASSERT_EQ(all.size(), 2u * 2 * 8000);
  EXPECT_EQ(WavData(index.Read(".at/0.75-1.5.wav")),
            Bytes(all.begin() + 2 * 2000, all.begin() + 2 * 8000));
  index.Lookup(".at/0.25-1.5.wav");  // begins before the sound does
  EXPECT_EQ(index.last(), ROWFS_E_NOT_FOUND);
  index.Lookup(".at/1-2.75.wav");  // and ends after it
  EXPECT_EQ(index.last(), ROWFS_E_NOT_FOUND);
  EXPECT_EQ(index.Select(".segments", "0.75", "1.5").size(), 1u);
}

TEST(VideoSoundTimes, AVideoWithoutSoundHasNoSegments) {
  ASSERT_TRUE(
      MakeVideo("heard_mute.mp4", "$FF -f lavfi -i testsrc2=s=96x64:r=25:d=1 " +
                                      std::string(kH264) + "\"$OUT\""));
  OpenIndex index(
      Ingest(ReadFile(CorpusFolder() + "/heard_mute.mp4"), "mute.mp4", {}), "");
  for (const FileEntry& entry : index.List("")) {
    EXPECT_NE(entry.name, ".segments");
  }
  index.Lookup(".at/0-0.5.wav");
  EXPECT_EQ(index.last(), ROWFS_E_NOT_FOUND);
}

TEST(VideoSoundTimes, ConfigurationChangesLengthAndSamples) {
  const Kind kind = {"aac.mp4", "-c:a aac -aac_pns 0"};
  OpenIndex index(Ingest(ReadFile(MakeKind(kind)), kind.file, {}),
                  "segment=0.5,sample=f32");
  const auto segments = index.List(".segments");
  ASSERT_EQ(segments.size(), 7u);
  EXPECT_EQ(WavData(index.Read(".segments/000001.wav")).size(), 22050u * 2 * 4);
}

}  // namespace
}  // namespace rowfs::video_test
