#include "storage/object/open_store.h"

#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>

#include "storage/object/local_store.h"
#include "storage/object/posix_file.h"
#include "storage/object/uri.h"

namespace rowfs {
namespace {

// `path` made absolute, without empty and "." parts and without a '/' at the
// end. ".." stays: what it means depends on links.
Result<std::string> AbsolutePath(const std::string& path) {
  std::string rooted = path;
  if (path.front() != '/') {
    std::array<char, PATH_MAX> directory{};
    if (::getcwd(directory.data(), directory.size()) == nullptr) {
      return ErrnoStatus(errno, path, "working directory");
    }
    rooted = std::string(directory.data()) + "/" + path;
  }
  std::string clean;
  size_t begin = 0;
  while (begin < rooted.size()) {
    size_t end = rooted.find('/', begin);
    if (end == std::string::npos) end = rooted.size();
    const std::string part = rooted.substr(begin, end - begin);
    if (!part.empty() && part != ".") clean += "/" + part;
    begin = end + 1;
  }
  return clean.empty() ? "/" : clean;
}

class Registry final : public StoreRegistry {
 public:
  Result<Location> Resolve(std::string_view uri) override {
    if (uri.empty()) {
      return Status(Code::kInvalidArgument,
                    "an empty source; give a path or a URL");
    }
    const std::optional<Uri> parts = FindUri(uri);
    if (!parts) return Local(std::string(uri));
    if (parts->scheme == "file") return LocalUri(*parts, uri);
    if (parts->scheme == "http" || parts->scheme == "https" ||
        parts->scheme == "s3" || parts->scheme == "hf") {
      return Status(Code::kUnsupported, std::string(uri) +
                                            ": this build reads no " +
                                            parts->scheme + ":// sources");
    }
    return Status(Code::kInvalidArgument,
                  std::string(uri) + ": unknown scheme " + parts->scheme +
                      "://; known are file, http, https, s3 and hf");
  }

 private:
  Result<Location> Local(const std::string& path) {
    ROWFS_RETURN_IF_ERROR(CheckPath(path));
    ROWFS_ASSIGN_OR_RETURN(std::string absolute, AbsolutePath(path));
    return Location{local_, std::move(absolute)};
  }

  Result<Location> LocalUri(const Uri& parts, std::string_view uri) {
    if (!parts.authority.empty() && parts.authority != "localhost") {
      return Status(Code::kInvalidArgument,
                    std::string(uri) +
                        ": a file:// URL names no other host; "
                        "did you mean file:///" +
                        parts.authority + parts.path + "?");
    }
    ROWFS_ASSIGN_OR_RETURN(const std::string path, PercentDecode(parts.path));
    if (path.empty()) {
      return Status(Code::kInvalidArgument,
                    std::string(uri) + ": a file:// URL without a path");
    }
    return Local(path);
  }

  const std::shared_ptr<ObjectStore> local_ = std::make_shared<LocalStore>();
};

}  // namespace

std::unique_ptr<StoreRegistry> MakeStoreRegistry() {
  return std::make_unique<Registry>();
}

}  // namespace rowfs
