// A folder that goes away, with all in it, at the end of the scope.
//
// One thread.
#ifndef ROWFS_TESTS_SUPPORT_TEMP_DIR_H_
#define ROWFS_TESTS_SUPPORT_TEMP_DIR_H_

#include <stdlib.h>

#include <filesystem>
#include <string>

namespace rowfs {

class TempDir {
 public:
  TempDir() {
    std::string name =
        (std::filesystem::temp_directory_path() / "rowfs-test-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) abort();
    path_ = name;
  }
  ~TempDir() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;

  const std::string& path() const { return path_; }
  // The path of `name` inside.
  std::string operator/(const std::string& name) const {
    return path_ + "/" + name;
  }

 private:
  std::string path_;
};

}  // namespace rowfs
#endif  // ROWFS_TESTS_SUPPORT_TEMP_DIR_H_
