// Damaged, truncated and lying sounds: an error or the right size, never a
// crash, whatever is done with what comes out.
#include <random>

#include "tests/index/plugins/video/harness.h"

namespace rowfs {
namespace {

using video_test::Bytes;
using video_test::CorpusFolder;
using video_test::FileEntry;
using video_test::Ingest;
using video_test::Ingested;
using video_test::IngestSpec;
using video_test::MakeVideo;
using video_test::OpenIndex;
using video_test::ReadFile;

struct Sample {
  const char* file;
  const char* how;
};

void PrintTo(const Sample& sample, std::ostream* out) { *out << sample.file; }

const Sample kSamples[] = {
    {"hostile.wav", "-c:a pcm_s16le"}, {"hostile.aiff", "-c:a pcm_s16be"},
    {"hostile.flac", "-c:a flac"},     {"hostile.mp3", "-c:a libmp3lame"},
    {"hostile.m4a", "-c:a aac"},       {"hostile.aac", "-c:a aac"},
    {"hostile.opus", "-c:a libopus"},  {"hostile.ogg", "-c:a libvorbis"},
    {"hostile.ac3", "-c:a ac3"},       {"hostile.mka", "-c:a libopus"},
    {"hostile.caf", "-c:a alac"},
};

// Everything a program could do with what became of `file`.
void UseAll(const Bytes& file, const char* name) {
  for (const IngestSpec spec :
       {IngestSpec{ROWFS_LAYOUT_STORED, ROWFS_VERIFY_KEYS, false},
        IngestSpec{ROWFS_LAYOUT_CONTAINER, ROWFS_VERIFY_OFF, false}}) {
    Ingested ingested = Ingest(file, name, spec);
    if (ingested.code != ROWFS_OK) {
      EXPECT_FALSE(ingested.error.empty());
      continue;
    }
    OpenIndex index(std::move(ingested), "");
    ASSERT_EQ(index.code(), ROWFS_OK) << index.error();
    for (const FileEntry& entry : index.List(".segments", 0, 4)) {
      const Bytes bytes = index.Read(".segments/" + entry.name);
      // Whole or not at all.
      EXPECT_TRUE(bytes.empty() || bytes.size() == entry.size) << entry.name;
    }
    for (const FileEntry& entry : index.List("")) {
      if (entry.directory) continue;
      const Bytes bytes = index.Read(entry.name);
      EXPECT_TRUE(bytes.empty() || bytes.size() == entry.size) << entry.name;
    }
  }
}

class HostileSoundTest : public ::testing::TestWithParam<Sample> {
 protected:
  void SetUp() override {
    ASSERT_TRUE(MakeVideo(GetParam().file,
                          std::string("$FF -f lavfi -i "
                                      "sine=frequency=440:duration=1.2 ") +
                              GetParam().how + " \"$OUT\""));
    file_ = ReadFile(CorpusFolder() + "/" + GetParam().file);
    ASSERT_GT(file_.size(), 100u);
  }
  Bytes file_;
};

TEST_P(HostileSoundTest, TruncatedFilesGiveWhatIsThereOrAnError) {
  for (const size_t percent : {0u, 3u, 50u, 99u}) {
    Bytes cut = file_;
    cut.resize(file_.size() * percent / 100);
    UseAll(cut, GetParam().file);
  }
}

TEST_P(HostileSoundTest, FlippedBytesDoNoHarm) {
  std::mt19937 random(11);
  for (int round = 0; round < 6; ++round) {
    Bytes bad = file_;
    for (int i = 0; i < 1 + round; ++i) {
      // Heads are where the numbers are.
      const size_t reach =
          round % 2 == 0 ? std::min<size_t>(200, bad.size()) : bad.size();
      bad[random() % reach] = static_cast<uint8_t>(random());
    }
    UseAll(bad, GetParam().file);
  }
}

TEST_P(HostileSoundTest, AChangedIndexDoesNotOpen) {
  const Ingested good = Ingest(file_, GetParam().file, IngestSpec{});
  ASSERT_EQ(good.code, ROWFS_OK) << good.error;
  std::mt19937 random(5);
  for (int i = 0; i < 50; ++i) {
    Ingested bad = good;
    Bytes& part =
        i % 2 == 0 || bad.entries.empty() ? bad.stream_info : bad.entries;
    part[random() % part.size()] ^= static_cast<uint8_t>(1 + random() % 255);
    OpenIndex index(std::move(bad), "");
    EXPECT_NE(index.code(), ROWFS_OK);
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, HostileSoundTest, ::testing::ValuesIn(kSamples),
                         [](const auto& kind) {
                           std::string name = kind.param.file;
                           std::replace(name.begin(), name.end(), '.', '_');
                           return name;
                         });

// The blob changed behind the index: not its samples under its name.
TEST(HostileSound, APayloadThatChangedIsAnErrorOrStaysItsSize) {
  ASSERT_TRUE(MakeVideo("hostile.mp3",
                        "$FF -f lavfi -i sine=frequency=440:duration=1.2 "
                        "-c:a libmp3lame \"$OUT\""));
  Ingested ingested = Ingest(ReadFile(CorpusFolder() + "/hostile.mp3"),
                             "hostile.mp3", IngestSpec{});
  ASSERT_EQ(ingested.code, ROWFS_OK);
  std::fill(ingested.payload.begin() + 100, ingested.payload.end(), 0);
  OpenIndex index(std::move(ingested), "");

  EXPECT_TRUE(index.Read(".segments/000000.wav").empty());
  EXPECT_FALSE(index.decode_error().empty());
}

Bytes Wav(uint16_t channels, uint32_t rate, uint16_t bits, size_t data) {
  Bytes out;
  const auto put = [&](uint64_t v, size_t size) {
    for (size_t i = 0; i < size; ++i) {
      out.push_back(static_cast<uint8_t>(v >> (8 * i)));
    }
  };
  const auto text = [&](std::string_view s) {
    out.insert(out.end(), s.begin(), s.end());
  };
  text("RIFF");
  put(36 + data, 4);
  text("WAVEfmt ");
  put(16, 4);
  put(1, 2);
  put(channels, 2);
  put(rate, 4);
  put(uint64_t{rate} * channels * bits / 8, 4);
  put(uint64_t{channels} * bits / 8, 2);
  put(bits, 2);
  text("data");
  put(data, 4);
  out.resize(out.size() + std::min<size_t>(data, 4096));
  return out;
}

TEST(HostileSound, HeadersThatLieAreErrorsOrWhatIsThere) {
  UseAll(Wav(0, 44100, 16, 4000), "a.wav");
  UseAll(Wav(65535, 44100, 16, 4000), "a.wav");
  UseAll(Wav(2, 0, 16, 4000), "a.wav");
  UseAll(Wav(2, 0xffffffff, 16, 4000), "a.wav");
  UseAll(Wav(1, 8000, 7, 4000), "a.wav");
  UseAll(Wav(1, 8000, 16, 0xfffffff0), "a.wav");
  UseAll(Wav(1, 8000, 16, 0), "a.wav");
}

TEST(HostileSound, WindowsOutsideAreNotFound) {
  OpenIndex index(Ingest(Wav(1, 8000, 16, 4000), "a.wav", IngestSpec{}), "");
  ASSERT_EQ(index.code(), ROWFS_OK) << index.error();

  for (const char* path :
       {".at/0-1.wav", ".at/0.2-0.1.wav", ".at/0.1-0.1.wav", ".at/-1-2.wav",
        ".at/0-99999999999999999999s.wav", ".at/a-b.wav", ".at/0-.wav",
        ".at/0-0.1.mp3", ".segments/000001.wav", ".segments/x.wav",
        ".frames/000000.jpg", ".at/1e9-2e9.wav"}) {
    index.Lookup(path);
    EXPECT_EQ(index.last(), ROWFS_E_NOT_FOUND) << path;
  }
  EXPECT_EQ(index.Lookup(".at/0-0.25.wav").size(), 1u);
}

// Half a sample: to the even one.
TEST(HostileSound, TimesAreRoundedToTheNearestSample) {
  OpenIndex index(Ingest(Wav(1, 8000, 16, 4000), "a.wav", IngestSpec{}), "");

  const auto samples = [&](const std::string& path) {
    const auto found = index.Lookup(path);
    return found.empty() ? "" : found[0].attributes.at("samples");
  };
  EXPECT_EQ(samples(".at/0.0000625-0.01.wav"), "0-80");
  EXPECT_EQ(samples(".at/0.0001875-0.01.wav"), "2-80");
  EXPECT_EQ(samples(".at/0.0000626-0.01.wav"), "1-80");
  EXPECT_EQ(samples(".at/00:00:00.100-0.2.wav"), "800-1600");
  EXPECT_EQ(index.Lookup(".at/0-0.25.wav")[0].canonical,
            ".segments/000000.wav");
}

TEST(HostileSound, TheGridFollowsTheConfiguration) {
  const Ingested sound = Ingest(Wav(1, 8000, 16, 4000), "a.wav", IngestSpec{});
  OpenIndex index(sound, "segment=0.1,frames=png");
  ASSERT_EQ(index.code(), ROWFS_OK) << index.error();
  const auto segments = index.List(".segments");

  ASSERT_EQ(segments.size(), 3u);
  EXPECT_EQ(segments[0].size, 44u + 1600);
  EXPECT_EQ(segments[2].size, 44u + 800);
  OpenIndex wide(sound, "sample=f32");
  EXPECT_EQ(wide.Read(".segments/000000.wav").size(), 58u + 8000);
}

}  // namespace
}  // namespace rowfs
