// From a folder of sounds to segments, windows and a contact sheet, with the
// commands a person types.
#include <cstdlib>
#include <fstream>

#include "storage/base/json.h"
#include "tests/support/run_command.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace rowfs {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

void Shell(const std::string& command) {
  ASSERT_EQ(std::system(command.c_str()), 0) << command;
}

std::string ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// Sounds of 2.5 s, a video, and a caption that would like to be a script.
class AudioDatasetTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    dir_ = new TempDir();
    const std::string in = *dir_ / "in";
    Shell("mkdir " + in);
    const std::string tone =
        "ffmpeg -v error -nostdin -f lavfi -i sine=frequency=440:duration=2.5 ";
    Shell(tone + "-c:a pcm_s16le " + in + "/a.wav");
    Shell(tone + "-c:a libmp3lame " + in + "/b.mp3");
    Shell(tone + "-c:a flac " + in + "/c.flac");
    Shell(
        "ffmpeg -v error -nostdin -f lavfi -i "
        "testsrc2=size=160x120:rate=25:duration=2 -c:v libx264 -g 25 -pix_fmt "
        "yuv420p " +
        in + "/d.mp4");
    std::ofstream(in + "/e.wav") << "this is no sound";
    std::ofstream(in + "/metadata.jsonl")
        << R"({"file_name": "a.wav", "caption": "<script>alert(1)</script>"})"
        << "\n";
    const CommandResult result =
        RunRowfs({"ingest", in, "--output", *dir_ / "ds", "--json"});
    ASSERT_EQ(result.code, kExitDone) << result.err;
    printed_ = result.out;
  }
  static void TearDownTestSuite() {
    delete dir_;
    dir_ = nullptr;
  }

  static std::string In() { return *dir_ / "in"; }
  static std::string Stored() { return *dir_ / "ds"; }
  static CommandResult Run(const std::string& command,
                           std::vector<std::string> words) {
    words.insert(words.begin(), command);
    words.insert(words.end(), {"--cache-dir", *dir_ / "cache"});
    return RunRowfs(words);
  }

  static TempDir* dir_;
  static std::string printed_;
};
TempDir* AudioDatasetTest::dir_ = nullptr;
std::string AudioDatasetTest::printed_;

TEST_F(AudioDatasetTest, OneBadSoundDoesNotTakeTheOthersAway) {
  EXPECT_THAT(printed_, HasSubstr("\"file_name\": \"e.wav\""));
  EXPECT_THAT(printed_, Not(HasSubstr("\"file_name\": \"b.mp3\"")));
}

TEST_F(AudioDatasetTest, ASoundShowsItsFilesIngestedOrNot) {
  for (const std::string& source : {In(), Stored()}) {
    const CommandResult result = Run("ls", {source, "rows/000001"});

    ASSERT_EQ(result.code, kExitDone) << result.err;
    for (const char* name : {"audio.mp3\n", "audio.segments\n", "audio.at\n",
                             "audio.info.json", "audio.waveform\n"}) {
      EXPECT_THAT(result.out, HasSubstr(name)) << source;
    }
    const CommandResult segments =
        Run("ls", {source, "rows/000001/audio.segments", "-l"});
    EXPECT_THAT(segments.out, HasSubstr("88244 000000.wav"));
    EXPECT_THAT(segments.out, HasSubstr("44144 000002.wav"));
  }
}

TEST_F(AudioDatasetTest, ASoundUnderAnotherNameDoesNotStopAnIngest) {
  const std::string in = *dir_ / "others";
  Shell("mkdir " + in + " && cp " + In() + "/a.wav " + in + "/x.dat");

  const CommandResult result =
      RunRowfs({"ingest", in, "--output", *dir_ / "plain"});
  EXPECT_EQ(result.code, kExitDone) << result.err;
}

// The index of the file comes last, so that its head does not tell.
TEST_F(AudioDatasetTest, SoundAloneIsSoundWhateverItIsPackedIn) {
  const std::string in = *dir_ / "boxes";
  Shell("mkdir " + in + " && ffmpeg -v error -nostdin -i " + In() +
        "/a.wav -c:a pcm_s16be " + in + "/a.mov");
  const std::string stored = *dir_ / "boxes.lance";
  ASSERT_EQ(RunRowfs({"ingest", in, "--output", stored}).code, kExitDone);

  for (const std::string& source : {in, stored}) {
    const CommandResult cut =
        Run("cat", {source, "rows/000000/video.at/0.5-1.25.wav"});

    ASSERT_EQ(cut.code, kExitDone) << cut.err;
    EXPECT_EQ(cut.out.size(), 44u + 2 * 33075);
  }
}

