// A table, whoever stores it: schema, rows by number, scan, and the bytes of
// blob cells. Formats implement it and never include each other; the list of
// formats is put together in fs/cli.
//
// Thread-safe after Open; a source is one immutable snapshot.
#ifndef ROWFS_STORAGE_TABLE_TABLE_SOURCE_H_
#define ROWFS_STORAGE_TABLE_TABLE_SOURCE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "storage/base/json.h"
#include "storage/object/open_store.h"
#include "storage/read/object_reader.h"
#include "storage/table/array.h"

namespace rowfs {

// Reads rows in order, a batch at a time. One thread.
class BatchReader {
 public:
  virtual ~BatchReader() = default;
  // The next rows; a batch of 0 rows at the end.
  virtual Result<RecordBatch> Next() = 0;
};

// Where a blob cell's bytes can be read.
struct BlobSource {
  std::shared_ptr<const ObjectReader> reader;  // null when `bytes` is set
  ByteRange range;                             // of the reader's object
  SharedBytes bytes;                           // the payload itself
};

struct TableVersion {
  uint64_t version = 0;
  int64_t timestamp_ns = 0;
  std::vector<std::string> tags;
};

class TableSource {
 public:
  virtual ~TableSource() = default;

  virtual std::string_view format() const = 0;  // "lance", "parquet", ...
  virtual const Schema& schema() const = 0;
  virtual uint64_t row_count() const = 0;
  // Identifies the bytes of this snapshot: equal only for equal content.
  virtual std::string fingerprint() const = 0;
  // Facts for `info` and `.rowfs/dataset.json`: version, fragments, file
  // version.
  virtual Json Describe() const = 0;

  // Rows at `rows` (any order, repeats allowed) of the top-level columns
  // `columns` (indices into schema().fields). kOutOfRange for a row that is not
  // there. Costs: as few reads as the format allows, stated by each format.
  virtual Result<RecordBatch> Take(std::span<const uint64_t> rows,
                                   std::span<const size_t> columns,
                                   BlobDetail detail) = 0;

  // Rows [begin, end) in order, in batches of at most `batch_rows`.
  virtual Result<std::unique_ptr<BatchReader>> Scan(
      std::span<const size_t> columns, uint64_t begin, uint64_t end,
      uint64_t batch_rows, BlobDetail detail) = 0;

  // The row's stable identity (Lance: row id or row address); the row number
  // where the format has none. One metadata read at most.
  virtual Result<uint64_t> RowId(uint64_t row) = 0;

  // Make the bytes of `cell` readable; checks that the object is there and long
  // enough. kPermissionDenied when policy refuses an external blob, kCorruption
  // when the object is shorter than the cell says. At most one metadata
  // request.
  virtual Result<BlobSource> OpenBlob(const BlobCell& cell) = 0;

  // Other versions, oldest first; empty where there is only one.
  virtual Result<std::vector<TableVersion>> Versions() = 0;
};

// What every format gets to open with.
struct OpenContext {
  StoreRegistry* stores = nullptr;  // outlives the source
  ReadContext read;
  // Prefixes (paths or URLs) external blobs may lie under, besides the dataset
  // itself and its registered base paths.
  std::vector<std::string> allow_external;
  std::string cache_directory;  // empty: keep nothing on disk
};

// One format that rowfs can open.
struct TableFormat {
  std::string name;  // as `--format` takes it
  // Whether `location` looks like this format; few and small requests. A name
  // ending, a marker object or magic bytes.
  std::function<Result<bool>(const Location&, const OpenContext&)> detect;
  // `version` as in SOURCE@v12, @tag, @branch, @latest; empty = latest.
  std::function<Result<std::unique_ptr<TableSource>>(
      const Location&, std::string_view version, const OpenContext&)>
      open;
};

}  // namespace rowfs
#endif  // ROWFS_STORAGE_TABLE_TABLE_SOURCE_H_
