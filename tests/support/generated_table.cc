#include "tests/support/generated_table.h"

#include <algorithm>

namespace rowfs {
namespace {

class GeneratedReader final : public BatchReader {
 public:
  GeneratedReader(GeneratedTable& table, std::vector<size_t> columns,
                  uint64_t begin, uint64_t end, uint64_t batch_rows,
                  BlobDetail detail)
      : table_(table),
        columns_(std::move(columns)),
        next_(begin),
        end_(end),
        batch_rows_(batch_rows),
        detail_(detail) {}

  Result<RecordBatch> Next() override {
    std::vector<uint64_t> rows;
    while (next_ < end_ && rows.size() < batch_rows_) rows.push_back(next_++);
    if (rows.empty()) return RecordBatch{};
    return table_.Take(rows, columns_, detail_);
  }

 private:
  GeneratedTable& table_;
  const std::vector<size_t> columns_;
  uint64_t next_;
  const uint64_t end_;
  const uint64_t batch_rows_;
  const BlobDetail detail_;
};

}  // namespace

Field MakeField(std::string name, TypePtr type, Metadata metadata) {
  Field field;
  field.name = std::move(name);
  field.type = std::move(type);
  field.metadata = std::move(metadata);
  return field;
}

Json GeneratedTable::Describe() const {
  return Json::Object().Add("version", Json::Uint(7));
}

Result<RecordBatch> GeneratedTable::Take(std::span<const uint64_t> rows,
                                         std::span<const size_t> columns,
                                         BlobDetail detail) {
  ++takes_;
  if (on_read_ && !rows.empty()) on_read_(rows[0]);
  RecordBatch batch;
  batch.row_count = rows.size();
  for (const size_t column : columns) {
    const Field& field = schema_.fields[column];
    ArrayBuilder builder(field.type);
    for (const uint64_t row : rows) {
      if (row >= row_count_) {
        return Status(Code::kOutOfRange, "no row " + std::to_string(row));
      }
      fill_(row, column, builder);
    }
    Array array = builder.Finish();
    for (BlobCell& cell : array.blobs) {
      if (!cell.info) continue;
      if (detail == BlobDetail::kDescriptor) cell.info.reset();
      if (detail == BlobDetail::kHead) {
        cell.info->entries = nullptr;
        cell.info->head_only = true;
      }
    }
    batch.schema.fields.push_back(field);
    batch.columns.push_back(std::move(array));
  }
  return batch;
}

Result<std::unique_ptr<BatchReader>> GeneratedTable::Scan(
    std::span<const size_t> columns, uint64_t begin, uint64_t end,
    uint64_t batch_rows, BlobDetail detail) {
  return std::unique_ptr<BatchReader>(std::make_unique<GeneratedReader>(
      *this, std::vector<size_t>(columns.begin(), columns.end()), begin, end,
      batch_rows, detail));
}

Result<BlobSource> GeneratedTable::OpenBlob(const BlobCell& cell) {
  ++opens_;
  BlobSource source;
  if (cell.bytes) {
    source.bytes = cell.bytes;
    return source;
  }
  const Location location{store_, cell.object};
  ROWFS_ASSIGN_OR_RETURN(const ObjectMeta meta, store_->Stat(cell.object));
  source.reader = ObjectReader::Make(location, meta, ReadContext{});
  source.range = {cell.offset,
                  cell.offset + cell.size.value_or(meta.size - cell.offset)};
  if (source.range.end > meta.size) {
    return Status(Code::kCorruption, cell.object + ": shorter than its cell");
  }
  return source;
}

}  // namespace rowfs
