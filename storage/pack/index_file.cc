#include "storage/pack/index_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "storage/base/hash.h"
#include "storage/object/posix_file.h"

namespace rowfs {
namespace {

constexpr std::string_view kMagic = "ROWFSPK1";
constexpr uint64_t kBytesMax = uint64_t{4} << 30;
constexpr size_t kDigestBytes = 32;

std::string PathOf(const std::string& directory, const std::string& key) {
  return directory + "/packs/" + ToHex(Sha256(AsBytes(key))) + ".index";
}

Status Save(const std::string& directory, const std::string& path,
            ByteSpan content) {
  ROWFS_RETURN_IF_ERROR(MakeDirectories(ParentOf(path)));
  // Nobody else's business, even where the umask is generous.
  if (::chmod((directory + "/packs").c_str(), 0700) != 0) {
    return ErrnoStatus(errno, path, "chmod");
  }
  ROWFS_ASSIGN_OR_RETURN(const std::string unique, UniqueName());
  const std::string temporary = path + "." + unique + ".tmp";
  const PosixFile file(
      ::open(temporary.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600));
  if (!file.is_open()) return ErrnoStatus(errno, temporary, "create");
  Bytes head = ToBytes(kMagic);
  AppendBytes(&head, Sha256(content));
  Status status = WriteAll(file, temporary, head);
  if (status.ok()) status = WriteAll(file, temporary, content);
  if (status.ok() && ::fsync(file.fd()) != 0) {
    status = ErrnoStatus(errno, temporary, "sync");
  }
  if (status.ok() && ::rename(temporary.c_str(), path.c_str()) != 0) {
    status = ErrnoStatus(errno, temporary, "rename");
  }
  if (!status.ok()) ::unlink(temporary.c_str());
  return status;
}

}  // namespace

std::string IndexKey(std::string_view kind, const Location& location,
                     const ObjectMeta& meta) {
  if (meta.etag.empty()) return {};
  return std::string(kind) + '\0' + location.uri() + '\0' + meta.etag + '\0' +
         std::to_string(meta.size) + '\0' + std::to_string(meta.mtime_ns);
}

std::optional<Bytes> LoadIndex(const std::string& cache_directory,
                               const std::string& key) {
  if (cache_directory.empty() || key.empty()) return {};
  const std::string path = PathOf(cache_directory, key);
  ObjectMeta meta;
  const Result<PosixFile> file = OpenRegular(path, &meta);
  const size_t head = kMagic.size() + kDigestBytes;
  if (!file.ok() || meta.size < head || meta.size > kBytesMax) return {};
  Bytes bytes(meta.size);
  if (!PReadAll(file.value(), path, 0, bytes).ok()) return {};
  const ByteSpan content = ByteSpan(bytes).subspan(head);
  const ByteSpan digest = ByteSpan(bytes).subspan(kMagic.size(), kDigestBytes);
  const Sha256Digest actual = Sha256(content);
  if (AsText(ByteSpan(bytes).first(kMagic.size())) != kMagic ||
      !std::equal(digest.begin(), digest.end(), actual.begin())) {
    return {};
  }
  bytes.erase(bytes.begin(), bytes.begin() + static_cast<ptrdiff_t>(head));
  return bytes;
}

void SaveIndex(const std::string& cache_directory, const std::string& key,
               ByteSpan content) {
  if (cache_directory.empty() || key.empty()) return;
  // What could not be kept is found out again next time.
  const Status ignored =
      Save(cache_directory, PathOf(cache_directory, key), content);
  static_cast<void>(ignored.ok());
}

}  // namespace rowfs
