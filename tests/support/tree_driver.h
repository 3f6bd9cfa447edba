// A tree through one file API with two drivers: Direct calls fs/tree, Mounted
// goes through the kernel to a daemon in another process. The same tests run on
// both.
//
// One thread, unless said otherwise.
#ifndef ROWFS_TESTS_SUPPORT_TREE_DRIVER_H_
#define ROWFS_TESTS_SUPPORT_TREE_DRIVER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tests/support/sample_tree.h"

namespace rowfs {

// A value or an errno.
template <typename T>
struct Outcome {
  int error = 0;
  T value = {};
};

struct FileStat {
  char type = '?';  // 'f', 'd', 'l'
  uint64_t size = 0;
  uint64_t inode = 0;
  int64_t mtime_ns = 0;
};

class TreeDriver {
 public:
  virtual ~TreeDriver() = default;
  virtual const char* name() const = 0;

  // Without following a link at the end.
  virtual Outcome<FileStat> Stat(const std::string& path) = 0;
  // Names as they come, without "." and "..".
  virtual Outcome<std::vector<std::string>> List(const std::string& path) = 0;
  virtual Outcome<std::string> Read(const std::string& path) = 0;
  virtual Outcome<std::string> ReadAt(const std::string& path, uint64_t offset,
                                      size_t size) = 0;
  virtual Outcome<std::string> ReadLink(const std::string& path) = 0;
  virtual Outcome<std::string> Xattr(const std::string& path,
                                     const std::string& name) = 0;
  virtual Outcome<std::vector<std::string>> Xattrs(const std::string& path) = 0;
  // Appends to a file; 0 or an errno.
  virtual int Write(const std::string& path, const std::string& text) = 0;
};

// Options both drivers understand: "rows=N", "narrow", "sharded", "flat",
// "names=COLUMN", "gate=FILE", "view", "no-open", "exact".
SampleOptions ParseSampleOptions(const std::vector<std::string>& words);

std::unique_ptr<TreeDriver> MakeDirectDriver(
    const std::vector<std::string>& words);
// Through a mount of the daemon in tests/mount. Null when /dev/fuse cannot be
// opened; `why` says so.
std::unique_ptr<TreeDriver> MakeMountedDriver(
    const std::vector<std::string>& words, std::string* why);

// A daemon serving a mount, for tests of what only a kernel shows. The mount
// and the process are gone at the end of the scope.
class TestMount {
 public:
  explicit TestMount(const std::vector<std::string>& words);
  ~TestMount();
  TestMount(const TestMount&) = delete;
  TestMount& operator=(const TestMount&) = delete;

  // Why there is no mount; empty when there is one.
  const std::string& error() const { return error_; }
  const std::string& path() const { return path_; }
  std::string operator/(const std::string& name) const {
    return path_ + "/" + name;
  }
  // Process number of the daemon.
  int pid() const;

 private:
  std::string folder_;
  std::string path_;
  std::string error_;
};

// Whether mounts can be made here. With ROWFS_REQUIRE_FUSE set they have to be.
bool CanMount(std::string* why);

#define ROWFS_SKIP_WITHOUT_FUSE()                                   \
  do {                                                              \
    std::string why;                                                \
    if (!::rowfs::CanMount(&why)) {                                 \
      ASSERT_EQ(std::getenv("ROWFS_REQUIRE_FUSE"), nullptr) << why; \
      GTEST_SKIP() << why;                                          \
    }                                                               \
  } while (false)

// Runs `command` in a shell; its output, and how it ended.
struct CommandResult {
  int exit_code = 0;
  std::string output;
};
CommandResult RunShell(const std::string& command);

}  // namespace rowfs
#endif  // ROWFS_TESTS_SUPPORT_TREE_DRIVER_H_
