#include "storage/parquet/parquet_file.h"

#include <arrow/record_batch.h>
#include <arrow/util/key_value_metadata.h>
#include <parquet/arrow/reader.h>
#include <parquet/arrow/schema.h>
#include <parquet/file_reader.h>

#include <algorithm>

#include "storage/parquet/arrow_glue.h"
#include "storage/parquet/from_arrow.h"

namespace rowfs {
namespace {

// Decoded values in memory at a time, while scanning.
constexpr uint64_t kBatchBytes = 16 << 20;
// Of each column chunk, while scanning.
constexpr int64_t kStreamBytes = 1 << 20;

void AddLeaves(const parquet::arrow::SchemaField& field,
               std::vector<int>* leaves) {
  if (field.is_leaf()) leaves->push_back(field.column_index);
  for (const auto& child : field.children) AddLeaves(child, leaves);
}

// Rows [begin, end) of what an Arrow reader brings.
class StreamReader final : public BatchReader {
 public:
  StreamReader(std::unique_ptr<parquet::arrow::FileReader> file,
               std::unique_ptr<arrow::RecordBatchReader> reader,
               std::string what)
      : file_(std::move(file)),
        reader_(std::move(reader)),
        what_(std::move(what)) {}

  Result<RecordBatch> Next() override {
    return Guarded(what_, [&]() -> Result<RecordBatch> {
      std::shared_ptr<arrow::RecordBatch> batch;
      do {
        ROWFS_RETURN_IF_ARROW_ERROR(reader_->ReadNext(&batch), what_);
      } while (batch && batch->num_rows() == 0);
      RecordBatch out;
      if (!batch) return out;
      out.row_count = static_cast<uint64_t>(batch->num_rows());
      for (const auto& column : batch->columns()) {
        ROWFS_ASSIGN_OR_RETURN(out.columns.emplace_back(),
                               ArrayFromArrow(*column));
      }
      return out;
    });
  }

 private:
  const std::unique_ptr<parquet::arrow::FileReader> file_;
  const std::unique_ptr<arrow::RecordBatchReader> reader_;
  const std::string what_;
};

// The part [skip, skip + rows) of what another reader brings.
class PartReader final : public BatchReader {
 public:
  PartReader(std::unique_ptr<BatchReader> reader, uint64_t skip, uint64_t rows)
      : reader_(std::move(reader)), skip_(skip), rows_(rows) {}

  Result<RecordBatch> Next() override {
    while (rows_ > 0) {
      ROWFS_ASSIGN_OR_RETURN(RecordBatch batch, reader_->Next());
      if (batch.row_count == 0) {
        return Status(Code::kCorruption, "fewer rows than the footer says");
      }
      const uint64_t begin = std::min(skip_, batch.row_count);
      const uint64_t count = std::min(rows_, batch.row_count - begin);
      skip_ -= begin;
      rows_ -= count;
      if (count == 0) continue;
      if (count < batch.row_count) {
        batch.row_count = count;
        for (Array& column : batch.columns) {
          column = SliceArray(column, begin, count);
        }
      }
      return batch;
    }
    return RecordBatch();
  }

