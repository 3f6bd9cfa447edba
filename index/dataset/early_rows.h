// Rows of a dataset that is still being opened; see the header below, which is
// the whole of it.
//
// Thread-safe.
#ifndef ROWFS_INDEX_DATASET_EARLY_ROWS_H_
#define ROWFS_INDEX_DATASET_EARLY_ROWS_H_

#include "storage/table/early_rows.h"

#endif  // ROWFS_INDEX_DATASET_EARLY_ROWS_H_
