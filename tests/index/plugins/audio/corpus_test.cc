// Every kind of sound the plugin reads, generated, against one decode from the
// start by ffmpeg: the samples of all segments, of any window, and of the file
// that is put together.
#include <cmath>
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
using video_test::RunCommand;
using video_test::WriteFile;

constexpr char kTone[] =
    "-f lavfi -i 'aevalsrc=0.4*sin(440*2*PI*t)+0.2*sin((200+900*t)*2*PI*t)"
    "|0.3*sin(660*2*PI*t):s=44100:d=3.37'";

// How a sound is compared with the decode from the start.
enum class Same {
  kEqual,  // bit for bit
  kNear,   // decoders add noise, or remember without end: little difference
};

struct Kind {
  const char* file;  // name in the corpus
  const char* how;   // arguments behind "$FF TONE", before the file
  Same same = Same::kEqual;
  const char* raw = "s16le";  // the views' samples
  const char* whole = "";     // extension of the playable file
};

void PrintTo(const Kind& kind, std::ostream* out) { *out << kind.file; }

const Kind kKinds[] = {
    {"s16.wav", "-c:a pcm_s16le", Same::kEqual, "s16le", ".wav"},
    {"u8.wav", "-ar 11025 -ac 1 -c:a pcm_u8", Same::kEqual, "u8", ".wav"},
    {"s24.wav", "-c:a pcm_s24le", Same::kEqual, "s24le", ".wav"},
    {"s32.wav", "-c:a pcm_s32le", Same::kEqual, "s32le", ".wav"},
    {"f32.wav", "-c:a pcm_f32le", Same::kEqual, "f32le", ".wav"},
    {"f64.wav", "-c:a pcm_f64le", Same::kEqual, "f64le", ".wav"},
    {"six.wav", "-ac 6 -c:a pcm_s16le", Same::kEqual, "s16le", ".wav"},
    {"rf64.wav", "-rf64 always -c:a pcm_s16le", Same::kEqual, "s16le", ".wav"},
    {"bext.wav", "-write_bext 1 -metadata description=x -c:a pcm_s16le",
     Same::kEqual, "s16le", ".wav"},
    {"alaw.wav", "-ar 8000 -ac 1 -c:a pcm_alaw", Same::kEqual, "s16le", ".wav"},
    {"mulaw.wav", "-ar 8000 -c:a pcm_mulaw", Same::kEqual, "s16le", ".wav"},
    {"adpcm.wav", "-c:a adpcm_ms", Same::kEqual, "s16le", ".wav"},
    {"ima.wav", "-c:a adpcm_ima_wav", Same::kEqual, "s16le", ".wav"},
    {"mp3.wav", "-c:a libmp3lame", Same::kEqual, "s16le", ".mp3"},
    {"s16.w64", "-c:a pcm_s16le", Same::kEqual, "s16le", ".wav"},
    {"s16.aiff", "-c:a pcm_s16be", Same::kEqual, "s16le", ".aiff"},
    {"s24.aiff", "-c:a pcm_s24be", Same::kEqual, "s24le", ".aiff"},
    {"s8.aiff", "-c:a pcm_s8", Same::kEqual, "u8", ".aiff"},
    {"f32.aiff", "-c:a pcm_f32be", Same::kEqual, "f32le", ".aiff"},
    {"s16.caf", "-c:a pcm_s16be", Same::kEqual, "s16le", ".aiff"},
    {"s24le.caf", "-c:a pcm_s24le", Same::kEqual, "s24le", ".wav"},
    {"alac.caf", "-sample_fmt s16p -c:a alac", Same::kEqual, "s16le", ".m4a"},
    {"s16.au", "-c:a pcm_s16be", Same::kEqual, "s16le", ".aiff"},
    {"s16.flac", "-sample_fmt s16 -c:a flac", Same::kEqual, "s16le", ".flac"},
    {"s24.flac", "-sample_fmt s32 -c:a flac", Same::kEqual, "s24le", ".flac"},
    {"mono.flac", "-sample_fmt s16 -ac 1 -ar 22050 -c:a flac", Same::kEqual,
     "s16le", ".flac"},
    {"flac.ogg", "-sample_fmt s16 -c:a flac", Same::kEqual, "s16le", ".flac"},
    {"flac.mka", "-sample_fmt s16 -c:a flac", Same::kEqual, "s16le", ".flac"},
    {"alac.m4a", "-sample_fmt s16p -c:a alac", Same::kEqual, "s16le", ".m4a"},
    {"alac24.m4a", "-sample_fmt s32p -c:a alac", Same::kEqual, "s24le", ".m4a"},
    {"cbr.mp3", "-c:a libmp3lame -b:a 128k", Same::kEqual, "s16le", ".mp3"},
    {"vbr.mp3", "-c:a libmp3lame -q:a 2", Same::kEqual, "s16le", ".mp3"},
    {"low.mp3", "-ar 16000 -ac 1 -c:a libmp3lame -b:a 8k", Same::kEqual,
     "s16le", ".mp3"},
    {"mpeg25.mp3", "-ar 11025 -ac 1 -c:a libmp3lame -b:a 16k", Same::kEqual,
     "s16le", ".mp3"},
    {"bare.mp3", "-c:a libmp3lame -write_xing 0 -id3v2_version 0", Same::kEqual,
     "s16le", ".mp3"},
    {"full.mp3", "-c:a libmp3lame -b:a 320k", Same::kEqual, "s16le", ".mp3"},
    {"mp2.mp2", "-c:a mp2 -b:a 192k", Same::kNear, "s16le", ".mp2"},
    {"plain.m4a", "-c:a aac -aac_pns 0 -b:a 96k", Same::kEqual, "s16le",
     ".m4a"},
    {"noise.m4a", "-c:a aac -b:a 64k", Same::kNear, "s16le", ".m4a"},
    {"adts.aac", "-c:a aac -aac_pns 0 -b:a 96k", Same::kEqual, "s16le", ".aac"},
    {"aac.mka", "-c:a aac -aac_pns 0", Same::kEqual, "s16le", ".m4a"},
    {"late.m4a", "-c:a aac -aac_pns 0 -movflags +frag_keyframe+empty_moov",
     Same::kEqual, "s16le", ".m4a"},
    {"opus.opus", "-c:a libopus -b:a 96k", Same::kNear, "s16le", ".opus"},
    {"speech.opus", "-ac 1 -c:a libopus -b:a 16k -application voip",
     Same::kNear, "s16le", ".opus"},
    {"short.opus", "-c:a libopus -frame_duration 2.5", Same::kNear, "s16le",
     ".opus"},
    {"opus.webm", "-c:a libopus", Same::kNear, "s16le", ".opus"},
    {"opus.mka", "-c:a libopus", Same::kNear, "s16le", ".opus"},
    {"vorbis.ogg", "-c:a libvorbis -q:a 4", Same::kEqual, "s16le", ".ogg"},
    {"vorbis.webm", "-c:a libvorbis", Same::kEqual, "s16le", ".ogg"},
    {"ac3.ac3", "-c:a ac3 -b:a 192k", Same::kNear, "s16le", ".ac3"},
    {"six.ac3", "-ac 6 -ar 48000 -c:a ac3", Same::kNear, "s16le", ".ac3"},
    {"eac3.eac3", "-ar 48000 -c:a eac3", Same::kNear, "s16le", ".eac3"},
    {"ac3.mka", "-ar 48000 -c:a ac3", Same::kNear, "s16le", ".m4a"},
    {"wavpack.wv", "-sample_fmt s16p -c:a wavpack", Same::kEqual, "s16le",
     ".wv"},
    {"tta.tta", "-sample_fmt s16 -c:a tta", Same::kEqual, "s16le", ".tta"},
};

