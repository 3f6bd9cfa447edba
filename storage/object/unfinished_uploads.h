// Uploads in parts that a killed writer left. Nobody sees them, but the store
// keeps their parts, and bills them, until someone gives them up.
//
// Thread-safe.
#ifndef ROWFS_STORAGE_OBJECT_UNFINISHED_UPLOADS_H_
#define ROWFS_STORAGE_OBJECT_UNFINISHED_UPLOADS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "storage/object/object_store.h"

namespace rowfs {

// What stores that upload in parts are besides.
class UnfinishedUploads {
 public:
  struct Upload {
    std::string path;  // of the object it would have become
    std::string id;
    int64_t begun_ns = 0;  // since the Unix epoch; 0 when unknown
  };
  virtual ~UnfinishedUploads() = default;

  // Those of objects whose paths begin with `prefix`. A request per 1,000.
  virtual Result<std::vector<Upload>> ListUploads(
      const std::string& prefix) = 0;
  // OK also when it is gone already.
  virtual Status AbortUpload(const Upload& upload) = 0;
};

// Give up those below `folder` that were begun before a moment, or with
// `dry_run` only tell them. Empty where the store has no such thing.
Result<std::vector<UnfinishedUploads::Upload>> AbortUploads(
    const Location& folder, int64_t begun_before_ns, bool dry_run);

}  // namespace rowfs
#endif  // ROWFS_STORAGE_OBJECT_UNFINISHED_UPLOADS_H_
