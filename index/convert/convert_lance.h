// Moves binary and blob columns of a Lance dataset into a blob pack and writes
// the dataset again with references in their place: planned first, from a
// sample, since Lance does not say which columns hold media.
//
// One thread.
#ifndef ROWFS_INDEX_CONVERT_CONVERT_LANCE_H_
#define ROWFS_INDEX_CONVERT_CONVERT_LANCE_H_

#include <string>
#include <vector>

#include "index/convert/unpack.h"
#include "storage/pack/pack_writer.h"
#include "storage/table/table_source.h"

namespace rowfs {

// A column that could be extracted, and what a sample of it holds.
struct PayloadColumn {
  size_t field = 0;  // in the table's schema
  std::string name;
  bool is_blob = false;  // of the blob storage class, else binary
  bool extract = false;
  uint64_t mean_bytes = 0;
  uint64_t min_bytes = 0;
  uint64_t max_bytes = 0;
  std::vector<std::string> kinds;  // at most three, sorted: "JPEG"
};

struct ExtractionPlan {
  uint64_t rows = 0;
  std::vector<PayloadColumn> columns;
  std::vector<std::string> other_columns;
};

// Measure the candidates of `table` on 32 rows and mark `columns` for
// extraction. `uri` names the dataset in messages. kInvalidArgument when there
// are no candidates, or when a name in `columns` is none of them.
Result<ExtractionPlan> PlanExtraction(TableSource& table,
                                      const std::string& uri,
                                      const std::vector<std::string>& columns);

// The plan in the words of the blobpack tool; no newline at the end.
std::string RenderPlan(const ExtractionPlan& plan, const std::string& uri);
// "5 values, JPEG, 18 B mean (3 B-33 B)".
std::string RenderEvidence(const ExtractionPlan& plan,
                           const PayloadColumn& column);

struct ExtractionSummary {
  uint64_t values = 0;
  uint64_t bytes = 0;
  uint64_t shards = 0;
};

// Write the marked columns of `plan` to `pack`, each as COLUMN/ROW.bin with the
// row's values in one shard if they fit, and all rows to a new Lance dataset at
// `output`: the other columns, then the references as strings. Finishes `pack`
// before the dataset becomes visible. kUnsupported for a cell with blob_info,
// whose bytes are no file. Memory: 64 rows without their extracted blobs.
Result<ExtractionSummary> ExtractColumns(TableSource& table,
                                         const ExtractionPlan& plan,
                                         PackWriter& pack,
                                         const Location& output,
                                         const ConvertProgress& progress);

}  // namespace rowfs
#endif  // ROWFS_INDEX_CONVERT_CONVERT_LANCE_H_
