// From a folder of videos to frames, with the commands a person types.
#include <cstdlib>
#include <fstream>

#include "storage/base/json.h"
#include "tests/support/run_command.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace rowfs {
namespace {

using ::testing::HasSubstr;

void Shell(const std::string& command) {
  ASSERT_EQ(std::system(command.c_str()), 0) << command;
}

std::string ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// One H.264 video of 4 s with a key frame a second and a tone, one text, one
// broken video, in both index layouts.
class VideoDatasetTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    dir_ = new TempDir();
    const std::string in = *dir_ / "in";
    Shell("mkdir " + in);
    Shell(
        "ffmpeg -v error -nostdin -f lavfi -i "
        "testsrc2=size=160x120:rate=25:duration=4 -f lavfi -i "
        "sine=frequency=440:duration=4 -c:v libx264 -preset veryfast -g 25 "
        "-bf 2 -pix_fmt yuv420p -c:a aac " +
        in + "/a.mp4");
    std::ofstream(in + "/b.txt") << "hello\n";
    std::ofstream(in + "/c.mp4") << "this is no video";
    std::ofstream(in + "/metadata.jsonl")
        << "{\"file_name\": \"a.mp4\", \"n\": 9007199254740993}\n";
    for (const char* layout : {"descriptor", "column"}) {
      const CommandResult result =
          RunRowfs({"ingest", in, "--output", *dir_ / layout, "--layout",
                    layout, "--json"});
      ASSERT_EQ(result.code, kExitDone) << result.err;
      printed_[layout] = result.out;
    }
  }
  static void TearDownTestSuite() {
    delete dir_;
    dir_ = nullptr;
  }

  static std::string Source(const std::string& layout = "descriptor") {
    return *dir_ / layout;
  }

  static TempDir* dir_;
  static std::map<std::string, std::string> printed_;
};

TempDir* VideoDatasetTest::dir_ = nullptr;
std::map<std::string, std::string> VideoDatasetTest::printed_;

TEST_F(VideoDatasetTest, IngestReportsEachRefusedFileAndASummary) {
  for (const auto& [layout, printed] : printed_) {
    std::istringstream lines(printed);
    std::string refused;
    std::string summary;
    // On a busy machine lines of progress come between.
    const auto next = [&](std::string* line) {
      while (std::getline(lines, *line) &&
             line->find("\"progress\"") != line->npos) {
      }
    };
    next(&refused);
    next(&summary);

    ASSERT_OK_AND_ASSIGN(const Json first, ParseJson(refused));
    EXPECT_EQ(first.Find("event")->text, "refused");
    EXPECT_EQ(first.Find("file_name")->text, "c.mp4");
    EXPECT_NE(first.Find("reason")->text, "");
    ASSERT_OK_AND_ASSIGN(const Json last, ParseJson(summary));
    EXPECT_EQ(last.Find("rows")->AsUint(), 3U);
    EXPECT_EQ(last.Find("with_views")->AsUint(), 1U);
    EXPECT_EQ(last.Find("refused")->AsUint(), 1U);
  }
}

TEST_F(VideoDatasetTest, IngestRefusesAnExistingDataset) {
  const CommandResult result =
      RunRowfs({"ingest", *dir_ / "in", "--output", Source()});

  EXPECT_EQ(result.code, kExitFailure);
  EXPECT_THAT(result.err, HasSubstr("append"));
}

TEST_F(VideoDatasetTest, ListsTheTreeOfARow) {
  const CommandResult result = RunRowfs({"ls", Source(), "rows/000000"});

  ASSERT_EQ(result.code, kExitDone) << result.err;
  for (const char* name :
       {"row.json", "file_name.txt", "n", "video.mp4", "video.frames\n",
        "video.keyframes\n", "video.gops\n", "video.info.json"}) {
    EXPECT_THAT(result.out, HasSubstr(name));
  }
}

TEST_F(VideoDatasetTest, RowJsonKeepsEveryDigit) {
  const CommandResult result =
      RunRowfs({"cat", Source(), "rows/000000/row.json"});

  ASSERT_EQ(result.code, kExitDone) << result.err;
  EXPECT_THAT(result.out, HasSubstr("\"n\": 9007199254740993"));
  EXPECT_THAT(result.out, HasSubstr("\"media_type\": \"video/mp4\""));
}

