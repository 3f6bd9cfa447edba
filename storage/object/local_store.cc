#include "storage/object/local_store.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>

#include "storage/base/no_wait.h"

namespace rowfs {
namespace {

// Writes go out in pieces of this size, however small the caller's are.
constexpr size_t kWriteBufferBytes = 256 << 10;

class LocalWriter final : public ObjectWriter {
 public:
  LocalWriter(std::string path, std::string temporary, PosixFile file,
              PutMode mode)
      : path_(std::move(path)),
        temporary_(std::move(temporary)),
        file_(std::move(file)),
        mode_(mode) {
    buffer_.reserve(kWriteBufferBytes);
  }
  ~LocalWriter() override {
    if (!temporary_.empty()) ::unlink(temporary_.c_str());
  }

  Status Write(ByteSpan bytes) override {
    ROWFS_RETURN_IF_ERROR(status_);
    if (buffer_.size() + bytes.size() > kWriteBufferBytes) Flush();
    if (!status_.ok()) return status_;
    if (bytes.size() >= kWriteBufferBytes) {
      status_ = WriteAll(file_, path_, bytes);
    } else {
      AppendBytes(&buffer_, bytes);
    }
    return status_;
  }

  Status Finish() override {
    ROWFS_RETURN_IF_ERROR(status_);
    Flush();
    if (status_.ok()) status_ = Publish();
    if (!status_.ok()) return status_;
    status_ = Status(Code::kInternal, path_ + ": written to after Finish");
    return {};
  }

 private:
  void Flush() {
    status_ = WriteAll(file_, path_, buffer_);
    buffer_.clear();
  }

  Status Publish() {
    // The bytes before the name: after a crash the name has all its bytes.
    if (::fsync(file_.fd()) != 0) return ErrnoStatus(errno, path_, "sync");
    ROWFS_RETURN_IF_ERROR(mode_ == PutMode::kIfAbsent ? MoveIfAbsent()
                                                      : Move());
    temporary_.clear();
    return SyncDirectory(ParentOf(path_));
  }

  Status Move() {
    if (::rename(temporary_.c_str(), path_.c_str()) == 0) return {};
    return ErrnoStatus(errno, path_, "rename");
  }

  Status MoveIfAbsent() {
    // A rename that refuses to replace, where the file system has it: a link
    // and unlink would change the ctime of a file others can already see.
    if (::renameat2(AT_FDCWD, temporary_.c_str(), AT_FDCWD, path_.c_str(),
                    RENAME_NOREPLACE) == 0) {
      return {};
    }
    if (errno != EINVAL && errno != ENOSYS && errno != ENOTSUP) {
      return ErrnoStatus(errno, path_, "create");
    }
    if (::link(temporary_.c_str(), path_.c_str()) != 0) {
      return ErrnoStatus(errno, path_, "create");
    }
    ::unlink(temporary_.c_str());
    return {};
  }

