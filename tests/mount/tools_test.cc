// Ordinary tools agree with `stat` on every class of file.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "tests/support/temp_dir.h"
#include "tests/support/tree_driver.h"

namespace rowfs {
namespace {

// One file of each class.
const std::vector<std::string>& FileClasses() {
  static const std::vector<std::string> kFiles = {
      "metadata.jsonl",
      "rows/000004/row.json",
      "rows/000004/id",
      "rows/000004/label.txt",
      "rows/000004/point.npy",
      "rows/000004/tags.json",
      "rows/000004/photo.png",
      "rows/000004/gated.txt",
      "rows/000004/images/1.png",
      "rows/000004/video.mp4",
      "rows/000004/video.info.json",
      "rows/000004/video.frames/000004.jpg",
      "rows/000004/video.frames/000005.jpg",
      ".rowfs/schema.json",
      ".rowfs/dataset.json",
      ".rowfs/config",
  };
  return kFiles;
}

class Tools : public ::testing::Test {
 protected:
  // A fresh mount for each test: no tool sees what another one opened.
  void SetUp() override {
    ROWFS_SKIP_WITHOUT_FUSE();
    mount_ = std::make_unique<TestMount>(std::vector<std::string>());
    ASSERT_EQ(mount_->error(), "");
  }
  const TestMount& mount() { return *mount_; }
  std::string Path(const std::string& file) { return mount() / file; }

  // What the direct driver reads.
  std::string Expected(const std::string& file) {
    if (!direct_) direct_ = MakeDirectDriver({});
    return direct_->Read(file).value;
  }
  std::string Slurp(const std::string& path) {
    return RunShell("cat '" + path + "'").output;
  }

  TempDir temp_;

 private:
  std::unique_ptr<TestMount> mount_;
  std::unique_ptr<TreeDriver> direct_;
};

TEST_F(Tools, CatAndWcGiveTheBytes) {
  for (const std::string& file : FileClasses()) {
    EXPECT_EQ(Slurp(Path(file)), Expected(file)) << file;
    EXPECT_EQ(RunShell("wc -c < " + Path(file)).output,
              std::to_string(Expected(file).size()) + "\n")
        << file;
  }
}

TEST_F(Tools, CpCopiesTheBytes) {
  for (const std::string& file : FileClasses()) {
    const CommandResult result =
        RunShell("cp " + Path(file) + " " + (temp_ / "copy"));
    EXPECT_EQ(result.exit_code, 0) << result.output;
    EXPECT_EQ(Slurp(temp_ / "copy"), Expected(file)) << file;
  }
}

TEST_F(Tools, TarStoresTheBytesWithoutComplaint) {
  for (const std::string& file : FileClasses()) {
    const CommandResult result =
        RunShell("tar -C " + mount().path() + " -cf " + (temp_ / "t.tar") +
                 " " + file + " && tar -xOf " + (temp_ / "t.tar"));
    EXPECT_EQ(result.exit_code, 0) << result.output;
    EXPECT_EQ(result.output, Expected(file)) << file;
  }
}

TEST_F(Tools, RsyncCopiesTheBytesWithoutComplaint) {
  if (RunShell("command -v rsync").exit_code != 0) GTEST_SKIP() << "no rsync";
  for (const std::string& file : FileClasses()) {
    const CommandResult result =
        RunShell("rsync -a " + Path(file) + " " + (temp_ / "r"));
    EXPECT_EQ(result.exit_code, 0) << file << result.output;
    EXPECT_EQ(Slurp(temp_ / "r"), Expected(file)) << file;
    RunShell("rm -rf " + (temp_ / "r"));
  }
}

TEST_F(Tools, Sha256SumAgrees) {
  for (const std::string& file : FileClasses()) {
    const std::string sum = RunShell("sha256sum < " + Path(file)).output;
    RunShell("cat " + Path(file) + " > " + (temp_ / "copy"));
    EXPECT_EQ(sum, RunShell("sha256sum < " + (temp_ / "copy")).output) << file;
  }
}

TEST_F(Tools, MmapSharedShowsTheBytesAndNoMore) {
  for (const std::string& file : FileClasses()) {
    const int fd = open(Path(file).c_str(), O_RDONLY | O_CLOEXEC);
    ASSERT_GE(fd, 0) << file;
    struct stat info = {};
    ASSERT_EQ(fstat(fd, &info), 0);
    const std::string expected = Expected(file);
    ASSERT_EQ(static_cast<size_t>(info.st_size), expected.size()) << file;
    void* data = mmap(nullptr, expected.size(), PROT_READ, MAP_SHARED, fd, 0);
    ASSERT_NE(data, MAP_FAILED) << file;
    EXPECT_EQ(std::string(static_cast<const char*>(data), expected.size()),
              expected)
        << file;
    munmap(data, expected.size());
    close(fd);
  }
}

TEST_F(Tools, DuCountsWhatIsThere) {
  EXPECT_EQ(
      RunShell("du -b " + Path("rows/000004/gated.txt") + " | cut -f1").output,
      "300000\n");
  EXPECT_NE(
      RunShell("du -k " + Path("rows/000004/gated.txt") + " | cut -f1").output,
      "0\n");
}

TEST_F(Tools, FindWalksEveryVersionAndEveryFileOnce) {
  const CommandResult files =
      RunShell("find " + mount().path() +
               " -name video.broken -prune -o -type f -path '*/rows/*/id' "
               "-print");

  // 20 rows but the one whose id is null; 2 and 7 rows in the other versions.
  EXPECT_EQ(files.exit_code, 0);
  EXPECT_EQ(std::count(files.output.begin(), files.output.end(), '\n'),
            19 + 2 + 6);
}

TEST_F(Tools, DfAnswers) {
  EXPECT_EQ(RunShell("stat -f " + mount().path()).exit_code, 0);
}

TEST_F(Tools, ChangesAreRefusedAsReadOnly) {
  const std::vector<std::string> commands = {"touch x",
                                             "touch rows/000001/id",
                                             "mkdir x",
                                             "rm rows/000001/id",
                                             "rmdir rows/000001",
                                             "mv rows lines",
                                             "ln rows/000001/id x",
                                             "ln -s a x",
                                             "chmod 600 metadata.jsonl",
                                             "truncate -s 0 rows/000001/id",
                                             "sh -c 'echo x >> rows/000001/id'",
                                             "mknod x p"};
  for (const std::string& command : commands) {
    const CommandResult result =
        RunShell("cd " + mount().path() + " && LC_ALL=C " + command);
    EXPECT_NE(result.exit_code, 0) << command;
    EXPECT_THAT(result.output, ::testing::HasSubstr("Read-only file system"))
        << command;
  }
}

}  // namespace
}  // namespace rowfs
