#include "storage/parquet/table_writer.h"

#include <arrow/ipc/writer.h>
#include <arrow/record_batch.h>
#include <parquet/arrow/writer.h>

#include <utility>
#include <vector>

#include "storage/parquet/arrow_glue.h"
#include "storage/parquet/to_arrow.h"
#include "storage/table/array_bytes.h"

namespace rowfs {
namespace {

constexpr uint64_t kGroupBytes = 64 << 20;
constexpr uint64_t kGroupRows = 1 << 20;
constexpr std::string_view kWhat = "output";

std::shared_ptr<arrow::RecordBatch> Convert(
    const RecordBatch& batch, const std::shared_ptr<arrow::Schema>& schema) {
  std::vector<std::shared_ptr<arrow::ArrayData>> columns;
  for (size_t i = 0; i < batch.columns.size(); ++i) {
    columns.push_back(ArrowDataOf(batch.columns[i],
                                  schema->field(static_cast<int>(i))->type()));
  }
  return arrow::RecordBatch::Make(schema, static_cast<int64_t>(batch.row_count),
                                  std::move(columns));
}

class ParquetWriter final : public TableWriter {
 public:
  ParquetWriter(std::shared_ptr<arrow::Schema> schema,
                std::unique_ptr<parquet::arrow::FileWriter> writer)
      : schema_(std::move(schema)), writer_(std::move(writer)) {}

  Status Write(const RecordBatch& batch) override {
    return Guarded(kWhat, [&]() -> Status {
      if (bytes_ >= kGroupBytes || rows_ >= kGroupRows) {
        bytes_ = 0;
        rows_ = 0;
        ROWFS_RETURN_IF_ARROW_ERROR(writer_->NewBufferedRowGroup(), kWhat);
      }
      rows_ += batch.row_count;
      for (const Array& column : batch.columns) bytes_ += ArrayBytes(column);
      return FromArrow(writer_->WriteRecordBatch(*Convert(batch, schema_)),
                       kWhat);
    });
  }
  Status Finish() override {
    return Guarded(
        kWhat, [&]() -> Status { return FromArrow(writer_->Close(), kWhat); });
  }

 private:
  const std::shared_ptr<arrow::Schema> schema_;
  const std::unique_ptr<parquet::arrow::FileWriter> writer_;
  uint64_t bytes_ = 0;
  uint64_t rows_ = 0;
};

class ArrowWriter final : public TableWriter {
 public:
  ArrowWriter(std::shared_ptr<arrow::Schema> schema,
              std::shared_ptr<arrow::ipc::RecordBatchWriter> writer)
      : schema_(std::move(schema)), writer_(std::move(writer)) {}

  Status Write(const RecordBatch& batch) override {
    RecordBatch unified = batch;
    ROWFS_RETURN_IF_ERROR(UnifyDictionaries(&unified));
    return Guarded(kWhat, [&]() -> Status {
      return FromArrow(writer_->WriteRecordBatch(*Convert(unified, schema_)),
                       kWhat);
    });
  }
  Status Finish() override {
    return Guarded(
        kWhat, [&]() -> Status { return FromArrow(writer_->Close(), kWhat); });
  }

 private:
  // A file has one dictionary a column, which may only grow: put new values
  // behind those of the batches before.
  Status UnifyDictionaries(RecordBatch* batch) {
    before_.resize(batch->columns.size());
    for (size_t i = 0; i < batch->columns.size(); ++i) {
      Array& column = batch->columns[i];
      if (column.type->id != TypeId::kDictionary || column.length == 0) {
        continue;
      }
      if (before_[i].length > 0) {
        const Array parts[] = {before_[i], column};
        ROWFS_ASSIGN_OR_RETURN(const Array merged, ConcatArrays(parts));
        column = SliceArray(merged, 1, merged.length - 1);
      }
      before_[i] = SliceArray(column, 0, 1);
    }
    return {};
  }

  const std::shared_ptr<arrow::Schema> schema_;
  const std::shared_ptr<arrow::ipc::RecordBatchWriter> writer_;
  std::vector<Array> before_;  // a value of each dictionary column
};

// Bytes of media are compressed already, and alone on their pages they can be
// read one by one.
void SetColumnProperties(const Schema& schema,
                         parquet::WriterProperties::Builder* properties) {
  properties->compression(arrow::Compression::ZSTD);
  properties->enable_write_page_index();
  for (const Field& field : schema.fields) {
    if (field.type->id != TypeId::kBinary &&
        field.type->id != TypeId::kLargeBinary) {
      continue;
    }
    // A page is closed between batches of values: keep these small.
    properties->write_batch_size(16);
    properties->disable_dictionary(field.name);
    properties->compression(field.name, arrow::Compression::UNCOMPRESSED);
  }
}

}  // namespace

Result<std::unique_ptr<TableWriter>> MakeParquetWriter(const Schema& schema,
                                                       ByteSink sink) {
  return Guarded(kWhat, [&]() -> Result<std::unique_ptr<TableWriter>> {
    ROWFS_ASSIGN_OR_RETURN(auto converted, ArrowSchemaOf(schema));
    parquet::WriterProperties::Builder properties;
    SetColumnProperties(schema, &properties);
    parquet::ArrowWriterProperties::Builder arrow_properties;
    arrow_properties.store_schema();
    ROWFS_ASSIGN_OR_ARROW_ERROR(
        auto writer,
        parquet::arrow::FileWriter::Open(
            *converted, arrow::default_memory_pool(),
            MakeArrowSink(std::move(sink)), properties.build(),
            arrow_properties.build()),
        kWhat);
    return std::unique_ptr<TableWriter>(std::make_unique<ParquetWriter>(
        std::move(converted), std::move(writer)));
  });
}

Result<std::unique_ptr<TableWriter>> MakeArrowWriter(const Schema& schema,
                                                     ByteSink sink) {
  return Guarded(kWhat, [&]() -> Result<std::unique_ptr<TableWriter>> {
    ROWFS_ASSIGN_OR_RETURN(auto converted, ArrowSchemaOf(schema));
    auto options = arrow::ipc::IpcWriteOptions::Defaults();
    options.use_threads = false;
    options.emit_dictionary_deltas = true;
    ROWFS_ASSIGN_OR_ARROW_ERROR(
        auto writer,
        arrow::ipc::MakeFileWriter(MakeArrowSink(std::move(sink)), converted,
                                   options),
        kWhat);
    return std::unique_ptr<TableWriter>(
        std::make_unique<ArrowWriter>(std::move(converted), std::move(writer)));
  });
}

}  // namespace rowfs
