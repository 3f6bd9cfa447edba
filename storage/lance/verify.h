// Whether a version of a dataset is whole: every file it refers to is there and
// says what the manifest says, every value can be read, every blob's bytes are
// where its cell points.
//
// Functions without shared state; thread-safe.
#ifndef ROWFS_STORAGE_LANCE_VERIFY_H_
#define ROWFS_STORAGE_LANCE_VERIFY_H_

#include <functional>
#include <string>
#include <vector>

#include "storage/table/table_source.h"

namespace rowfs {

struct VerifyOptions {
  bool values = true;  // read every value, not just footers and counts
  uint64_t findings_max = 1000;
  // Rows looked at so far, of how many; may be empty.
  std::function<void(uint64_t done, uint64_t total)> progress;
};

struct Finding {
  std::string where;  // fragment, file, column and row as far as known
  std::string what;
};

// Look at version `spec` (see ResolveVersion) of the dataset at `root`, and at
// what its tags and branches point to. Empty: whole. A version that cannot be
// opened at all is an error, not a finding. External blobs that policy refuses
// are no findings; those that are gone or too short are.
Result<std::vector<Finding>> VerifyDataset(const Location& root,
                                           std::string_view spec,
                                           const VerifyOptions& options,
                                           const OpenContext& context);

}  // namespace rowfs
#endif  // ROWFS_STORAGE_LANCE_VERIFY_H_
