// Moves chosen binary fields of Parquet files into a blob pack, and writes the
// tables again with references in their place.
//
// One thread.
#ifndef ROWFS_INDEX_CONVERT_CONVERT_PARQUET_H_
#define ROWFS_INDEX_CONVERT_CONVERT_PARQUET_H_

#include <string>
#include <vector>

#include "index/convert/unpack.h"
#include "storage/parquet/extract_fields.h"

namespace rowfs {

struct ParquetPlan {
  std::string source;              // absolute, links resolved
  std::vector<std::string> files;  // absolute; one, or those below the source
  std::vector<FieldPath> fields;
  uint64_t rows = 0;
};

// The files of `source` (a Parquet file, or a folder: every *.parquet at any
// depth) and their rows. kInvalidArgument without fields, for one given twice,
// for one that a file has not as binary; kNotFound when there are no files.
// Reads the footers.
Result<ParquetPlan> PlanParquet(const std::string& source,
                                std::vector<FieldPath> fields);

// Write `target`, which must be new and apart from the source: tables/ with the
// rewritten files, media/ with the pack, extraction.json. It appears whole or
// not at all. kAlreadyExists, kInvalidArgument.
Status ConvertParquet(const ParquetPlan& plan, const std::string& target,
                      int64_t pack_bytes_max, const ConvertProgress& progress);

// {"files": ..., "rows": ..., "fields": ...} as Python's json writes it with an
// indent of 2, without the closing brace.
std::string PlanJson(const ParquetPlan& plan);

}  // namespace rowfs
#endif  // ROWFS_INDEX_CONVERT_CONVERT_PARQUET_H_
