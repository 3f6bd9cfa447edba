// Which fragments compaction joins.
//
// Pure; thread-safe.
#ifndef ROWFS_STORAGE_LANCE_COMPACT_PLAN_H_
#define ROWFS_STORAGE_LANCE_COMPACT_PLAN_H_

#include <vector>

#include "storage/lance/compact.h"
#include "storage/lance/manifest.h"

namespace rowfs {

struct CompactPlan {
  // Neighbours in manifest order, each group to become one fragment; indices
  // into the manifest's fragments.
  std::vector<std::vector<size_t>> groups;
  uint64_t row_count = 0;       // live rows of all groups
  uint64_t fragments_kept = 0;  // see CompactResult
};

// `manifest` read with ManifestParts::kAll, its row counts complete.
// kUnsupported when an index follows compactions in its own way, kCorruption
// for a damaged index section.
Result<CompactPlan> PlanCompaction(const Manifest& manifest,
                                   const CompactOptions& options);

}  // namespace rowfs
#endif  // ROWFS_STORAGE_LANCE_COMPACT_PLAN_H_
