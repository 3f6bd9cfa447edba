// From a blob cell of a dataset to readable bytes: data files and sidecars,
// managed and external objects, each checked for being long enough.
//
// Thread-safe.
#ifndef ROWFS_STORAGE_LANCE_BLOB_OPENER_H_
#define ROWFS_STORAGE_LANCE_BLOB_OPENER_H_

#include <string>
#include <vector>

#include "storage/lance/data_files.h"
#include "storage/lance/external.h"
#include "storage/table/table_source.h"

namespace rowfs {

class BlobOpener {
 public:
  // `bases`, `files` and `stores` outlive this.
  BlobOpener(const BasePaths& bases, DataFiles* files, StoreRegistry* stores,
             const std::vector<std::string>& allow_external);

  // As TableSource::OpenBlob: one metadata request, none for an object opened
  // lately or an empty blob. The bytes of a cell are never short: kCorruption
  // when the object ends first.
  Result<BlobSource> Open(const BlobCell& cell) const;

 private:
  Result<Location> Find(const BlobCell& cell) const;

  DataFiles* const files_;
  const ExternalPolicy policy_;
};

}  // namespace rowfs
#endif  // ROWFS_STORAGE_LANCE_BLOB_OPENER_H_
