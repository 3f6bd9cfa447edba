// Rewrites a Parquet file with chosen binary fields replaced by strings that
// the caller makes of their values: references instead of payloads. Everything
// else stays: siblings, nulls, order, field metadata.
//
// Pure functions over files; thread-safe.
#ifndef ROWFS_STORAGE_PARQUET_EXTRACT_FIELDS_H_
#define ROWFS_STORAGE_PARQUET_EXTRACT_FIELDS_H_

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "storage/parquet/table_writer.h"
#include "storage/read/object_reader.h"

namespace rowfs {

// The names of a field and of the structs around it, outermost first.
using FieldPath = std::vector<std::string>;

// As Python shows a tuple: "('a', 'b')".
std::string QuoteFieldPath(const FieldPath& path);

// Rows of the file, once every path names one binary, large binary or
// fixed-size binary field inside structs alone: kInvalidArgument otherwise.
// Reads the footer.
Result<uint64_t> CheckBinaryFields(
    const std::shared_ptr<const ObjectReader>& file,
    std::span<const FieldPath> paths);

// Makes the string that replaces a value of `paths[path]`. `number` is the row
// that the value's batch of 128 rows begins with plus the count of values
// before it in that batch.
using ReplaceValue = std::function<Result<std::string>(
    size_t path, uint64_t number, ByteSpan value)>;

// Write `file` to `sink`, a row group for each batch of 128 rows. Batch by
// batch, path by path, row by row, each value that is not null (nor inside a
// null struct) is handed to `replace`. Schema metadata of pandas and of Hugging
// Face, which describe the old types, are dropped. Returns the old schema as an
// Arrow IPC message. Requires: CheckBinaryFields is OK. Memory: two batches.
Result<Bytes> ExtractBinaryFields(
    const std::shared_ptr<const ObjectReader>& file,
    std::span<const FieldPath> paths, const ReplaceValue& replace,
    ByteSink sink);

}  // namespace rowfs
#endif  // ROWFS_STORAGE_PARQUET_EXTRACT_FIELDS_H_
