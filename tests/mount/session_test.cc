// What only a kernel shows: waiting requests, huge folders, unmounting.
#include <dirent.h>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <string>
#include <vector>

#include "fs/fuse/unmount.h"
#include "storage/base/clock.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"
#include "tests/support/tree_driver.h"

namespace rowfs {
namespace {

using ::testing::HasSubstr;

double Seconds(const std::function<void()>& work) {
  RealClock clock;
  const int64_t begin = clock.MonotonicNs();
  work();
  return static_cast<double>(clock.MonotonicNs() - begin) / 1e9;
}

// Memory the daemon has taken, in MiB.
uint64_t ResidentMib(int pid) {
  std::ifstream status("/proc/" + std::to_string(pid) + "/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmHWM:")) return std::stoull(line.substr(6)) / 1024;
  }
  return 0;
}

// A child process that reads `path`.
pid_t StartReader(const std::string& path) {
  const pid_t child = fork();
  if (child == 0) {
    const int fd = open(path.c_str(), O_RDONLY);
    char byte = 0;
    _exit(fd >= 0 && read(fd, &byte, 1) == 1 ? 0 : 1);
  }
  return child;
}

TEST(Session, AStalledReadStallsNothingElse) {
  ROWFS_SKIP_WITHOUT_FUSE();
  TempDir temp;
  const std::string gate = temp / "gate";
  std::ofstream(gate) << "closed";
  TestMount mount({"gate=" + gate});
  ASSERT_EQ(mount.error(), "");
  // More than there are threads for what waits would be stalled themselves.
  std::vector<pid_t> readers;
  for (int row = 0; row < 8; ++row) {
    readers.push_back(
        StartReader(mount / "rows/00000" + std::to_string(row) + "/gated.txt"));
  }

  const double listing = Seconds([&] {
    EXPECT_EQ(RunShell("ls -l " + (mount / "rows")).exit_code, 0);
    EXPECT_EQ(RunShell("cat " + (mount / "rows/000009/id")).output, "9\n");
    EXPECT_EQ(RunShell("cat " + (mount / "rows/000010/photo.png")).output,
              SamplePhoto(10));
  });
  EXPECT_LT(listing, 5.0);
  for (const pid_t reader : readers) {
    EXPECT_EQ(waitpid(reader, nullptr, WNOHANG), 0);
  }

  unlink(gate.c_str());
  for (const pid_t reader : readers) {
    int status = 0;
    EXPECT_EQ(waitpid(reader, &status, 0), reader);
    EXPECT_EQ(status, 0);
  }
}

TEST(Session, AReaderThatWaitsCanBeKilled) {
  ROWFS_SKIP_WITHOUT_FUSE();
  TempDir temp;
  const std::string gate = temp / "gate";
  std::ofstream(gate) << "closed";
  TestMount mount({"gate=" + gate});
  ASSERT_EQ(mount.error(), "");
  const pid_t reader = StartReader(mount / "rows/000001/gated.txt");
  RealClock().SleepMs(300);

  kill(reader, SIGKILL);

  int status = 0;
  EXPECT_LT(Seconds([&] { waitpid(reader, &status, 0); }), 5.0);
  EXPECT_TRUE(WIFSIGNALED(status));
  unlink(gate.c_str());
}

