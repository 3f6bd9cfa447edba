// One Arrow IPC file, Feather file (version 2) or stream: rows by number and in
// order, with no more read than the wanted columns of the record batches that
// hold them.
//
// Thread-safe after Open; immutable but for its cache.
#ifndef ROWFS_STORAGE_PARQUET_ARROW_FILE_H_
#define ROWFS_STORAGE_PARQUET_ARROW_FILE_H_

#include <arrow/ipc/dictionary.h>
#include <arrow/type.h>

#include <memory>
#include <span>
#include <vector>

#include "storage/parquet/array_cache.h"
#include "storage/parquet/ipc_index.h"
#include "storage/parquet/row_file.h"

namespace rowfs {

class ArrowFile final : public RowFile {
 public:
  // Costs what ReadIpcIndex does. `cache` outlives the file, which calls itself
  // `number` there. kCorruption when it is no such file.
  static Result<std::unique_ptr<RowFile>> Open(
      std::shared_ptr<const ObjectReader> reader, ArrayCache* cache,
      uint32_t number);

  const Schema& schema() const override { return schema_; }
  uint64_t row_count() const override { return batch_rows_.back(); }

  // Of a large record batch reads what the rows lie in; of a small one, or one
  // with compressed buffers, the fields' buffers; with dictionaries these and
  // whole batches.
  Result<std::vector<Array>> Take(std::span<const uint64_t> rows,
                                  std::span<const size_t> fields) override;
  // Some 8 MiB of a large record batch in memory at a time, else all of it.
  Result<std::unique_ptr<BatchReader>> Scan(std::span<const size_t> fields,
                                            uint64_t begin, uint64_t end,
                                            uint64_t batch_rows) override;

 private:
  friend class ArrowFileScan;
  using Columns = std::vector<std::shared_ptr<const Array>>;

  ArrowFile(std::shared_ptr<const ObjectReader> reader, ArrayCache* cache,
            uint32_t number)
      : reader_(std::move(reader)), cache_(cache), number_(number) {}

  Status Load();
  size_t BatchOf(uint64_t row) const;
  // Whether a batch is large, and rows of it can be read by themselves.
  bool IsLarge(size_t batch) const;
  Result<std::vector<Array>> ReadRows(size_t batch,
                                      std::span<const uint64_t> rows,
                                      std::span<const size_t> fields) const;
  // Fields of a record batch, kept for later when `keep`.
  Result<Columns> ReadBatch(size_t batch, std::span<const size_t> fields,
                            bool keep) const;
  Result<std::vector<Array>> Decode(size_t batch,
                                    std::span<const size_t> fields) const;

  const std::shared_ptr<const ObjectReader> reader_;
  ArrayCache* const cache_;
  const uint32_t number_;
  IpcIndex index_;
  std::shared_ptr<arrow::Schema> arrow_schema_;
  Schema schema_;
  std::vector<uint64_t> batch_rows_ = {0};  // rows before batch i; last: all
};

}  // namespace rowfs
#endif  // ROWFS_STORAGE_PARQUET_ARROW_FILE_H_
