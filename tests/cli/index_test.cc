// rowfs index build, and what mounts do with what it leaves.
#include <cstdlib>
#include <filesystem>
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

// A folder with a video, a broken one and two texts, and labels for all.
class IndexTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const std::string in = Folder();
    Shell("mkdir " + in + " " + (dir_ / "empty-cache"));
    Shell(
        "ffmpeg -v error -nostdin -f lavfi -i "
        "testsrc2=size=64x48:rate=10:duration=1 -c:v libx264 -pix_fmt yuv420p "
        "-preset ultrafast " +
        in + "/a.mp4");
    std::ofstream(in + "/b.mp4") << std::string(
                                        "\0\0\0\x14"
                                        "ftypisom",
                                        12)
                                 << "this is no video";
    std::ofstream(in + "/c.txt") << "c";
    std::ofstream(in + "/d.txt") << "d";
    std::ofstream(in + "/metadata.csv")
        << "file_name,kind,n\na.mp4,x,3\nb.mp4,x,1\nc.txt,y,2\nd.txt,,3\n";
  }

  std::string Folder() const { return dir_ / "in"; }
  // With an empty cache, so that only the index beside the data is there.
  CommandResult Run(std::vector<std::string> words) {
    words.insert(words.end(), {"--cache-dir", dir_ / "empty-cache"});
    return RunRowfs(std::move(words));
  }

  TempDir dir_;
};

TEST_F(IndexTest, WhatLiesBesideTheDataIsUsedByOthers) {
  const CommandResult before = Run({"info", Folder(), "--json"});
  const CommandResult built = Run({"index", "build", Folder(), "--output",
                                   Folder() + ".rowfs-index", "--json"});

  ASSERT_EQ(built.code, kExitDone) << built.err;
  ASSERT_OK_AND_ASSIGN(const Json summary, ParseJson(built.out));
  EXPECT_EQ(summary.Find("media")->AsUint(), 1U);
  EXPECT_EQ(summary.Find("without_views")->AsUint(), 1U);
  EXPECT_THAT(built.err, HasSubstr("row 1 "));
  EXPECT_THAT(before.out, HasSubstr("\"rows_with_views\": 0"));
  const CommandResult after = Run({"info", Folder(), "--json"});
  EXPECT_THAT(after.out, HasSubstr("\"rows_with_views\": 1"));
  EXPECT_THAT(after.out, HasSubstr("none can be made"));
  const CommandResult frames =
      Run({"ls", Folder(), "rows/000000/video.frames"});
  EXPECT_THAT(frames.out, HasSubstr("000009.jpg"));
}

TEST_F(IndexTest, ASecondBuildHasNothingToDo) {
  const std::string file = dir_ / "index";
  ASSERT_EQ(Run({"index", "build", Folder(), "--output", file}).code,
            kExitDone);

  const CommandResult again =
      Run({"index", "build", Folder(), "--output", file, "--json"});

  ASSERT_OK_AND_ASSIGN(const Json summary, ParseJson(again.out));
  EXPECT_EQ(summary.Find("known")->AsUint(), 2U);
}

TEST_F(IndexTest, ValuesAndNamesAreTheSameWithAndWithoutAnIndex) {
  const std::string file = dir_ / "index";
  std::vector<std::string> paths = {"by", "by/kind", "by/kind/x", "by/n",
                                    "by/n/3"};
  std::vector<std::string> plain;
  for (const std::string& path : paths) {
    plain.push_back(Run({"ls", Folder(), path, "--name-column", "n"}).out);
  }
  const std::string rows =
      Run({"ls", Folder(), "rows", "--name-column", "n"}).out;
  const CommandResult built =
      Run({"index", "build", Folder(), "--output", file, "--name-column", "n"});
  ASSERT_EQ(built.code, kExitDone) << built.err;

  for (size_t i = 0; i < paths.size(); ++i) {
    const CommandResult indexed =
        Run({"ls", Folder(), paths[i], "--index", file, "--name-column", "n"});
    EXPECT_EQ(indexed.out, plain[i]) << paths[i];
  }
  EXPECT_EQ(plain[1], "x\ny\n");
  EXPECT_EQ(plain[4], "3\n3~2\n");
  const CommandResult named =
      Run({"ls", Folder(), "rows", "--index", file, "--name-column", "n"});
  EXPECT_EQ(named.out, rows);
  EXPECT_EQ(rows, "3\n1\n2\n3~2\n");
  const CommandResult row = Run({"cat", Folder(), "rows/3~2/file_name.txt",
                                 "--index", file, "--name-column", "n"});
  EXPECT_EQ(row.out, "d.txt");
}

TEST_F(IndexTest, AnIndexOfOtherDataIsLeftAloneAndNotUsed) {
  const std::string file = Folder() + ".rowfs-index";
  ASSERT_EQ(Run({"index", "build", Folder(), "--output", file}).code,
            kExitDone);
  const auto size = std::filesystem::file_size(file);
  std::ofstream(Folder() + "/e.txt") << "new";

  const CommandResult after = Run({"info", Folder(), "--json"});

  EXPECT_EQ(after.code, kExitDone) << after.err;
  EXPECT_THAT(after.out, HasSubstr("\"rows_with_views\": 0"));
  EXPECT_EQ(std::filesystem::file_size(file), size);
}

TEST_F(IndexTest, AFolderThatCannotHoldTheIndexIsAnError) {
  const CommandResult result = Run(
      {"index", "build", Folder(), "--output", Folder() + "/a.mp4/x/index"});

  EXPECT_EQ(result.code, kExitFailure);
  EXPECT_NE(result.err, "");
}

TEST_F(IndexTest, AViewListsRowsByNumberAndById) {
  std::ofstream(dir_ / "best") << "2\r\n\nid:0\n2\n";
  std::ofstream(dir_ / "bad") << "1\nx\n";
  std::ofstream(dir_ / "far") << "99\n";
  const auto list = [&](const std::string& name) {
    return Run({"ls", Folder(), "views/v", "--view", "v=" + (dir_ / name)});
  };

  EXPECT_EQ(list("best").out, "000002\n000000\n");
  EXPECT_THAT(list("bad").err, HasSubstr("line 2"));
  EXPECT_THAT(list("far").err, HasSubstr("99"));
  EXPECT_THAT(list("far").out, Not(HasSubstr("0")));
}

}  // namespace
}  // namespace rowfs
