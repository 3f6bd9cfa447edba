// The few POSIX calls of the local store, with EINTR, errno and NUL bytes in
// paths taken care of.
//
// Thread-safe; File is one thread at a time but for PRead.
#ifndef ROWFS_STORAGE_OBJECT_POSIX_FILE_H_
#define ROWFS_STORAGE_OBJECT_POSIX_FILE_H_

#include <sys/stat.h>

#include <string>
#include <string_view>
#include <utility>

#include "storage/base/bytes.h"
#include "storage/object/object_store.h"

namespace rowfs {

// `error` (an errno) as a Status: "path: action: No such file or directory".
Status ErrnoStatus(int error, const std::string& path, std::string_view action);

// kInvalidArgument for a path the system would cut at a NUL byte.
Status CheckPath(const std::string& path);

// Owns a descriptor.
class PosixFile {
 public:
  PosixFile() = default;
  explicit PosixFile(int fd) : fd_(fd) {}
  ~PosixFile();
  PosixFile(PosixFile&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  PosixFile& operator=(PosixFile&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }

  int fd() const { return fd_; }
  bool is_open() const { return fd_ >= 0; }

 private:
  int fd_ = -1;
};

// Open `path` for reading and tell what it is. kNotFound for a directory,
// kPermissionDenied for what is no regular file; never blocks on a pipe.
Result<PosixFile> OpenRegular(const std::string& path, ObjectMeta* meta);

// Size and etag of a regular file; errors as OpenRegular.
Result<ObjectMeta> MetaOf(const struct ::stat& status, const std::string& path);

// Exactly out.size() bytes; kOutOfRange when the file ends first.
Status PReadAll(const PosixFile& file, const std::string& path, uint64_t offset,
                MutableByteSpan out);
// The same from the page cache alone: NoWaitScope::Refuse where a disk would
// have to be asked. Requires: NoWaitScope::Active().
Status PReadCached(const PosixFile& file, const std::string& path,
                   uint64_t offset, MutableByteSpan out);
Status WriteAll(const PosixFile& file, const std::string& path, ByteSpan bytes);

// 24 hex digits nobody else has, for temporary names and writers' marks.
Result<std::string> UniqueName();

// Make the entries of `directory` durable.
Status SyncDirectory(const std::string& directory);
// Make `directory` and its parents, durably.
Status MakeDirectories(const std::string& directory);
// What is before the last '/': "/" for "/x".
std::string ParentOf(const std::string& path);

}  // namespace rowfs
#endif  // ROWFS_STORAGE_OBJECT_POSIX_FILE_H_
