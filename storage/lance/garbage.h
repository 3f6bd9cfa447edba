// Files in a dataset's folder that no version refers to: left by writers that
// were killed or lost a race.
//
// Functions without shared state; thread-safe, and safe beside writers whose
// files are younger than the grace time.
#ifndef ROWFS_STORAGE_LANCE_GARBAGE_H_
#define ROWFS_STORAGE_LANCE_GARBAGE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "storage/base/clock.h"
#include "storage/object/object_store.h"

namespace rowfs {

struct GarbageOptions {
  // Younger files may belong to a commit that is on its way.
  int64_t grace_ms = int64_t{7} * 24 * 3600 * 1000;
  bool dry_run = false;    // find, do not remove
  Clock* clock = nullptr;  // null: the machine's
};

struct Garbage {
  std::string path;  // below the dataset
  uint64_t size = 0;
};

// Find, and remove, data files, sidecars, deletion and transaction files and
// unfinished writes that no version of the main line, of any branch, and no
// detached version refers to. Index and managed-blob files, and whatever has
// another name than a Lance writer gives, are left alone. Old versions stay.
//
// Returns what was removed (or would be). Any manifest that cannot be read ends
// it with that error before anything is removed; the first file that cannot be
// removed ends it too.
// Costs: listing the folders, reading every manifest.
Result<std::vector<Garbage>> CollectGarbage(const Location& root,
                                            const GarbageOptions& options);

}  // namespace rowfs
#endif  // ROWFS_STORAGE_LANCE_GARBAGE_H_
