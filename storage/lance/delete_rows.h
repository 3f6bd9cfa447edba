// Deleting rows of a Lance dataset: they are marked in deletion files, and
// fragments that have no row left leave the version. Data stays where it is
// until compaction and gc.
//
// Functions without shared state; thread-safe, and safe against other writers
// in any process.
#ifndef ROWFS_STORAGE_LANCE_DELETE_ROWS_H_
#define ROWFS_STORAGE_LANCE_DELETE_ROWS_H_

#include <cstdint>
#include <span>
#include <string>

#include "storage/base/clock.h"
#include "storage/object/object_store.h"
#include "storage/table/table_source.h"

namespace rowfs {

struct DeleteOptions {
  // The version whose row numbers are meant; 0: the latest.
  uint64_t version = 0;
  uint32_t attempts_max = 20;
  Clock* clock = nullptr;  // null: the machine's
};

struct DeleteResult {
  uint64_t version = 0;  // the one that no longer has the rows
  uint64_t deleted_count = 0;
};

// Delete the rows with numbers `rows` (any order, repeats allowed). Rows that
// somebody else deleted meanwhile are gone either way; rows that others append
// stay. Nothing to delete: the version itself.
//
// kOutOfRange for a row that is not there. kChanged when compaction or an
// update moved the rows meanwhile: look them up again. kAlreadyExists when the
// table was replaced. Else the errors of CommitTransaction and of reading
// deletion files. After any error nothing is deleted. Costs: opening the
// dataset, one small file a fragment touched, a commit.
Result<DeleteResult> DeleteRows(const Location& root,
                                std::span<const uint64_t> rows,
                                const DeleteOptions& options,
                                const OpenContext& context);

}  // namespace rowfs
#endif  // ROWFS_STORAGE_LANCE_DELETE_ROWS_H_
