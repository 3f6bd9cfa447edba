// A table written to a file and read again: by this program and as JSON.
#include <fstream>

#include "tests/support/run_command.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace rowfs {
namespace {

using ::testing::HasSubstr;

class ScanTest : public ::testing::Test {
 protected:
  ScanTest() {
    std::filesystem::create_directory(dir_ / "in");
    std::ofstream(dir_ / "in/a.txt") << "one";
    std::ofstream(dir_ / "in/b.txt") << "two words";
    std::ofstream(dir_ / "in/metadata.jsonl")
        << "{\"file_name\": \"a.txt\", \"n\": 9007199254740993}\n"
           "{\"file_name\": \"b.txt\", \"n\": null}\n";
  }

  CommandResult Scan(const std::string& source, const std::string& output,
                     std::vector<std::string> more = {}) {
    std::vector<std::string> words = {"scan",        source,
                                      "--output",    dir_ / output,
                                      "--cache-dir", dir_ / "cache"};
    words.insert(words.end(), more.begin(), more.end());
    return RunRowfs(words);
  }
  std::string ReadFile(const std::string& name) {
    std::ifstream file(dir_ / name, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  TempDir dir_;
};

TEST_F(ScanTest, WritesRowsAsAMountShowsThem) {
  ASSERT_EQ(Scan(dir_ / "in", "o.jsonl").code, kExitDone);

  const std::string row =
      RunRowfs({"cat", dir_ / "in", "rows/000000/row.json"}).out;
  EXPECT_THAT(row, HasSubstr("9007199254740993"));
  EXPECT_EQ(ReadFile("o.jsonl").substr(0, row.size()), row);
}

TEST_F(ScanTest, WritesBytesOfBlobsWhenAsked) {
  ASSERT_EQ(Scan(dir_ / "in", "o.jsonl",
                 {"--blobs", "--columns", "file,n", "--rows", "1,0"})
                .code,
            kExitDone);

  EXPECT_EQ(ReadFile("o.jsonl"),
            "{\"file\": \"dHdvIHdvcmRz\", \"n\": null}\n"
            "{\"file\": \"b25l\", \"n\": 9007199254740993}\n");
}

TEST_F(ScanTest, WritesTablesThatRowfsReadsAgain) {
  ASSERT_EQ(Scan(dir_ / "in", "first.jsonl", {"--blobs"}).code, kExitDone);
  for (const char* name : {"t.parquet", "t.arrow"}) {
    const CommandResult written = Scan(dir_ / "in", name, {"--blobs"});
    if (written.code != kExitDone) {
      ASSERT_THAT(written.err, HasSubstr("this build has no Arrow"));
      GTEST_SKIP() << "built without Arrow";
    }

    ASSERT_EQ(Scan(dir_ / name, "again.jsonl", {"--blobs"}).code, kExitDone);

    EXPECT_EQ(ReadFile("again.jsonl"), ReadFile("first.jsonl"));
  }
}

TEST_F(ScanTest, LeavesNothingBehindWhenItFails) {
  const CommandResult column =
      Scan(dir_ / "in", "o.jsonl", {"--columns", "nothing"});
  EXPECT_EQ(column.code, kExitFailure);
  EXPECT_THAT(column.err, HasSubstr("file_name"));
  const CommandResult rows = Scan(dir_ / "in", "o.jsonl", {"--rows", "0-7"});
  EXPECT_NE(rows.code, kExitDone);
  EXPECT_EQ(Scan(dir_ / "in", "o.txt").code, kExitUsage);

  EXPECT_FALSE(std::filesystem::exists(dir_ / "o.jsonl"));
}

}  // namespace
}  // namespace rowfs