TEST_F(VideoDatasetTest, AFrameIsOneRequestOfItsGop) {
  for (const char* layout : {"descriptor", "column"}) {
    const CommandResult result = RunRowfs(
        {"extract-frame", Source(layout), "--column", "video", "--row", "0",
         "--frame", "60", "--output", *dir_ / "f.png", "--stats"});

    ASSERT_EQ(result.code, kExitDone) << result.err;
    ASSERT_OK_AND_ASSIGN(const Json stats, ParseJson(result.out));
    EXPECT_EQ(stats.Find("requests")->AsUint(), 1U);
    const Json& ranges = *stats.Find("ranges");
    ASSERT_EQ(ranges.items.size(), 1U);
    EXPECT_EQ(ranges.items[0].items[1].AsUint(), stats.Find("bytes")->AsUint());
    EXPECT_TRUE(ReadFile(*dir_ / "f.png").starts_with("\x89PNG"));
  }
}

TEST_F(VideoDatasetTest, AFrameEqualsASequentialDecode) {
  for (const char* layout : {"descriptor", "column"}) {
    const CommandResult result =
        RunRowfs({"extract-frame", Source(layout), "--column", "video", "--row",
                  "0", "--time", "2.44", "--output", *dir_ / "f.ppm"});
    ASSERT_EQ(result.code, kExitDone) << result.err;

    // Frame 61 is shown from 2.44 s on. Both convert with the same flags.
    Shell("ffmpeg -v error -nostdin -y -i " + (*dir_ / "in/a.mp4") +
          " -vf \"select=eq(n\\,61)\" -frames:v 1 -sws_flags "
          "bicubic+accurate_rnd+full_chroma_int+bitexact -pix_fmt rgb24 " +
          (*dir_ / "o.ppm"));
    EXPECT_TRUE(ReadFile(*dir_ / "f.ppm") == ReadFile(*dir_ / "o.ppm"))
        << layout;
  }
}

TEST_F(VideoDatasetTest, AWindowGivesItsFramesByNumber) {
  const CommandResult result =
      RunRowfs({"extract-frame", Source(), "--column", "video", "--row", "0",
                "--from", "0.5", "--to", "2.1", "--keyframes", "--format",
                "jpg", "--output", *dir_ / "window"});

  ASSERT_EQ(result.code, kExitDone) << result.err;
  EXPECT_NE(ReadFile(*dir_ / "window/000025.jpg"), "");
  EXPECT_NE(ReadFile(*dir_ / "window/000050.jpg"), "");
  EXPECT_EQ(ReadFile(*dir_ / "window/000000.jpg"), "");
}

TEST_F(VideoDatasetTest, OutsideTheMediaIsAnErrorAndLeavesNoFile) {
  for (const auto& [flag, value] :
       {std::pair("--frame", "100"), std::pair("--time", "4.0")}) {
    const CommandResult result =
        RunRowfs({"extract-frame", Source(), "--column", "video", "--row", "0",
                  flag, value, "--output", *dir_ / "none.jpg"});

    EXPECT_EQ(result.code, kExitFailure);
    EXPECT_EQ(ReadFile(*dir_ / "none.jpg"), "");
  }
}

TEST_F(VideoDatasetTest, ExtractFrameWantsBlobInfo) {
  const CommandResult result =
      RunRowfs({"extract-frame", Source(), "--column", "video", "--row", "2",
                "--frame", "0", "--output", *dir_ / "none.jpg"});

  EXPECT_EQ(result.code, kExitFailure);
  EXPECT_THAT(result.err, HasSubstr("blob_info"));
}

TEST_F(VideoDatasetTest, ReadBlobServesOrdinaryBlobsAlone) {
  const auto read = [](const std::string& source, const std::string& row,
                       const std::string& column) {
    return RunRowfs({"read-blob", source, "--column", column, "--row", row});
  };

  EXPECT_EQ(read(Source(), "1", "file").out, "hello\n");
  EXPECT_EQ(read(Source(), "2", "video").out, "this is no video");
  EXPECT_EQ(read(Source("column"), "0", "video").out,
            ReadFile(*dir_ / "in/a.mp4"));
  const CommandResult strict = read(Source(), "0", "video");
  EXPECT_EQ(strict.code, kExitFailure);
  EXPECT_EQ(strict.out, "");
  EXPECT_THAT(strict.err, HasSubstr("blob_info"));
  EXPECT_EQ(read(Source(), "1", "video").code, kExitFailure);  // null
}

