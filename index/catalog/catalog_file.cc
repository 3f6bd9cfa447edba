#include "index/catalog/catalog_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "index/catalog/migrations.h"
#include "storage/base/hash.h"

namespace rowfs {
namespace {

namespace fs = std::filesystem;

constexpr mode_t kFileMode = 0600;
constexpr mode_t kOthersMayWrite = 022;
constexpr size_t kNameDigits = 40;

Status SystemError(const std::string& path, const char* what) {
  const int number = errno;
  Code code = Code::kUnavailable;
  if (number == EACCES || number == EROFS || number == EPERM ||
      number == ELOOP) {
    code = Code::kPermissionDenied;
  } else if (number == ENOSPC || number == EDQUOT || number == EMFILE) {
    code = Code::kResourceExhausted;
  }
  return Status(code, path + ": " + what + ": " +
                          std::generic_category().message(number));
}

std::string EnvironmentText(const char* name) {
  const char* value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe)
  return value != nullptr ? value : "";
}

// What a folder or file of ours must be: ours, and nobody else's to write.
// Somebody who can write a catalog decides which bytes a reader believes.
Status CheckOurs(const std::string& path, bool or_root,
                 const struct stat& status) {
  const bool owner_ok =
      status.st_uid == geteuid() || (or_root && status.st_uid == 0);
  if (owner_ok && (status.st_mode & kOthersMayWrite) == 0) return Status();
  return Status(Code::kPermissionDenied,
                path +
                    ": belongs to another user or is writable by others; "
                    "choose another --cache-dir");
}

Status CheckOurs(const std::string& path, bool or_root = false) {
  struct stat status = {};
  if (lstat(path.c_str(), &status) != 0) {
    return SystemError(path, "cannot examine");
  }
  if (!S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode)) {
    return Status(Code::kPermissionDenied, path + ": is no plain file");
  }
  return CheckOurs(path, or_root, status);
}

// The folder of `path`, made if it is missing, without links in its name.
Result<std::string> MakeFolder(const fs::path& folder) {
  std::error_code error;
  if (fs::create_directories(folder, error)) {
    fs::permissions(folder, fs::perms::owner_all, error);
  }
  const fs::path real = fs::canonical(folder, error);
  if (error) {
    return Status(Code::kPermissionDenied,
                  folder.string() +
                      ": cannot make the catalog's folder: " + error.message());
  }
  return real.string();
}

// Make an empty file at `path` unless one is there. It appears complete: SQLite
// may open it at once, and must not see this function close it, which would
// release SQLite's own locks.
Status MakeFile(const std::string& path) {
  std::string temporary = path + ".XXXXXX";
  const int fd = mkostemp(temporary.data(), O_CLOEXEC);  // mode 0600
  if (fd < 0) return SystemError(path, "cannot create");
  close(fd);
  const bool made = link(temporary.c_str(), path.c_str()) == 0;
  const Status status =
      made || errno == EEXIST ? Status() : SystemError(path, "cannot create");
  unlink(temporary.c_str());
  return status;
}

Result<int> OpenLock(const std::string& path) {
  const int fd =
      open(path.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, kFileMode);
  if (fd < 0) return SystemError(path, "cannot open");
  return fd;
}

}  // namespace

std::string CatalogDirectory(const std::string& cache_directory) {
  if (!cache_directory.empty()) return cache_directory;
  const std::string xdg = EnvironmentText("XDG_CACHE_HOME");
  // The XDG specification: relative paths are to be ignored.
  if (fs::path(xdg).is_absolute()) return (fs::path(xdg) / "rowfs").string();
  const std::string home = EnvironmentText("HOME");
  if (!fs::path(home).is_absolute()) return "";
  return (fs::path(home) / ".cache" / "rowfs").string();
}

std::string CatalogPath(const std::string& directory,
                        std::string_view fingerprint) {
  const Sha256Digest digest = Sha256(AsBytes(fingerprint));
  const std::string name = ToHex(digest).substr(0, kNameDigits);
  return (fs::path(directory) / (name + ".catalog")).string();
}

Result<std::unique_ptr<CatalogFile>> CatalogFile::Open(
    const std::string& path, std::string_view fingerprint,
    std::string* warning) {
  if (path.empty()) {
    return Status(Code::kPermissionDenied,
                  "no folder to keep indexes in: neither XDG_CACHE_HOME nor "
                  "HOME is set; give --cache-dir");
  }
  ROWFS_ASSIGN_OR_RETURN(const std::string folder,
                         MakeFolder(fs::absolute(path).parent_path()));
  std::unique_ptr<CatalogFile> file(
      new CatalogFile((fs::path(folder) / fs::path(path).filename()).string()));
  const Status writable = file->OpenWritable(fingerprint, warning);
  if (writable.code() == Code::kPermissionDenied &&
      file->OpenReadOnly(fingerprint).ok()) {
    return file;
  }
  ROWFS_RETURN_IF_ERROR(writable);
  return file;
}