  const std::string path_;
  std::string temporary_;  // empty once moved
  const PosixFile file_;
  const PutMode mode_;
  Bytes buffer_;
  Status status_;
};

bool SameTime(const timespec& a, const timespec& b) {
  return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

bool SameFile(const struct ::stat& a, const struct ::stat& b) {
  return a.st_size == b.st_size && SameTime(a.st_mtim, b.st_mtim) &&
         SameTime(a.st_ctim, b.st_ctim);
}

// Entry `name` of the open directory; absent when it is neither a file nor a
// directory, or gone meanwhile.
std::optional<ListEntry> EntryAt(int directory_fd, const std::string& name) {
  struct ::stat status {};
  if (::fstatat(directory_fd, name.c_str(), &status, 0) != 0) {
    return std::nullopt;
  }
  ListEntry entry;
  entry.name = name;
  entry.is_directory = S_ISDIR(status.st_mode);
  if (!entry.is_directory) {
    Result<ObjectMeta> meta = MetaOf(status, name);
    if (!meta.ok()) return std::nullopt;
    entry.meta = std::move(meta).value();
  }
  return entry;
}

}  // namespace

Result<ObjectMeta> LocalStore::Stat(const std::string& path) {
  ROWFS_RETURN_IF_ERROR(CheckPath(path));
  struct ::stat status {};
  if (::stat(path.c_str(), &status) != 0) {
    return ErrnoStatus(errno, path, "stat");
  }
  return MetaOf(status, path);
}

Status LocalStore::ReadAt(const ObjectRef& object, uint64_t offset,
                          MutableByteSpan out) {
  std::shared_ptr<const KeptFile> kept = FindKept(object);
  if (NoWaitScope::Active()) {
    return kept ? PReadCached(kept->file, object.path, offset, out)
                : NoWaitScope::Refuse();
  }
  if (kept == nullptr) {
    auto opened = std::make_shared<KeptFile>();
    opened->path = object.path;
    ROWFS_ASSIGN_OR_RETURN(opened->file,
                           OpenRegular(object.path, &opened->meta));
    if (!object.etag.empty() && object.etag != opened->meta.etag) {
      return {Code::kChanged,
              object.path + ": the file has changed since it was opened"};
    }
    kept = opened;
    if (!object.etag.empty() &&
        ::fstat(opened->file.fd(), &opened->status) == 0) {
      const auto still = MetaOf(opened->status, object.path);
      if (still.ok() && still.value().etag == object.etag) Keep(kept);
    }
  }
  return PReadAll(kept->file, object.path, offset, out);
}

std::shared_ptr<const LocalStore::KeptFile> LocalStore::FindKept(
    const ObjectRef& object) {
  std::shared_ptr<const KeptFile> found;
  if (object.etag.empty()) return found;  // whatever has that name now
  {
    const MutexLock lock(mu_);
    for (auto it = kept_.begin(); it != kept_.end(); ++it) {
      if ((*it)->path != object.path) continue;
      kept_.splice(kept_.begin(), kept_, it);
      found = *it;
      break;
    }
  }
  if (found == nullptr) return found;
  struct ::stat now {};
  // The last name a file loses changes its ctime, so this sees a file that was
  // replaced as well.
  if (found->meta.etag == object.etag && ::fstat(found->file.fd(), &now) == 0 &&
      SameFile(now, found->status)) {
    return found;
  }
  const MutexLock lock(mu_);
  kept_.remove(found);
  return nullptr;
}

void LocalStore::Keep(std::shared_ptr<const KeptFile> file) {
  std::shared_ptr<const KeptFile> oldest;  // closed without the lock
  const MutexLock lock(mu_);
  kept_.push_front(std::move(file));
  if (kept_.size() > kFilesKept) {
    oldest = std::move(kept_.back());
    kept_.pop_back();
  }
}

Result<ObjectStore::Tail> LocalStore::ReadTail(const std::string& path,
                                               uint64_t wanted) {
  Tail tail;
  ROWFS_ASSIGN_OR_RETURN(const PosixFile file, OpenRegular(path, &tail.meta));
  const uint64_t size = std::min(wanted, tail.meta.size);
  tail.bytes.resize(size);
  ROWFS_RETURN_IF_ERROR(
      PReadAll(file, path, tail.meta.size - size, tail.bytes));
  return tail;
}

Result<std::vector<ListEntry>> LocalStore::List(const std::string& directory) {
  ROWFS_RETURN_IF_ERROR(CheckPath(directory));
  const std::unique_ptr<DIR, int (*)(DIR*)> stream(::opendir(directory.c_str()),
                                                   ::closedir);
  if (stream == nullptr) return ErrnoStatus(errno, directory, "list");
  std::vector<ListEntry> entries;
  for (;;) {
    errno = 0;
    const dirent* entry = ::readdir(stream.get());
    if (entry == nullptr) break;
    const std::string name = entry->d_name;
    if (name == "." || name == "..") continue;
    if (auto found = EntryAt(::dirfd(stream.get()), name)) {
      entries.push_back(std::move(*found));
    }
  }
  if (errno != 0) return ErrnoStatus(errno, directory, "list");
  std::sort(
      entries.begin(), entries.end(),
      [](const ListEntry& a, const ListEntry& b) { return a.name < b.name; });
  return entries;
}

Result<std::unique_ptr<ObjectWriter>> LocalStore::Create(
    const std::string& path, PutMode mode) {
  ROWFS_RETURN_IF_ERROR(CheckPath(path));
  const std::string directory = ParentOf(path);
  ROWFS_RETURN_IF_ERROR(MakeDirectories(directory));
  // Hidden, and ending in ".tmp", so that a crash leaves nothing that a table
  // format takes for one of its own files.
  ROWFS_ASSIGN_OR_RETURN(const std::string name, UniqueName());
  const std::string temporary = directory + "/.rowfs-" + name + ".tmp";
  PosixFile file(
      ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
  if (!file.is_open()) return ErrnoStatus(errno, path, "create");
  return std::unique_ptr<ObjectWriter>(
      std::make_unique<LocalWriter>(path, temporary, std::move(file), mode));
}

Status LocalStore::Remove(const std::string& path) {
  ROWFS_RETURN_IF_ERROR(CheckPath(path));
  if (::unlink(path.c_str()) != 0 && errno != ENOENT && errno != ENOTDIR) {
    return ErrnoStatus(errno, path, "remove");
  }
  return {};
}

}  // namespace rowfs
