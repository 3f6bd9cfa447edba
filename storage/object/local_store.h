// Files of this machine as objects. Reading refuses everything but regular
// files, so that a named pipe or a device in a dataset can neither hang nor
// feed the reader.
//
// Thread-safe. Files that were read lately stay open: opening one for every
// read costs more than a small read.
#ifndef ROWFS_STORAGE_OBJECT_LOCAL_STORE_H_
#define ROWFS_STORAGE_OBJECT_LOCAL_STORE_H_

#include <list>
#include <memory>
#include <string>
#include <vector>

#include "storage/base/sync.h"
#include "storage/object/object_store.h"
#include "storage/object/posix_file.h"

namespace rowfs {

// Paths are absolute. The etag is device, inode, size, mtime and ctime, so a
// file that was replaced or written to reads as kChanged. Symbolic links are
// followed. Create writes a hidden file beside the target and moves it there
// once its bytes and name are on disk.
class LocalStore final : public ObjectStore {
 public:
  StoreCapabilities capabilities() const override { return {}; }
  std::string Uri(const std::string& path) const override { return path; }
  // kPermissionDenied for what is neither a file nor a directory.
  Result<ObjectMeta> Stat(const std::string& path) override;
  Status ReadAt(const ObjectRef& object, uint64_t offset,
                MutableByteSpan out) override EXCLUDES(mu_);
  Result<Tail> ReadTail(const std::string& path, uint64_t wanted) override;
  Result<std::vector<ListEntry>> List(const std::string& directory) override;
  Result<std::unique_ptr<ObjectWriter>> Create(const std::string& path,
                                               PutMode mode) override;
  Status Remove(const std::string& path) override;

 private:
  static constexpr size_t kFilesKept = 64;

  struct KeptFile {
    std::string path;
    PosixFile file;
    ObjectMeta meta;
    struct ::stat status {};  // when it was opened
  };

  // The open file that is `object`, unless anything about it has changed.
  std::shared_ptr<const KeptFile> FindKept(const ObjectRef& object)
      EXCLUDES(mu_);
  void Keep(std::shared_ptr<const KeptFile> file) EXCLUDES(mu_);

  Mutex mu_;
  // Newest first.
  std::list<std::shared_ptr<const KeptFile>> kept_ GUARDED_BY(mu_);
};

}  // namespace rowfs
#endif  // ROWFS_STORAGE_OBJECT_LOCAL_STORE_H_
