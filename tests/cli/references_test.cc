// Tables whose cells name members of packs beside them.
#include <cstdlib>
#include <fstream>

#include "tests/support/run_command.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace rowfs {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

class ReferencesTest : public ::testing::Test {
 protected:
  // ds/t.parquet and ds/media/p.zip with two members.
  void SetUp() override {
    std::filesystem::create_directories(dir_ / "in");
    std::filesystem::create_directories(dir_ / "ds/media");
    std::filesystem::create_directories(dir_ / "x");
    std::ofstream(dir_ / "x/1.txt") << "first";
    std::ofstream(dir_ / "x/2.txt") << "second";
    std::ofstream(dir_ / "outside.zip") << "not to be read";
    const std::string zip = "cd " + dir_.path() +
                            " && zip -q -0 ds/media/p.zip x/1.txt x/2.txt && "
                            "cp ds/media/p.zip outside.zip";
    ASSERT_EQ(std::system(zip.c_str()), 0);
    for (const char* name : {"a", "b"}) {
      std::ofstream(dir_ / ("in/" + std::string(name))) << name;
    }
    std::ofstream(dir_ / "in/metadata.jsonl")
        << R"({"file_name": "a", "text": "zip://x/1.txt::media/p.zip", )"
        << R"("many": ["zip://x/2.txt::media/p.zip"], "note": "plain", )"
        << R"("ref": {"uri": "zip://x/1.txt::media/p.zip", "pts_ns": 5}})"
        << "\n"
        << R"({"file_name": "b", "text": "zip://x/1.txt::../outside.zip", )"
        << R"("many": [], "note": "zip://x/1.txt::media/p.zip"})"
        << "\n";
    const CommandResult scan = RunRowfs(
        {"scan", dir_ / "in", "--columns", "text,many,note,ref", "--output",
         dir_ / "ds/t.parquet", "--cache-dir", dir_ / "cache"});
    if (scan.code != kExitDone) {
      ASSERT_THAT(scan.err, HasSubstr("this build has no Arrow"));
      GTEST_SKIP() << "built without Arrow";
    }
  }

  CommandResult Cat(const std::string& path) {
    return RunRowfs({"cat", dir_ / "ds", path, "--cache-dir", dir_ / "cache"});
  }

  std::string List(const std::string& path) {
    return RunRowfs({"ls", dir_ / "ds", path, "--cache-dir", dir_ / "cache"})
        .out;
  }

  TempDir dir_;
};

TEST_F(ReferencesTest, ShowsMembersInStringsListsAndStructs) {
  EXPECT_EQ(Cat("rows/000000/text.bin").out, "first");
  EXPECT_EQ(Cat("rows/000000/many/0.bin").out, "second");
  EXPECT_EQ(Cat("rows/000000/ref/uri.bin").out, "first");
  EXPECT_THAT(Cat("rows/000000/ref.json").out, HasSubstr("\"pts_ns\": 5"));
}

// ds/v.parquet: structs that refer to a film of two seconds at a time in it.
TEST_F(ReferencesTest, AMediaRefOfAFilmShowsTheFrameAtItsTime) {
  const std::string film =
      "ffmpeg -v error -f lavfi -i testsrc=size=96x64:rate=10:duration=2 "
      "-pix_fmt yuv420p " +
      (dir_ / "in/film.mp4") + " && mv " + (dir_ / "in/film.mp4") + " " +
      (dir_ / "ds");
  ASSERT_EQ(std::system(film.c_str()), 0);
  std::ofstream(dir_ / "in/metadata.jsonl")
      << R"({"file_name": "a", "ref": {"uri": "film.mp4", )"
      << R"("pts_ns": 1250000000}, "still": {"uri": "film.mp4", )"
      << R"("pts_ns": null}})"
      << "\n"
      << R"({"file_name": "b", "ref": {"uri": "film.mp4", "pts_ns": )"
      << R"(9000000000}, "still": {"uri": "film.mp4", "pts_ns": 0}})"
      << "\n";
  std::filesystem::remove(dir_ / "ds/t.parquet");
  ASSERT_EQ(RunRowfs({"scan", dir_ / "in", "--columns", "ref,still", "--output",
                      dir_ / "ds/t.parquet", "--cache-dir", dir_ / "cache"})
                .code,
            kExitDone);

  EXPECT_THAT(List("rows/000000/ref"), HasSubstr("frame.jpg\n"));
  EXPECT_THAT(List("rows/000000/still"), Not(HasSubstr("frame.jpg\n")));
  const CommandResult frame = Cat("rows/000000/ref/frame.jpg");
  EXPECT_THAT(frame.out, StartsWith("\xFF\xD8"));
  EXPECT_EQ(frame.out, Cat("rows/000000/ref/uri.frames/000012.jpg").out);
  EXPECT_EQ(Cat("rows/000001/ref/frame.jpg").code, kExitFailure);
  EXPECT_EQ(Cat("rows/000001/still/frame.jpg").out,
            Cat("rows/000001/still/uri.frames/000000.jpg").out);
}

TEST_F(ReferencesTest, KeepsWhatTheTableSaysInRowJson) {
  EXPECT_THAT(Cat("rows/000000/row.json").out,
              HasSubstr("\"reference\": \"zip://x/1.txt::media/p.zip\""));
}

TEST_F(ReferencesTest, LeavesTextThatOnlySometimesLooksLikeOne) {
  EXPECT_EQ(Cat("rows/000000/note.txt").out, "plain");
  EXPECT_EQ(Cat("rows/000001/note.txt").out, "zip://x/1.txt::media/p.zip");
}

TEST_F(ReferencesTest, StaysInsideTheDataset) {
  const CommandResult result = Cat("rows/000001/text.bin");

  EXPECT_EQ(result.code, kExitFailure);
  EXPECT_THAT(result.err, HasSubstr("--allow-external"));
}

}  // namespace
}  // namespace rowfs