TEST(Session, AMillionRowsAreUsableAtOnceAndStream) {
  ROWFS_SKIP_WITHOUT_FUSE();
  TestMount mount({"rows=1000000", "narrow", "flat"});
  ASSERT_EQ(mount.error(), "");

  const double first = Seconds([&] {
    DIR* folder = opendir((mount / "rows").c_str());
    ASSERT_NE(folder, nullptr);
    for (int i = 0; i < 10; ++i) readdir(folder);
    closedir(folder);
  });
  uint64_t names = 0;
  const double all = Seconds([&] {
    DIR* folder = opendir((mount / "rows").c_str());
    while (readdir(folder) != nullptr) ++names;
    closedir(folder);
  });

  EXPECT_LT(first, 0.5);
  EXPECT_EQ(names, 1'000'002u);
  EXPECT_LT(all, 60.0);
  EXPECT_EQ(RunShell("cat " + (mount / "rows/999999/notes.txt")).output,
            SampleNotes(999'999));
  EXPECT_LT(ResidentMib(mount.pid()), 100u);
}

TEST(Session, AListingGoesOnWhereItWasLeft) {
  ROWFS_SKIP_WITHOUT_FUSE();
  TestMount mount({"rows=3000", "narrow", "flat"});
  ASSERT_EQ(mount.error(), "");
  DIR* folder = opendir((mount / "rows").c_str());
  ASSERT_NE(folder, nullptr);
  std::vector<std::string> names;
  std::vector<long> places;
  while (const dirent* entry = readdir(folder)) {
    names.emplace_back(entry->d_name);
    places.push_back(telldir(folder));
  }
  ASSERT_EQ(names.size(), 3002u);

  for (const size_t i : {2999u, 0u, 1u, 1500u, 777u}) {
    seekdir(folder, places[i]);
    const dirent* entry = readdir(folder);
    ASSERT_NE(entry, nullptr);
    EXPECT_EQ(entry->d_name, names[i + 1]);
  }
  rewinddir(folder);
  EXPECT_EQ(std::string(readdir(folder)->d_name), names[0]);
  closedir(folder);
}

TEST(Session, ForgottenNodesAreGivenBack) {
  ROWFS_SKIP_WITHOUT_FUSE();
  TestMount mount({});
  ASSERT_EQ(mount.error(), "");
  ASSERT_EQ(
      RunShell("ls -l " + (mount / "rows/00000[0-4]/video.frames")).exit_code,
      0);
  if (geteuid() != 0) GTEST_SKIP() << "dropping kernel caches needs root";

  std::ofstream("/proc/sys/vm/drop_caches") << 2;

  EXPECT_EQ(
      RunShell("cat " + (mount / "rows/000001/video.frames/000002.jpg")).output,
      FakePlugin::FrameText(2));
}

TEST(Session, UnmountWaitsForTheDaemon) {
  ROWFS_SKIP_WITHOUT_FUSE();
  TestMount mount({});
  ASSERT_EQ(mount.error(), "");
  const int pid = mount.pid();
  ASSERT_GT(pid, 1);

  ASSERT_OK(Unmount(mount.path()));

  // Ended: gone, or a zombie nobody has collected.
  std::ifstream stat("/proc/" + std::to_string(pid) + "/stat");
  std::string line;
  std::getline(stat, line);
  EXPECT_TRUE(line.empty() || line.find(") Z") != line.npos) << line;
  EXPECT_THAT(Unmount(mount.path()), HasCode(Code::kNotFound));
}

TEST(Session, UnmountOfABusyMountNamesWhoHoldsIt) {
  ROWFS_SKIP_WITHOUT_FUSE();
  TestMount mount({});
  ASSERT_EQ(mount.error(), "");
  const int fd = open((mount / "rows/000001/id").c_str(), O_RDONLY | O_CLOEXEC);
  ASSERT_GE(fd, 0);

  const Status status = Unmount(mount.path());

  EXPECT_THAT(status, HasCode(Code::kUnavailable));
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("(" + std::to_string(getpid()) + ")"));
  close(fd);
}

TEST(Session, AStaleMountIsRecognizedAndCleared) {
  ROWFS_SKIP_WITHOUT_FUSE();
  TestMount mount({});
  ASSERT_EQ(mount.error(), "");
  kill(mount.pid(), SIGKILL);
  bool stale = false;
  for (int i = 0; i < 100 && !stale; ++i) {
    RealClock().SleepMs(20);
    ASSERT_OK_AND_ASSIGN(const auto found, FindMount(mount.path()));
    stale = found && found->stale;
  }
  EXPECT_TRUE(stale);

  EXPECT_OK(Unmount(mount.path()));

  ASSERT_OK_AND_ASSIGN(const auto found, FindMount(mount.path()));
  EXPECT_FALSE(found.has_value());
}

TEST(Session, ASignalUnmounts) {
  ROWFS_SKIP_WITHOUT_FUSE();
  TestMount mount({});
  ASSERT_EQ(mount.error(), "");

  kill(mount.pid(), SIGTERM);

  bool gone = false;
  for (int i = 0; i < 250 && !gone; ++i) {
    RealClock().SleepMs(20);
    ASSERT_OK_AND_ASSIGN(const auto found, FindMount(mount.path()));
    gone = !found.has_value();
  }
  EXPECT_TRUE(gone);
}

TEST(Session, MountingOverAMountOrAFileSaysSo) {
  ROWFS_SKIP_WITHOUT_FUSE();
  TestMount mount({});
  ASSERT_EQ(mount.error(), "");
  TempDir temp;
  std::ofstream(temp / "file") << "x";
  const std::string daemon =
      std::string(ROWFS_BUILD_DIR) + "/rowfs-test-daemon ";

  const CommandResult again = RunShell(daemon + mount.path());
  const CommandResult file = RunShell(daemon + (temp / "file"));
  const CommandResult missing = RunShell(daemon + (temp / "no/where"));

  EXPECT_EQ(again.exit_code, 1);
  EXPECT_THAT(again.output, HasSubstr("already a mount"));
  EXPECT_EQ(file.exit_code, 1);
  EXPECT_THAT(file.output, HasSubstr("not a folder"));
  EXPECT_EQ(missing.exit_code, 1);
  EXPECT_THAT(missing.output, HasSubstr("No such file"));
}

TEST(Session, AMountPointThatWasMadeIsRemovedAgain) {
  ROWFS_SKIP_WITHOUT_FUSE();
  TempDir temp;
  const std::string path = temp / "made here";
  const CommandResult result = RunShell(std::string(ROWFS_BUILD_DIR) +
                                        "/rowfs-test-daemon '" + path + "'");
  ASSERT_EQ(result.exit_code, 0) << result.output;

  ASSERT_OK(Unmount(path));

  EXPECT_NE(access(path.c_str(), F_OK), 0);
}

TEST(Session, SixteenReadersGetTheirOwnBytes) {
  ROWFS_SKIP_WITHOUT_FUSE();
  TestMount mount({});
  ASSERT_EQ(mount.error(), "");
  std::string command;
  for (int i = 0; i < 16; ++i) {
    const std::string row =
        "0000" + std::string(i < 10 ? "0" : "") + std::to_string(i);
    if (i == 7 || i == 5 || i == 6) continue;
    command += "( for k in 0 1 2 4 5 6 7 8 9; do cat " +
               (mount / "rows/" + row + "/video.frames/00000$k.jpg") + " " +
               (mount / "rows/" + row + "/photo.png") + "; done | md5sum > " +
               "/dev/null; test $(cat " + (mount / "rows/" + row + "/id") +
               ") = " + std::to_string(i) + " || echo wrong ) & ";
  }

  const CommandResult result = RunShell("{ " + command + " wait; }");

  EXPECT_EQ(result.output, "");
}

}  // namespace
}  // namespace rowfs
