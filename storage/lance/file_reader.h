// One Lance data file (format 2.0 to 2.3): footer, column metadata, and the
// values of its columns. Knows pages and encodings, nothing of fragments or
// versions.
//
// Thread-safe after Open. What is learned of a page on first touch (chunk
// tables, repetition index, dictionary) is kept for the pages asked for, within
// the cache the context brings.
#ifndef ROWFS_STORAGE_LANCE_FILE_READER_H_
#define ROWFS_STORAGE_LANCE_FILE_READER_H_

#include <cstdint>
#include <map>
#include <memory>
#include <span>

#include "storage/lance/schema.h"
#include "storage/read/object_reader.h"
#include "storage/table/array.h"

namespace rowfs {

struct LanceFileVersion {
  uint16_t major = 2;
  uint16_t minor = 2;

  auto operator<=>(const LanceFileVersion&) const = default;
};

class LanceFileReader {
 public:
  // Read the footer and the column metadata: at most 2 requests, 1 when they
  // lie in the last 64 KiB. kUnsupported names legacy v1 files and unknown
  // versions; kCorruption names what is wrong and where. `path` is how blob
  // cells name this file: "data/x.lance".
  static Result<std::shared_ptr<const LanceFileReader>> Open(
      std::shared_ptr<const ObjectReader> reader, std::string path);
  virtual ~LanceFileReader() = default;

  virtual uint64_t row_count() const = 0;
  virtual LanceFileVersion version() const = 0;
  virtual size_t column_count() const = 0;
  // The footer's schema: physical, a hint (blob v2 differs from the
  // manifest's).
  virtual const LanceSchema& schema() const = 0;
  virtual const std::shared_ptr<const ObjectReader>& object() const = 0;

  // The values of `field` at `rows` (any order, repeats allowed). `columns`
  // maps field ids to column indices of this file
  // (DataFile.fields/column_indices). Blob columns: BlobCell::object is `path`
  // for inline blobs and the sidecar's path for packed and dedicated ones.
  // Costs for each page touched, tables at hand: 1 read a fixed-width value, at
  // most 2 otherwise. kCorruption for bytes that contradict themselves.
  virtual Result<Array> Take(const LanceField& field,
                             const std::map<int32_t, uint32_t>& columns,
                             std::span<const uint64_t> rows,
                             BlobDetail detail) const = 0;

  // The values of rows [begin, end): each page's buffers are read once, whole
  // or in part.
  virtual Result<Array> Read(const LanceField& field,
                             const std::map<int32_t, uint32_t>& columns,
                             uint64_t begin, uint64_t end,
                             BlobDetail detail) const = 0;
};

}  // namespace rowfs
#endif  // ROWFS_STORAGE_LANCE_FILE_READER_H_
