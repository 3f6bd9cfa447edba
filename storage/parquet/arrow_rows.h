// Some rows of an Arrow record batch, and no more of it read or held in memory
// than they lie in: Arrow makes its arrays over buffers that are reserved and
// not read, and of each buffer the stretches of these rows are filled in.
//
// Thread-safe.
#ifndef ROWFS_STORAGE_PARQUET_ARROW_ROWS_H_
#define ROWFS_STORAGE_PARQUET_ARROW_ROWS_H_

#include <arrow/ipc/options.h>
#include <arrow/type.h>

#include <memory>
#include <span>
#include <vector>

#include "storage/parquet/ipc_index.h"
#include "storage/table/array.h"

namespace rowfs {

// Rows `rows` (rising, of the batch) of the fields that `options` includes, an
// array each. At most a round of reads for each level of nesting, two for
// texts. Views, unions and run-end encoded columns are read whole. Requires:
// buffers are not compressed, there are no dictionaries, the byte order is this
// machine's. kCorruption for a batch that does not fit what it says.
Result<std::vector<Array>> ReadRowsOfBatch(
    const std::shared_ptr<const ObjectReader>& reader,
    const IpcMessage& message, const std::shared_ptr<arrow::Schema>& schema,
    const arrow::ipc::IpcReadOptions& options, std::span<const uint64_t> rows);

}  // namespace rowfs
#endif  // ROWFS_STORAGE_PARQUET_ARROW_ROWS_H_
