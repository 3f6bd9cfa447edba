// Publishing what several writers staged (LanceDatasetWriter::Stage) as one
// version.
//
// A function without shared state; thread-safe, and safe beside other commits.
#ifndef ROWFS_STORAGE_LANCE_PUBLISH_H_
#define ROWFS_STORAGE_LANCE_PUBLISH_H_

#include <span>

#include "storage/lance/fragment_list.h"
#include "storage/object/object_store.h"

namespace rowfs {

struct PublishResult {
  uint64_t version = 0;
  uint64_t rows = 0;
  uint64_t fragments = 0;
};

// Make the rows of `lists`, in their order, one new version of the dataset at
// `root`, or its first one. Lists without rows add none to a dataset that is
// there. Nothing is visible after an error:
// kInvalidArgument when the lists' columns or file versions differ from one
// another's or the dataset's, or a file is listed twice; kAlreadyExists when a
// list was published before; kNotFound or kCorruption when a file is missing or
// has another size; else those of CommitTransaction.
// Costs: a request a data file and a listing a folder of sidecars, one read a
// version since the lists were written, the commit.
Result<PublishResult> PublishFragments(const Location& root,
                                       std::span<const FragmentList> lists);

}  // namespace rowfs
#endif  // ROWFS_STORAGE_LANCE_PUBLISH_H_