TEST_F(VideoDatasetTest, InfoCountsRowsWithViews) {
  const CommandResult result = RunRowfs({"info", Source(), "--json"});

  ASSERT_EQ(result.code, kExitDone) << result.err;
  ASSERT_OK_AND_ASSIGN(const Json info, ParseJson(result.out));
  EXPECT_EQ(info.Find("rows")->AsUint(), 3U);
  for (const Json& column : info.Find("columns")->items) {
    if (column.Find("name")->text != "video") continue;
    EXPECT_EQ(column.Find("blobs")->Find("rows_with_views")->AsUint(), 1U);
    EXPECT_EQ(column.Find("blobs")->Find("null")->AsUint(), 1U);
  }
}

TEST_F(VideoDatasetTest, InfoNamesEachReasonForMissingViewsOnce) {
  const CommandResult result = RunRowfs({"info", Source()});

  ASSERT_EQ(result.code, kExitDone) << result.err;
  EXPECT_THAT(result.out, HasSubstr("rows with views: 1 (video 1); without: 1 "
                                    "(no blob_info), 1 (null)"));
}

// Change one byte of the only file below `folder` that ends in `ending`, at
// `offset` from the first place of `mark` in it.
void Damage(const std::filesystem::path& folder, const std::string& ending,
            const std::string& mark, size_t offset) {
  for (const auto& file :
       std::filesystem::recursive_directory_iterator(folder)) {
    if (!file.path().string().ends_with(ending)) continue;
    std::string bytes = ReadFile(file.path());
    const size_t at = bytes.find(mark);
    ASSERT_NE(at, bytes.npos);
    bytes[at + offset] = static_cast<char>(bytes[at + offset] ^ 0x55);
    std::ofstream(file.path(), std::ios::binary) << bytes;
    return;
  }
  FAIL() << "no file that ends in " << ending;
}

TEST_F(VideoDatasetTest, VerifyAsksThePluginsWhetherBlobInfoFits) {
  for (const char* layout : {"descriptor", "column"}) {
    const CommandResult whole =
        RunRowfs({"verify", Source(layout), "--decode"});
    EXPECT_EQ(whole.code, kExitDone) << whole.out << whole.err;

    const std::string damaged = *dir_ / (std::string("damaged-") + layout);
    std::filesystem::copy(Source(layout), damaged,
                          std::filesystem::copy_options::recursive);
    Damage(damaged + "/data", ".lance", "RVI1", 60);
    const CommandResult result = RunRowfs({"verify", damaged});
    EXPECT_EQ(result.code, kExitFailure) << layout;
    EXPECT_THAT(result.out, HasSubstr("row 0, column \"video\", blob_info: "));
    EXPECT_EQ(RunRowfs({"verify", damaged, "--quick"}).code, kExitDone);
  }
}

TEST_F(VideoDatasetTest, VerifyDecodesKeyFramesWhenAsked) {
  const std::string damaged = *dir_ / "damaged-frames";
  std::filesystem::copy(Source(), damaged,
                        std::filesystem::copy_options::recursive);
  // Slice header of the first picture: an IDR unit behind its length.
  Damage(damaged + "/data", ".blob", "\x65\x88", 1);

  EXPECT_EQ(RunRowfs({"verify", damaged}).code, kExitDone);
  const CommandResult result = RunRowfs({"verify", damaged, "--decode"});

  EXPECT_EQ(result.code, kExitFailure);
  EXPECT_THAT(result.out, HasSubstr(".frames/000000.jpg"));
}

TEST_F(VideoDatasetTest, ThePlayableFilePlays) {
  for (const char* layout : {"descriptor", "column"}) {
    const CommandResult result =
        RunRowfs({"cat", Source(layout), "rows/000000/video.mp4"});
    ASSERT_EQ(result.code, kExitDone) << result.err;
    std::ofstream(*dir_ / "play.mp4", std::ios::binary) << result.out;

    const auto hashes = [&](const std::string& file, const std::string& to) {
      Shell("ffmpeg -v error -nostdin -y -i " + file +
            " -map 0:v -f framemd5 " + (*dir_ / to));
      return ReadFile(*dir_ / to);
    };
    EXPECT_EQ(hashes(*dir_ / "play.mp4", "p.md5"),
              hashes(*dir_ / "in/a.mp4", "s.md5"));
  }
}

}  // namespace
}  // namespace rowfs
