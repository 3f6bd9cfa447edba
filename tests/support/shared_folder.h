// Sample data that lies beside the repository and is not part of it. A test
// that needs it skips, with the reason, where it is absent.
//
// Pure functions; thread-safe.
#ifndef ROWFS_TESTS_SUPPORT_SHARED_FOLDER_H_
#define ROWFS_TESTS_SUPPORT_SHARED_FOLDER_H_

#include <cstdlib>
#include <filesystem>
#include <string>

namespace rowfs {

// The path of `name` below $ROWFS_SHARED or ../shared; empty when not there.
inline std::string SharedPath(const std::string& name) {
  const char* set = std::getenv("ROWFS_SHARED");
  const std::string root =
      set != nullptr ? set : std::string(ROWFS_SOURCE_DIR) + "/../shared";
  const std::string path = root + "/" + name;
  return std::filesystem::exists(path) ? path : std::string();
}

}  // namespace rowfs

#define ROWFS_SKIP_WITHOUT_SHARED(path, name)                             \
  const std::string path = ::rowfs::SharedPath(name);                     \
  if (path.empty()) {                                                     \
    GTEST_SKIP() << "no ../shared/" << (name) << " (set ROWFS_SHARED to " \
                 << "the folder of sample data)";                         \
  }

#endif  // ROWFS_TESTS_SUPPORT_SHARED_FOLDER_H_