 private:
  const std::unique_ptr<BatchReader> reader_;
  uint64_t skip_;
  uint64_t rows_;
};

}  // namespace

Result<std::unique_ptr<RowFile>> ParquetFile::Open(
    std::shared_ptr<const ObjectReader> reader, ArrayCache* cache,
    uint32_t number) {
  const std::string what = reader->uri();
  return Guarded(what, [&]() -> Result<std::unique_ptr<RowFile>> {
    auto file = std::unique_ptr<ParquetFile>(
        new ParquetFile(std::move(reader), cache, number));
    ROWFS_RETURN_IF_ERROR(file->Load());
    return std::unique_ptr<RowFile>(std::move(file));
  });
}

parquet::ArrowReaderProperties ParquetFile::ArrowProperties() const {
  parquet::ArrowReaderProperties properties(/*use_threads=*/false);
  properties.set_pre_buffer(false);
  properties.set_arrow_extensions_enabled(true);
  // Spark stores microseconds of years that nanoseconds do not reach.
  const auto& pairs = metadata_->key_value_metadata();
  if (pairs && pairs->Contains("org.apache.spark.version")) {
    properties.set_coerce_int96_timestamp_unit(arrow::TimeUnit::MICRO);
  }
  return properties;
}

Status ParquetFile::Load() {
  const std::string what = reader_->uri();
  if (reader_->size() < 12) {
    return {Code::kCorruption, what + ": too short for a Parquet file"};
  }
  std::byte end[8];
  ROWFS_RETURN_IF_ERROR(
      reader_->ReadAt(reader_->size() - 8, end, ReadKind::kMetadata));
  const std::string_view text = AsText(end).substr(4);
  if (text == "PARE") {
    return {Code::kUnsupported,
            what + ": an encrypted Parquet file; rowfs has no keys"};
  }
  if (text != "PAR1") {
    return {Code::kCorruption,
            what + ": not a Parquet file, or cut off: no PAR1 at its end"};
  }
  parquet::ReaderProperties reading;
  reading.set_footer_read_size(
      std::min<uint64_t>(reader_->size(), LoadU32(end) + uint64_t{8}));
  metadata_ = parquet::ParquetFileReader::Open(MakeArrowFile(reader_), reading)
                  ->metadata();
  ROWFS_RETURN_IF_ARROW_ERROR(
      parquet::arrow::SchemaManifest::Make(metadata_->schema(),
                                           metadata_->key_value_metadata(),
                                           ArrowProperties(), &manifest_),
      what);
  for (const auto& field : manifest_.schema_fields) {
    Result<Field> converted = FieldFromArrow(*field.field);
    if (!converted.ok()) return converted.status().With(what);
    schema_.fields.push_back(std::move(converted).value());
    AddLeaves(field, &field_leaves_.emplace_back());
  }
  if (manifest_.schema_metadata) {
    schema_.metadata = manifest_.schema_metadata->sorted_pairs();
  }
  for (int i = 0; i < metadata_->num_row_groups(); ++i) {
    const int64_t rows = metadata_->RowGroup(i)->num_rows();
    const auto total =
        rows < 0 ? std::nullopt
                 : CheckedAdd(row_count(), static_cast<uint64_t>(rows));
    if (!total || *total > INT64_MAX) {
      return {Code::kCorruption, what + ": impossible number of rows"};
    }
    group_rows_.push_back(*total);
  }
  return {};
}

std::vector<int> ParquetFile::LeavesOf(std::span<const size_t> fields) const {
  std::vector<int> leaves;
  for (const size_t field : fields) {
    leaves.insert(leaves.end(), field_leaves_[field].begin(),
                  field_leaves_[field].end());
  }
  return leaves;
}

// How many rows of a group, decoded, fit into `bytes`, going by what the footer
// says of the leaves' sizes.
uint64_t ParquetFile::RowsWithin(uint64_t bytes, int group,
                                 std::span<const int> leaves) const {
  const auto about = metadata_->RowGroup(group);
  uint64_t total = 1;
  for (const int leaf : leaves) {
    const int64_t size = about->ColumnChunk(leaf)->total_uncompressed_size();
    total += static_cast<uint64_t>(std::max<int64_t>(size, 0));
  }
  const auto rows = static_cast<uint64_t>(about->num_rows());
  return std::max<uint64_t>(bytes / (total / std::max<uint64_t>(rows, 1) + 1),
                            1);
}

Result<std::unique_ptr<BatchReader>> ParquetFile::ScanGroups(
    const std::vector<int>& groups, const std::vector<int>& leaves,
    uint64_t batch_rows) const {
  const std::string what = reader_->uri();
  parquet::ReaderProperties reading;
  reading.enable_buffered_stream();
  reading.set_buffer_size(kStreamBytes);
  reading.set_page_checksum_verification(true);
  parquet::ArrowReaderProperties properties = ArrowProperties();
  properties.set_batch_size(static_cast<int64_t>(batch_rows));
  ROWFS_ASSIGN_OR_ARROW_ERROR(
      auto file,
      parquet::arrow::FileReader::Make(
          arrow::default_memory_pool(),
          parquet::ParquetFileReader::Open(MakeArrowFile(reader_), reading,
                                           metadata_),
          properties),
      what);
  ROWFS_ASSIGN_OR_ARROW_ERROR(auto reader,
                              file->GetRecordBatchReader(groups, leaves), what);
  return std::unique_ptr<BatchReader>(
      std::make_unique<StreamReader>(std::move(file), std::move(reader), what));
}

Result<std::unique_ptr<BatchReader>> ParquetFile::Scan(
    std::span<const size_t> fields, uint64_t begin, uint64_t end,
    uint64_t batch_rows) {
  return Guarded(reader_->uri(), [&]() -> Result<std::unique_ptr<BatchReader>> {
    std::vector<int> groups;
    const std::vector<int> leaves = LeavesOf(fields);
    uint64_t skip = 0;
    for (int i = 0; i < metadata_->num_row_groups(); ++i) {
      const auto at = static_cast<size_t>(i);
      if (group_rows_[at + 1] <= begin || group_rows_[at] >= end) continue;
      if (group_rows_[at + 1] == group_rows_[at]) continue;
      if (groups.empty()) skip = begin - std::min(begin, group_rows_[at]);
      groups.push_back(i);
      batch_rows = std::min(batch_rows, RowsWithin(kBatchBytes, i, leaves));
    }
    ROWFS_ASSIGN_OR_RETURN(auto reader, ScanGroups(groups, leaves, batch_rows));
    return std::unique_ptr<BatchReader>(
        std::make_unique<PartReader>(std::move(reader), skip, end - begin));
  });
}

}  // namespace rowfs