std::string PathOf(const Kind& kind) {
  return CorpusFolder() + "/sound_" + kind.file;
}

// One decode from the start, as the views' samples.
Bytes Sequential(const std::string& path, const std::string& raw,
                 bool opus = false) {
  return RunCommand("ffmpeg -nostdin -loglevel quiet -threads 1 " +
                    std::string(opus ? "-c:a libopus " : "") + "-i '" + path +
                    "' -map 0:a:0 -c:a pcm_" + raw + " -f " + raw +
                    " - </dev/null");
}

uint32_t Little32(const Bytes& bytes, size_t at) {
  return bytes[at] | uint32_t{bytes[at + 1]} << 8 |
         uint32_t{bytes[at + 2]} << 16 | uint32_t{bytes[at + 3]} << 24;
}

// The samples of a WAV file.
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

double MeanError(const Bytes& a, const Bytes& b) {
  double sum = 0;
  for (size_t i = 0; i + 1 < a.size(); i += 2) {
    const auto x = static_cast<int16_t>(a[i] | a[i + 1] << 8);
    const auto y = static_cast<int16_t>(b[i] | b[i + 1] << 8);
    sum += std::abs(x - y);
  }
  return sum / (static_cast<double>(a.size()) / 2);
}

void ExpectSame(const Kind& kind, const Bytes& got, const Bytes& expected) {
  ASSERT_EQ(got.size(), expected.size());
  if (kind.same == Same::kEqual) {
    EXPECT_TRUE(got == expected) << "other samples";
  } else {
    EXPECT_LT(MeanError(got, expected), 60.0);
  }
}

