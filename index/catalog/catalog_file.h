// The file under a catalog: where it lies, who may touch it, and how a damaged
// one is replaced while other processes may be using it.
//
// Thread-safe.
#ifndef ROWFS_INDEX_CATALOG_CATALOG_FILE_H_
#define ROWFS_INDEX_CATALOG_CATALOG_FILE_H_

#include <memory>
#include <string>
#include <string_view>

#include "index/catalog/sqlite.h"
#include "storage/base/status.h"

namespace rowfs {

// The folder for catalogs: `cache_directory`, or $XDG_CACHE_HOME/rowfs, or
// ~/.cache/rowfs; empty when there is none of these.
std::string CatalogDirectory(const std::string& cache_directory);
// The catalog of a snapshot in that folder: its name is a hash.
std::string CatalogPath(const std::string& directory,
                        std::string_view fingerprint);

class CatalogFile {
 public:
  // Make the folder (0700) and the file (0600) if they are missing, bring the
  // schema up to date, set a damaged file aside as PATH.damaged (`warning` says
  // so). Every process holds a shared lock on PATH.lock while it uses the file;
  // setting it aside needs the only one.
  //
  // A file that cannot be written is used as it is, when nobody is writing it
  // and it is the user's own or root's.
  // kPermissionDenied (also for a folder that others may write), kUnsupported
  // (newer schema), kUnavailable (damaged, and in use elsewhere; no space).
  static Result<std::unique_ptr<CatalogFile>> Open(const std::string& path,
                                                   std::string_view fingerprint,
                                                   std::string* warning);
  // An existing file, for reading alone; nothing is made beside it. kNotFound,
  // kPermissionDenied, kCorruption (of another snapshot), kUnavailable (being
  // written).
  static Result<std::unique_ptr<CatalogFile>> OpenLent(
      const std::string& path, std::string_view fingerprint);
  ~CatalogFile();
  CatalogFile(const CatalogFile&) = delete;
  CatalogFile& operator=(const CatalogFile&) = delete;

  Result<std::unique_ptr<Database>> Connect() const;
  bool read_only() const { return mode_ == Database::Mode::kImmutable; }
  // Have the next process that opens it alone set it aside.
  void MarkDamaged();

 private:
  explicit CatalogFile(std::string path) : path_(std::move(path)) {}

  Status Lock();
  Status OpenWritable(std::string_view fingerprint, std::string* warning);
  Status OpenReadOnly(std::string_view fingerprint);
  Status SetAside();
  bool IsMarkedDamaged() const;

  const std::string path_;
  Database::Mode mode_ = Database::Mode::kReadWrite;
  int lock_ = -1;
};

}  // namespace rowfs
#endif  // ROWFS_INDEX_CATALOG_CATALOG_FILE_H_
