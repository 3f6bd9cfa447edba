// Deletion files: which physical rows of a fragment are gone.
//
// Functions without shared state; thread-safe.
#ifndef ROWFS_STORAGE_LANCE_DELETIONS_H_
#define ROWFS_STORAGE_LANCE_DELETIONS_H_

#include <cstdint>
#include <string>

#include "storage/lance/roaring.h"
#include "storage/lance/table.pb.h"
#include "storage/object/object_store.h"

namespace rowfs {

// "7-12-18443583949513402303.bin": fragment, read version, id.
std::string DeletionFileName(uint64_t fragment_id,
                             const lance::pb::DeletionFile& file);

// Read the deletion file at `location`, in whichever form `file` says. Offsets
// are below `physical_rows` and as many as the manifest counts (0: it does not
// say), else kCorruption naming the object. One request up to 64 KiB, else two.
Result<RoaringBitmap> ReadDeletions(const Location& location,
                                    const lance::pb::DeletionFile& file,
                                    uint64_t physical_rows);

// Write `rows` as a new deletion file of fragment `fragment_id` under `root`,
// durable, and return its description.
Result<lance::pb::DeletionFile> WriteDeletions(const Location& root,
                                               uint64_t fragment_id,
                                               uint64_t read_version,
                                               const RoaringBitmap& rows);

}  // namespace rowfs
#endif  // ROWFS_STORAGE_LANCE_DELETIONS_H_
