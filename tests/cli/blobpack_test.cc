// The whole of it is compared with the package by tests/oracle/blobpack.py;
// here is what needs no Python.
#include <filesystem>
#include <fstream>

#include "tests/support/run_command.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace rowfs {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

class Blobpack : public ::testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::create_directories(folder_ / "src/d");
    std::ofstream(folder_ / "src/a.bin") << std::string(64, 'A');
    std::ofstream(folder_ / "src/d/é.txt") << "text";
  }
  CommandResult Run(std::vector<std::string> words) {
    words.insert(words.begin(), "blobpack");
    return RunRowfs(std::move(words));
  }
  std::string Packed() {
    EXPECT_EQ(Run({"pack", folder_ / "src", folder_ / "dst"}).code, 0);
    return folder_ / "dst";
  }
  TempDir folder_;
};

TEST_F(Blobpack, PacksListsVerifiesAndUnpacks) {
  const std::string pack = Packed();

  EXPECT_EQ(Run({"ls", pack}).out,
            "64\tpack-0000.zip\ta.bin\n4\tpack-0000.zip\td/é.txt\n");
  EXPECT_EQ(Run({"manifest", pack}).code, 0);
  EXPECT_EQ(Run({"verify", pack}).out,
            "OK: 2 blobs, 68 bytes, 1 shards, 0 problems\n");
  EXPECT_EQ(Run({"unpack", pack, folder_ / "out"}).out,
            "unpacked 2 blobs into " + (folder_ / "out") + "\n");
  EXPECT_EQ(std::filesystem::file_size(folder_ / "out/d/é.txt"), 4u);
}

TEST_F(Blobpack, AnswersToItsNameAlone) {
  std::ostringstream out;
  std::ostringstream err;
  Env env{out, err, false};

  EXPECT_EQ(
      Dispatch(env, std::vector<std::string>{"/usr/bin/blobpack", "--version"}),
      0);
  EXPECT_EQ(out.str(), "0.2.0\n");
}

TEST_F(Blobpack, TellsUsageErrorsAsArgparseDoes) {
  const CommandResult result = Run({"pack", "x"});

  EXPECT_EQ(result.code, kExitUsage);
  EXPECT_EQ(result.out, "");
  EXPECT_THAT(result.err, StartsWith("usage: blobpack pack [-h]"));
  EXPECT_THAT(result.err,
              HasSubstr("error: the following arguments are required: dst"));
}

TEST_F(Blobpack, LeavesNothingAfterARefusal) {
  std::ofstream(folder_ / "src/z ") << "key with a space at its end";

  const CommandResult result =
      Run({"pack", folder_ / "src", folder_ / "new/dst"});

  EXPECT_EQ(result.code, kExitFailure);
  EXPECT_THAT(result.err, StartsWith("error: invalid blob key"));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "new"));
}

TEST_F(Blobpack, FindsABlobWithOtherBytes) {
  const std::string pack = Packed();
  std::fstream(pack + "/pack-0000.zip",
               std::ios::in | std::ios::out | std::ios::binary)
          .seekp(40)
      << 'B';

  const CommandResult result = Run({"verify", pack});

  EXPECT_EQ(result.code, kExitFailure);
  EXPECT_EQ(result.out,
            "FAIL pack-0000.zip:a.bin: CRC mismatch\n"
            "FAILED: 2 blobs, 68 bytes, 1 shards, 1 problems\n");
  // Extraction does not judge, but says so.
  EXPECT_THAT(Run({"unpack", pack, folder_ / "out"}).err, HasSubstr("CRC"));
}

TEST_F(Blobpack, TakesBackWhatItExtractedBeforeAFailure) {
  const std::string pack = Packed();
  std::filesystem::create_directories(folder_ / "out");
  std::ofstream(folder_ / "out/d") << "a file where a folder must go";

  const CommandResult result = Run({"unpack", pack, folder_ / "out"});

  EXPECT_EQ(result.code, kExitFailure);
  EXPECT_FALSE(std::filesystem::exists(folder_ / "out/a.bin"));
  EXPECT_TRUE(std::filesystem::is_regular_file(folder_ / "out/d"));
}

}  // namespace
}  // namespace rowfs