TEST_F(AudioDatasetTest, AWindowIsCutToTheSample) {
  for (const std::string& source : {In(), Stored()}) {
    const CommandResult all = Run("cat", {source, "rows/000000/audio.wav"});
    const CommandResult cut =
        Run("cat", {source, "rows/000000/audio.at/0.5-1.25.wav"});

    ASSERT_EQ(cut.code, kExitDone) << cut.err;
    ASSERT_EQ(cut.out.size(), 44u + 2 * 33075);
    const size_t data = all.out.find("data") + 8;
    EXPECT_EQ(cut.out.substr(44), all.out.substr(data + 44100, 66150));
    EXPECT_EQ(Run("cat", {source, "rows/000000/audio.at/2-3.wav"}).code,
              kExitFailure);
  }
}

TEST_F(AudioDatasetTest, TheSheetIsOneFileWithoutScripts) {
  for (const std::string& source : {In(), Stored()}) {
    const std::string sheet = *dir_ / "sheet.html";
    const CommandResult result =
        Run("preview", {source, "--output", sheet, "--json"});

    ASSERT_EQ(result.code, kExitDone) << result.err;
    ASSERT_OK_AND_ASSIGN(const Json summary, ParseJson(result.out));
    EXPECT_EQ(summary.Find("rows")->AsUint(), 5u);
    EXPECT_GE(summary.Find("pictures")->AsUint().value_or(0), 5u);
    const std::string html = ReadFile(sheet);
    EXPECT_THAT(html, HasSubstr("data:image/png;base64,"));
    EXPECT_THAT(html, HasSubstr("data:image/jpeg;base64,"));
    EXPECT_THAT(html, HasSubstr("&lt;script&gt;alert(1)&lt;/script&gt;"));
    EXPECT_THAT(html, Not(HasSubstr("<script")));
    EXPECT_THAT(html, Not(HasSubstr("http://")));
    EXPECT_THAT(html, HasSubstr("id=\"row-3\""));
  }
}

TEST_F(AudioDatasetTest, TheSheetReadsThumbnailsAlone) {
  const CommandResult result =
      Run("preview", {Stored(), "--column", "audio", "--output",
                      *dir_ / "sounds.html", "--json"});

  ASSERT_EQ(result.code, kExitDone) << result.err;
  ASSERT_OK_AND_ASSIGN(const Json summary, ParseJson(result.out));
  // Waveforms come from the index; of the broken file, which has none, the head
  // is looked at.
  EXPECT_EQ(summary.Find("pictures")->AsUint(), 3u);
  EXPECT_LE(summary.Find("bytes")->AsUint().value_or(1 << 20), 64u);
}

TEST_F(AudioDatasetTest, ASheetMayBeAPicture) {
  const std::string sheet = *dir_ / "sheet.png";
  const CommandResult result =
      Run("preview", {Stored(), "--rows", "0,3", "--output", sheet});

  ASSERT_EQ(result.code, kExitDone) << result.err;
  EXPECT_THAT(result.out, HasSubstr("2 rows"));
  EXPECT_THAT(result.out, HasSubstr(" requests, "));
  Shell("ffmpeg -v error -nostdin -y -i " + sheet + " " +
        (*dir_ / "again.png"));
  EXPECT_EQ(Run("preview", {Stored(), "--output", *dir_ / "x.gif"}).code,
            kExitUsage);
  EXPECT_EQ(Run("preview", {Stored(), "--rows", "9", "--output", sheet}).code,
            kExitFailure);
}

// What a browser makes of the sheet: every row, every picture decoded, and the
// caption as text. Without a browser there is nothing to ask.
TEST_F(AudioDatasetTest, ABrowserShowsTheSheet) {
  if (std::system("command -v chromium >/dev/null") != 0) {
    GTEST_SKIP() << "chromium is not installed";
  }
  const std::string sheet = *dir_ / "seen.html";
  ASSERT_EQ(Run("preview", {Stored(), "--output", sheet}).code, kExitDone);
  const std::string browser =
      "timeout 100 chromium --headless --no-sandbox --disable-gpu "
      "--user-data-dir=" +
      (*dir_ / "profile") + " --window-size=900,700 ";
  Shell(browser + "--screenshot=" + (*dir_ / "seen.png") + " file://" + sheet +
        " >/dev/null 2>&1");
  Shell("ffmpeg -v error -nostdin -y -i " + (*dir_ / "seen.png") +
        " -f rawvideo -pix_fmt gray " + (*dir_ / "seen.gray"));

  const std::string pixels = ReadFile(*dir_ / "seen.gray");
  EXPECT_EQ(pixels.size(), 900u * 700u);
  // Not an empty page: text and waveforms are dark.
  EXPECT_GT(
      std::count_if(pixels.begin(), pixels.end(),
                    [](char c) { return static_cast<unsigned char>(c) < 100; }),
      2000);
}

}  // namespace
}  // namespace rowfs
