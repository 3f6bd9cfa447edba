// Writes one Lance data file, version 2.2 or 2.3 (planar): pages of about 8 MiB
// a column, payloads of inline blobs between them, the footer that finds them.
//
// One thread. Sticky: after the first failure every call returns it. The same
// rows in the same calls give the same bytes.
#ifndef ROWFS_STORAGE_LANCE_FILE_WRITER_H_
#define ROWFS_STORAGE_LANCE_FILE_WRITER_H_

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "storage/lance/file.pb.h"
#include "storage/lance/file_reader.h"
#include "storage/lance/shred.h"
#include "storage/object/object_store.h"

namespace rowfs {

class LanceFileWriter {
 public:
  // Nothing is visible at `file` before Finish. kUnsupported names a field or
  // a version that cannot be written.
  static Result<std::unique_ptr<LanceFileWriter>> Create(
      const Location& file, const LanceSchema& schema,
      LanceFileVersion version);

  // The same number of rows of every top-level field, in the schema's order.
  // kBlob fields come as rows of descriptors (EncodeBlobRows). Requires: the
  // arrays have the shape of their fields.
  Status Append(std::span<const Array> columns);

  // Put a payload between the pages; returns its offset in the file.
  Result<uint64_t> WriteBlob(ByteSpan bytes);

  // Write what is buffered and the footer, check that the footer finds every
  // page, and make the file durable and visible. Last call.
  Status Finish();

  uint64_t row_count() const { return row_count_; }
  // Bytes written so far, and after Finish the file's size.
  uint64_t size() const { return position_; }
  // What the manifest says of the file: the ids of its columns, in order.
  std::vector<int32_t> field_ids() const;

 private:
  struct Column {
    LeafColumn leaf;
    size_t field = 0;  // the top-level field it is below
    LeafPage page;
    uint64_t rows_written = 0;
    lance::pb::ColumnMetadata metadata;
    bool blob_info = false;  // one of its rows carries it
  };

  LanceFileWriter(const LanceSchema& schema, LanceFileVersion version,
                  std::unique_ptr<ObjectWriter> writer);

  Status Write(ByteSpan bytes);
  Status Align();
  Status AppendColumn(const Array& array, Column* column);
  Status AppendRows(const Array& array, Column* column);
  Status FlushPage(Column* column);
  Status WriteFooter();
  Status Fail(Status status);

  const LanceSchema schema_;
  const LanceFileVersion version_;
  std::unique_ptr<ObjectWriter> writer_;
  std::vector<Column> columns_;
  uint64_t row_count_ = 0;
  uint64_t position_ = 0;
  Status status_;
};

// The rows of a kBlob array as the file writer takes them: binary values of the
// five descriptor fields and blob_info. kCell cells must have been stored
// before. kUnsupported for a cell that has no form in this dataset; `what`
// names the column.
Result<Array> EncodeBlobRows(const Array& blobs, std::string_view what);

}  // namespace rowfs
#endif  // ROWFS_STORAGE_LANCE_FILE_WRITER_H_
