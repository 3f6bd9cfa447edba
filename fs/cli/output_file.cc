#include "fs/cli/output_file.h"

#include <filesystem>

namespace rowfs {
namespace {

namespace fs = std::filesystem;

// Stores make the folders of what they write; for a file that a person names, a
// folder that is not there is a slip of the pen.
Status CheckFolder(const std::string& path) {
  const fs::path folder = fs::path(path).parent_path();
  std::error_code error;
  if (path.find("://") != path.npos || folder.empty() ||
      fs::is_directory(folder, error)) {
    return {};
  }
  return {Code::kNotFound,
          path + ": there is no folder " + folder.string() + "; make it first"};
}

}  // namespace

Status MakeOutputFolder(const std::string& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (!error || path.find("://") != path.npos) return {};
  return {Code::kAlreadyExists,
          path + ": cannot be made a folder: " + error.message()};
}

Status WriteOutput(
    StoreRegistry& stores, const std::string& path,
    const std::function<Status(const std::function<Status(ByteSpan)>&)>& fill) {
  ROWFS_RETURN_IF_ERROR(CheckFolder(path));
  ROWFS_ASSIGN_OR_RETURN(const Location location, stores.Resolve(path));
  ROWFS_ASSIGN_OR_RETURN(
      auto writer, location.store->Create(location.path, PutMode::kOverwrite));
  ROWFS_RETURN_IF_ERROR(
      fill([&](ByteSpan bytes) { return writer->Write(bytes); }));
  return writer->Finish();
}

}  // namespace rowfs
