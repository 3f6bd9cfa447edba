// What a tree does, whoever looks at it: run on fs/tree itself and through a
// mount.
#ifndef ROWFS_TESTS_CONFORMANCE_TREE_SUITE_H_
#define ROWFS_TESTS_CONFORMANCE_TREE_SUITE_H_

#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "tests/support/tree_driver.h"

namespace rowfs {

enum class DriverKind { kDirect, kMounted };

// A driver per test; options in Open.
class TreeSuite : public ::testing::TestWithParam<DriverKind> {
 protected:
  // Skips the test where mounts cannot be made.
  void Open(const std::vector<std::string>& words = {}) {
    if (GetParam() == DriverKind::kDirect) {
      driver_ = MakeDirectDriver(words);
      return;
    }
    std::string why;
    if (!CanMount(&why)) {
      ASSERT_EQ(std::getenv("ROWFS_REQUIRE_FUSE"), nullptr) << why;
      GTEST_SKIP() << why;
    }
    driver_ = MakeMountedDriver(words, &why);
    ASSERT_NE(driver_, nullptr) << why;
  }
  TreeDriver& tree() { return *driver_; }

  std::string ReadFile(const std::string& path) {
    const auto read = tree().Read(path);
    EXPECT_EQ(read.error, 0) << path;
    return read.value;
  }
  std::vector<std::string> ListFolder(const std::string& path) {
    const auto list = tree().List(path);
    EXPECT_EQ(list.error, 0) << path;
    return list.value;
  }
  FileStat StatFile(const std::string& path) {
    const auto stat = tree().Stat(path);
    EXPECT_EQ(stat.error, 0) << path;
    return stat.value;
  }

 private:
  std::unique_ptr<TreeDriver> driver_;
};

#define ROWFS_OPEN_TREE(...)                      \
  do {                                            \
    Open(__VA_ARGS__);                            \
    if (IsSkipped() || HasFatalFailure()) return; \
  } while (false)

}  // namespace rowfs
#endif  // ROWFS_TESTS_CONFORMANCE_TREE_SUITE_H_
