#include "storage/object/posix_file.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/random.h>
#include <sys/uio.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <system_error>

#include "storage/base/hash.h"
#include "storage/base/no_wait.h"

namespace rowfs {
namespace {

Code CodeOf(int error) {
  switch (error) {
    case ENOENT:
    case ENOTDIR:
    case EISDIR:
      return Code::kNotFound;
    case EEXIST:
      return Code::kAlreadyExists;
    case EACCES:
    case EPERM:
    case EROFS:
      return Code::kPermissionDenied;
    case ENAMETOOLONG:
    case EINVAL:
    case ELOOP:
      return Code::kInvalidArgument;
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
    case EMFILE:
    case ENFILE:
    case ENOMEM:
      return Code::kResourceExhausted;
    default:
      return Code::kUnavailable;
  }
}

int64_t Nanoseconds(const timespec& time) {
  return int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

}  // namespace

Status ErrnoStatus(int error, const std::string& path,
                   std::string_view action) {
  return {CodeOf(error), path + ": " + std::string(action) + ": " +
                             std::generic_category().message(error)};
}

Status CheckPath(const std::string& path) {
  if (path.find('\0') == std::string::npos) return {};
  return {Code::kInvalidArgument,
          path.substr(0, path.find('\0')) + ": a path with a NUL byte in it"};
}

PosixFile::~PosixFile() {
  if (fd_ >= 0) ::close(fd_);
}

Result<ObjectMeta> MetaOf(const struct ::stat& status,
                          const std::string& path) {
  if (S_ISDIR(status.st_mode)) {
    return Status(Code::kNotFound, path + ": is a directory, not a file");
  }
  if (!S_ISREG(status.st_mode)) {
    return Status(Code::kPermissionDenied,
                  path +
                      ": not a regular file; devices, pipes and sockets "
                      "are not read");
  }
  ObjectMeta meta;
  meta.size = static_cast<uint64_t>(status.st_size);
  meta.mtime_ns = Nanoseconds(status.st_mtim);
  meta.etag = std::to_string(status.st_dev) + "-" +
              std::to_string(status.st_ino) + "-" + std::to_string(meta.size) +
              "-" + std::to_string(meta.mtime_ns) + "-" +
              std::to_string(Nanoseconds(status.st_ctim));
  return meta;
}

Result<PosixFile> OpenRegular(const std::string& path, ObjectMeta* meta) {
  ROWFS_RETURN_IF_ERROR(CheckPath(path));
  // O_NONBLOCK: opening a named pipe must not wait for its writer.
  int fd = -1;
  do {
    fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  } while (fd < 0 && errno == EINTR);
  if (fd < 0) return ErrnoStatus(errno, path, "open");
  PosixFile file(fd);
  struct ::stat status {};
  if (::fstat(fd, &status) != 0) return ErrnoStatus(errno, path, "stat");
  ROWFS_ASSIGN_OR_RETURN(*meta, MetaOf(status, path));
  return file;
}

Status PReadAll(const PosixFile& file, const std::string& path, uint64_t offset,
                MutableByteSpan out) {
  while (!out.empty()) {
    if (offset > static_cast<uint64_t>(INT64_MAX)) {
      return {Code::kOutOfRange, path + ": no file is that long"};
    }
    const ssize_t n =
        ::pread(file.fd(), out.data(), out.size(), static_cast<off_t>(offset));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return ErrnoStatus(errno, path, "read");
    if (n == 0) {
      return {Code::kOutOfRange, path + ": ends at " + std::to_string(offset) +
                                     ", " + std::to_string(out.size()) +
                                     " more bytes wanted"};
    }
    out = out.subspan(static_cast<size_t>(n));
    offset += static_cast<uint64_t>(n);
  }
  return {};
}

Status PReadCached(const PosixFile& file, const std::string& path,
                   uint64_t offset, MutableByteSpan out) {
  if (offset > static_cast<uint64_t>(INT64_MAX)) {
    return PReadAll(file, path, offset, out);
  }
  const iovec into = {out.data(), out.size()};
  const ssize_t n =
      ::preadv2(file.fd(), &into, 1, static_cast<off_t>(offset), RWF_NOWAIT);
  // A file system that is memory has no such reads, and needs none.
  struct statfs system {};
  if (n < 0 && errno == EOPNOTSUPP && ::fstatfs(file.fd(), &system) == 0 &&
      system.f_type == TMPFS_MAGIC) {
    return PReadAll(file, path, offset, out);
  }
  // Less than all: the rest is on the disk, or the file has ended.
  if (n < 0 || static_cast<size_t>(n) < out.size()) {
    return NoWaitScope::Refuse();
  }
  return {};
}

Status WriteAll(const PosixFile& file, const std::string& path,
                ByteSpan bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(file.fd(), bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return ErrnoStatus(errno, path, "write");
    bytes = bytes.subspan(static_cast<size_t>(n));
  }
  return {};
}

Result<std::string> UniqueName() {
  std::array<std::byte, 12> random{};
  if (::getrandom(random.data(), random.size(), 0) !=
      static_cast<ssize_t>(random.size())) {
    return ErrnoStatus(errno, "getrandom", "unique name");
  }
  return ToHex(random);
}

Status SyncDirectory(const std::string& directory) {
  const PosixFile file(
      ::open(directory.c_str(), O_RDONLY | O_CLOEXEC | O_DIRECTORY));
  if (!file.is_open()) return ErrnoStatus(errno, directory, "open");
  // Some file systems (FUSE, network) cannot sync a directory and say EINVAL.
  if (::fsync(file.fd()) != 0 && errno != EINVAL && errno != ENOTSUP) {
    return ErrnoStatus(errno, directory, "sync");
  }
  return {};
}

Status MakeDirectories(const std::string& directory) {
  if (::mkdir(directory.c_str(), 0777) == 0) {
    return SyncDirectory(ParentOf(directory));
  }
  if (errno == EEXIST) {
    struct ::stat status {};
    if (::stat(directory.c_str(), &status) != 0) {
      return ErrnoStatus(errno, directory, "stat");
    }
    if (S_ISDIR(status.st_mode)) return {};
    return {Code::kAlreadyExists, directory + ": is not a directory"};
  }
  const std::string parent = ParentOf(directory);
  if (errno != ENOENT || parent == directory) {
    return ErrnoStatus(errno, directory, "make directory");
  }
  ROWFS_RETURN_IF_ERROR(MakeDirectories(parent));
  return MakeDirectories(directory);
}

std::string ParentOf(const std::string& path) {
  const size_t slash = path.find_last_of('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

}  // namespace rowfs