Result<std::unique_ptr<CatalogFile>> CatalogFile::OpenLent(
    const std::string& path, std::string_view fingerprint) {
  std::error_code error;
  const fs::path real = fs::canonical(path, error);
  if (error) return Status(Code::kNotFound, path + ": " + error.message());
  std::unique_ptr<CatalogFile> file(new CatalogFile(real.string()));
  ROWFS_RETURN_IF_ERROR(file->OpenReadOnly(fingerprint));
  return file;
}

CatalogFile::~CatalogFile() {
  if (lock_ >= 0) close(lock_);
}

Status CatalogFile::Lock() {
  ROWFS_RETURN_IF_ERROR(CheckOurs(fs::path(path_).parent_path().string()));
  ROWFS_ASSIGN_OR_RETURN(lock_, OpenLock(path_ + ".lock"));
  // Held exclusively only for the moment of a rename.
  while (flock(lock_, LOCK_SH) != 0) {
    if (errno != EINTR) return SystemError(path_, "cannot lock");
  }
  return Status();
}

Status CatalogFile::OpenWritable(std::string_view fingerprint,
                                 std::string* warning) {
  ROWFS_RETURN_IF_ERROR(Lock());
  const auto attempt = [&]() -> Status {
    if (IsMarkedDamaged()) {
      return Status(Code::kCorruption, path_ + ": was found damaged");
    }
    if (access(path_.c_str(), F_OK) != 0) {
      ROWFS_RETURN_IF_ERROR(MakeFile(path_));
    }
    ROWFS_RETURN_IF_ERROR(CheckOurs(path_));
    ROWFS_ASSIGN_OR_RETURN(const auto db, Connect());
    return MigrateCatalog(*db, fingerprint).With(path_);
  };
  Status status = attempt();
  if (status.code() != Code::kCorruption) return status;
  *warning = std::string(status.message()) + "; set aside, it is made again";
  ROWFS_RETURN_IF_ERROR(SetAside());
  return attempt();
}

Status CatalogFile::SetAside() {
  // Others would go on with the file they have, or mix its log with a new one.
  if (flock(lock_, LOCK_EX | LOCK_NB) != 0) {
    (void)flock(lock_, LOCK_SH);
    return Status(Code::kUnavailable,
                  path_ + ": is damaged and in use by another process");
  }
  // The log first: a database without it is old, a log without its database
  // would be applied to the next one.
  std::error_code error;
  fs::rename(path_ + "-wal", path_ + ".damaged-wal", error);
  fs::remove(path_ + "-shm", error);
  fs::rename(path_, path_ + ".damaged", error);
  const bool moved = !fs::exists(path_);
  const bool unmarked = ftruncate(lock_, 0) == 0;
  (void)flock(lock_, LOCK_SH);
  if (moved && unmarked) return Status();
  return Status(Code::kPermissionDenied, path_ + ": cannot be set aside");
}

bool CatalogFile::IsMarkedDamaged() const {
  struct stat status = {};
  return fstat(lock_, &status) == 0 && status.st_size != 0;
}

void CatalogFile::MarkDamaged() {
  if (lock_ >= 0) (void)!pwrite(lock_, "damaged\n", 8, 0);
}

Status CatalogFile::OpenReadOnly(std::string_view fingerprint) {
  ROWFS_RETURN_IF_ERROR(
      CheckOurs(fs::path(path_).parent_path().string(), /*or_root=*/true));
  ROWFS_RETURN_IF_ERROR(CheckOurs(path_, /*or_root=*/true));
  // With a log, the file alone may be in the middle of a change.
  std::error_code error;
  const auto wal_size = fs::file_size(path_ + "-wal", error);
  if (!error && wal_size != 0) {
    return Status(Code::kUnavailable, path_ + ": is being written");
  }
  mode_ = Database::Mode::kImmutable;
  ROWFS_ASSIGN_OR_RETURN(const auto db, Connect());
  return CheckCatalog(*db, fingerprint).With(path_);
}

Result<std::unique_ptr<Database>> CatalogFile::Connect() const {
  return Database::Open(path_, mode_);
}

}  // namespace rowfs
