// Compaction: neighbouring small fragments, and those with many deleted rows,
// are written anew as one. Rows keep their order, their values, their stable
// ids; blobs keep their bytes and blob_info as they are, nothing is ingested
// again. The old files stay until gc.
//
// Functions without shared state; thread-safe, and safe against other writers
// in any process.
#ifndef ROWFS_STORAGE_LANCE_COMPACT_H_
#define ROWFS_STORAGE_LANCE_COMPACT_H_

#include <cstdint>
#include <functional>

#include "storage/lance/commit.h"
#include "storage/table/table_source.h"

namespace rowfs {

struct CompactOptions {
  // Fragments with fewer live rows are joined until they have as many.
  uint64_t rows_per_fragment = uint64_t{1} << 20;
  // A fragment with a larger share of deleted rows is rewritten even alone.
  double deleted_share_max = 0.1;
  uint32_t attempts_max = 3;
  Clock* clock = nullptr;  // null: the machine's
  // Rows copied so far, of how many; may be empty.
  std::function<void(uint64_t done, uint64_t total)> progress;
};

struct CompactResult {
  uint64_t version = 0;
  uint64_t fragments_before = 0;
  uint64_t fragments_after = 0;
  uint64_t row_count = 0;  // rows that were copied
  // Fragments left as they are because an index covers them (their rows would
  // leave it) or because their row ids are hidden columns.
  uint64_t fragments_kept = 0;
};

// Compact the dataset at `root`; with nothing to do, its version as it is.
//
// kUnsupported for a file version or a table feature that is not written.
// kChanged when others changed the same fragments attempts_max times while they
// were copied. Else the errors of reading, writing and CommitTransaction; after
// any error the table is what it was.
// Costs: reads and writes every live row of the fragments it joins; memory for
// about 64 MiB of rows, and one page a column.
Result<CompactResult> CompactDataset(const Location& root,
                                     const CompactOptions& options,
                                     const OpenContext& context);

}  // namespace rowfs
#endif  // ROWFS_STORAGE_LANCE_COMPACT_H_
