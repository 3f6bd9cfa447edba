// A Lance dataset directory as a TableSource: manifest, fragments, deletions,
// base paths, branches and tags, blobs of every kind.
#ifndef ROWFS_STORAGE_LANCE_DATASET_H_
#define ROWFS_STORAGE_LANCE_DATASET_H_

#include "storage/table/table_source.h"

namespace rowfs {

// The "lance" format: detects a `_versions` directory. `version`: "v12" or
// "12", a tag, a branch, "branch:12", "latest" or empty. Opening costs one
// listing of
// `_versions` (or one probe), the manifest's tail, and for a tag or branch its
// small file. Policy for external blobs: OpenContext::allow_external, the
// dataset and its registered base paths.
TableFormat LanceFormat();

}  // namespace rowfs
#endif  // ROWFS_STORAGE_LANCE_DATASET_H_
