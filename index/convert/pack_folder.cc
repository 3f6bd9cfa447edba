#include "index/convert/pack_folder.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>

#include "storage/object/posix_file.h"
#include "storage/pack/blob_key.h"
#include "storage/pack/posix_path.h"

namespace rowfs {
namespace {

namespace path = std::filesystem;

constexpr size_t kChunkBytes = 1 << 20;

void Collect(const path::path& folder, const std::string& prefix,
             std::vector<std::string>* files) {
  std::error_code error;
  for (path::directory_iterator entry(folder, error);
       !error && entry != path::directory_iterator(); entry.increment(error)) {
    const std::string name = prefix + entry->path().filename().string();
    std::error_code ignored;
    if (entry->is_regular_file(ignored)) {
      files->push_back(name);
    } else if (entry->symlink_status(ignored).type() ==
               path::file_type::directory) {
      Collect(entry->path(), name + "/", files);
    }
  }
}

Status AddFile(const std::string& file_path, const std::string& key,
               PackWriter& pack, Bytes* buffer) {
  const PosixFile file(::open(file_path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.is_open()) return ErrnoStatus(errno, file_path, "open");
  struct ::stat status = {};
  if (::fstat(file.fd(), &status) != 0) {
    return ErrnoStatus(errno, file_path, "stat");
  }
  ::posix_fadvise(file.fd(), 0, 0, POSIX_FADV_SEQUENTIAL);
  buffer->resize(kChunkBytes);
  const auto added = pack.Add(
      key, static_cast<uint64_t>(status.st_size), [&]() -> Result<ByteSpan> {
        ssize_t count = -1;
        do {
          count = ::read(file.fd(), buffer->data(), buffer->size());
        } while (count < 0 && errno == EINTR);
        if (count < 0) return ErrnoStatus(errno, file_path, "read");
        return ByteSpan(*buffer).first(static_cast<size_t>(count));
      });
  return added.status();
}

}  // namespace

bool ComesBefore(const std::string& a, const std::string& b) {
  return std::lexicographical_compare(
      a.begin(), a.end(), b.begin(), b.end(), [](char x, char y) {
        const auto rank = [](char c) {
          return c == '/' ? 0 : 1 + static_cast<uint8_t>(c);
        };
        return rank(x) < rank(y);
      });
}

std::vector<std::string> ListFilesBelow(const std::string& folder) {
  std::vector<std::string> files;
  Collect(folder, "", &files);
  std::sort(files.begin(), files.end(), ComesBefore);
  return files;
}

Status PackFiles(const std::string& folder,
                 const std::vector<std::string>& files, PackWriter& pack,
                 const ConvertProgress& progress) {
  for (const std::string& file : files) {
    ROWFS_RETURN_IF_ERROR(CheckBlobKey(file));
  }
  Bytes buffer;
  for (size_t i = 0; i < files.size(); ++i) {
    ROWFS_RETURN_IF_ERROR(
        AddFile(ChildPath(folder, files[i]), files[i], pack, &buffer));
    if (progress) progress(i + 1, files.size());
  }
  return {};
}

}  // namespace rowfs