class SoundCorpusTest : public ::testing::TestWithParam<Kind> {
 protected:
  void SetUp() override {
    const Kind& kind = GetParam();
    ASSERT_TRUE(
        MakeVideo(std::string("sound_") + kind.file,
                  std::string("$FF ") + kTone + " " + kind.how + " \"$OUT\""));
    file_ = ReadFile(PathOf(kind));
    opus_ = std::string(kind.file).find("opus") != std::string::npos;
    expected_ = Sequential(PathOf(kind), kind.raw, opus_);
    ASSERT_FALSE(expected_.empty());
  }

  Ingested Take(int layout, int verify, bool keep = false) {
    Ingested out =
        Ingest(file_, GetParam().file, IngestSpec{layout, verify, keep});
    EXPECT_EQ(out.code, ROWFS_OK) << out.error;
    return out;
  }

  void ExpectWindowsCutFrom(OpenIndex* index, const Bytes& all);
  void ExpectPlayable(OpenIndex* index);

  Bytes file_;
  Bytes expected_;
  bool opus_ = false;
};

void SoundCorpusTest::ExpectWindowsCutFrom(OpenIndex* index, const Bytes& all) {
  const size_t frame = WavData(index->Read(".at/0-1s.wav")).size();
  ASSERT_GT(frame, 0u);
  const size_t total = all.size() / frame;
  std::mt19937 random(7);
  for (int i = 0; i < 8; ++i) {
    size_t from = random() % total;
    size_t to = random() % total;
    if (from > to) std::swap(from, to);
    ++to;
    const std::string path =
        ".at/" + std::to_string(from) + "-" + std::to_string(to) + "s.wav";
    const video_test::Plan plan = index->MakePlan({path});
    ASSERT_EQ(plan.code, ROWFS_OK) << plan.error;
    if (!plan.groups.empty()) {
      EXPECT_LE(plan.groups[0].ranges.size(), 1u) << path;
    }
    const Bytes data = WavData(index->Read(path));
    ASSERT_EQ(data.size(), (to - from) * frame) << index->decode_error();
    EXPECT_TRUE(std::equal(data.begin(), data.end(),
                           all.begin() + static_cast<long>(from * frame)))
        << path;
  }
}

void SoundCorpusTest::ExpectPlayable(OpenIndex* index) {
  const FileEntry whole = index->List("")[0];
  ASSERT_EQ(whole.name, GetParam().whole);
  const Bytes file = index->Read(whole.name);
  ASSERT_EQ(whole.size, file.size());
  const std::string path = PathOf(GetParam()) + ".whole" + whole.name;
  WriteFile(path, file);
  EXPECT_TRUE(Sequential(path, GetParam().raw, opus_) == expected_);
  std::filesystem::remove(path);
}

// After ingest: segments are the samples of a decode from the start, any window
// is a cut of them from one range, the playable file decodes as the source.
TEST_P(SoundCorpusTest, StoredSoundIsTheSourcesSound) {
  OpenIndex index(Take(ROWFS_LAYOUT_STORED, ROWFS_VERIFY_KEYS), "");
  ASSERT_EQ(index.code(), ROWFS_OK) << index.error();
  const Bytes all = Segments(&index);

  ExpectSame(GetParam(), all, expected_);
  ExpectWindowsCutFrom(&index, all);
  ExpectPlayable(&index);
}

// Indexed where it lies, without and with decoding.
TEST_P(SoundCorpusTest, FilesAsTheyAreGiveTheSame) {
  for (const int verify : {ROWFS_VERIFY_OFF, ROWFS_VERIFY_KEYS}) {
    OpenIndex index(Take(ROWFS_LAYOUT_CONTAINER, verify), "");
    ASSERT_EQ(index.code(), ROWFS_OK) << index.error();

    ExpectSame(GetParam(), Segments(&index), expected_);
  }
  const std::string name(GetParam().file);
  OpenIndex kept(Take(ROWFS_LAYOUT_STORED, ROWFS_VERIFY_OFF, true), "");
  EXPECT_TRUE(kept.Read(".original" + name.substr(name.rfind('.'))) == file_);
}

INSTANTIATE_TEST_SUITE_P(Kinds, SoundCorpusTest, ::testing::ValuesIn(kKinds),
                         [](const auto& kind) {
                           std::string name = kind.param.file;
                           std::replace(name.begin(), name.end(), '.', '_');
                           return name;
                         });

}  // namespace
}  // namespace rowfs
