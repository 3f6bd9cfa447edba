#include "storage/parquet/arrow_file.h"

#include <arrow/io/memory.h>
#include <arrow/ipc/message.h>
#include <arrow/ipc/reader.h>
#include <arrow/record_batch.h>

#include <algorithm>
#include <string>

#include "storage/parquet/arrow_glue.h"
#include "storage/parquet/arrow_rows.h"
#include "storage/parquet/from_arrow.h"

namespace rowfs {
namespace {

// Record batches up to this are read whole, and kept for their other rows.
constexpr uint64_t kWholeBatchBytesMax = 64 << 10;
// What a scan holds of a large one at a time.
constexpr uint64_t kScanBytes = 8 << 20;

// The body of one message as a file of its own.
class BodyFile final : public arrow::io::RandomAccessFile {
 public:
  BodyFile(std::shared_ptr<arrow::io::RandomAccessFile> file, ByteRange body)
      : file_(std::move(file)), body_(body) {
    set_mode(arrow::io::FileMode::READ);
  }
  arrow::Status Close() override { return {}; }
  bool closed() const override { return false; }
  arrow::Result<int64_t> Tell() const override { return position_; }
  arrow::Status Seek(int64_t position) override {
    position_ = position;
    return {};
  }
  arrow::Result<int64_t> GetSize() override {
    return static_cast<int64_t>(body_.size());
  }
  arrow::Result<int64_t> ReadAt(int64_t position, int64_t count,
                                void* out) override {
    ARROW_RETURN_NOT_OK(Check(position, count));
    return file_->ReadAt(Begin() + position, count, out);
  }
  arrow::Result<std::shared_ptr<arrow::Buffer>> ReadAt(int64_t position,
                                                       int64_t count) override {
    ARROW_RETURN_NOT_OK(Check(position, count));
    return file_->ReadAt(Begin() + position, count);
  }
  arrow::Result<int64_t> Read(int64_t count, void* out) override {
    ARROW_ASSIGN_OR_RAISE(const int64_t read, ReadAt(position_, count, out));
    position_ += read;
    return read;
  }
  arrow::Result<std::shared_ptr<arrow::Buffer>> Read(int64_t count) override {
    ARROW_ASSIGN_OR_RAISE(auto buffer, ReadAt(position_, count));
    position_ += buffer->size();
    return buffer;
  }

 private:
  int64_t Begin() const { return static_cast<int64_t>(body_.begin); }
  // A buffer that leaves the body would be bytes of another message.
  arrow::Status Check(int64_t position, int64_t count) const {
    const auto size = static_cast<int64_t>(body_.size());
    if (position >= 0 && count >= 0 && position <= size &&
        count <= size - position) {
      return {};
    }
    return arrow::Status::Invalid("a buffer leaves its record batch");
  }

  const std::shared_ptr<arrow::io::RandomAccessFile> file_;
  const ByteRange body_;
  int64_t position_ = 0;
};

arrow::ipc::IpcReadOptions OptionsFor(std::span<const size_t> fields) {
  auto options = arrow::ipc::IpcReadOptions::Defaults();
  options.use_threads = false;
  for (const size_t field : fields) {
    options.included_fields.push_back(static_cast<int>(field));
  }
  return options;
}

}  // namespace

Result<std::unique_ptr<RowFile>> ArrowFile::Open(
    std::shared_ptr<const ObjectReader> reader, ArrayCache* cache,
    uint32_t number) {
  const std::string what = reader->uri();
  return Guarded(what, [&]() -> Result<std::unique_ptr<RowFile>> {
    auto file = std::unique_ptr<ArrowFile>(
        new ArrowFile(std::move(reader), cache, number));
    const Status loaded = file->Load();
    if (!loaded.ok()) return loaded.With(what);
    return std::unique_ptr<RowFile>(std::move(file));
  });
}

Status ArrowFile::Load() {
  ROWFS_ASSIGN_OR_RETURN(index_, ReadIpcIndex(*reader_));
  ROWFS_ASSIGN_OR_RETURN(Bytes metadata, reader_->Read(index_.schema.metadata,
                                                       ReadKind::kMetadata));
  const auto buffer =
      MakeArrowBuffer(std::make_shared<const Bytes>(std::move(metadata)));
  ROWFS_ASSIGN_OR_ARROW_ERROR(
      const auto message,
      arrow::ipc::Message::Open(buffer,
                                std::make_shared<arrow::Buffer>(nullptr, 0)),
      "schema");
  arrow::ipc::DictionaryMemo memo;
  ROWFS_ASSIGN_OR_ARROW_ERROR(
      arrow_schema_, arrow::ipc::ReadSchema(*message, &memo), "schema");
  ROWFS_ASSIGN_OR_RETURN(schema_, SchemaFromArrow(*arrow_schema_));
  for (const IpcMessage& batch : index_.batches) {
    const auto total = CheckedAdd(row_count(), batch.row_count);
    if (!total || *total > INT64_MAX) {
      return {Code::kCorruption, "impossible number of rows"};
    }
    batch_rows_.push_back(*total);
  }
  return {};
}

size_t ArrowFile::BatchOf(uint64_t row) const {
  return static_cast<size_t>(
             std::upper_bound(batch_rows_.begin(), batch_rows_.end(), row) -
             batch_rows_.begin()) -
         1;
}

Result<std::vector<Array>> ArrowFile::Decode(
    size_t batch, std::span<const size_t> fields) const {
  const IpcMessage& message = index_.batches[batch];
  const auto options = OptionsFor(fields);
  std::shared_ptr<arrow::RecordBatch> decoded;
  if (index_.dictionaries.empty()) {
    ROWFS_ASSIGN_OR_RETURN(
        Bytes metadata, reader_->Read(message.metadata, ReadKind::kMetadata));
    const auto buffer =
        MakeArrowBuffer(std::make_shared<const Bytes>(std::move(metadata)));
    arrow::ipc::DictionaryMemo memo;
    BodyFile body(MakeArrowFile(reader_), message.body);
    ROWFS_ASSIGN_OR_ARROW_ERROR(
        decoded,
        arrow::ipc::ReadRecordBatch(*buffer, arrow_schema_, &memo, options,
                                    &body),
        "record batch");
  } else {
    // A stream of what the batch needs.
    std::vector<ByteRange> parts = {
        {index_.schema.begin, index_.schema.body.end}};
    for (const IpcMessage& dictionary : index_.dictionaries) {
      if (index_.is_stream && dictionary.begin > message.begin) break;
      parts.push_back({dictionary.begin, dictionary.body.end});
    }
    parts.push_back({message.begin, message.body.end});
    ROWFS_ASSIGN_OR_RETURN(const std::vector<Bytes> read,
                           reader_->ReadMany(parts, ReadKind::kMetadata));
    Bytes stream;
    for (const Bytes& part : read) AppendBytes(&stream, part);
    ROWFS_ASSIGN_OR_ARROW_ERROR(
        const auto reader,
        arrow::ipc::RecordBatchStreamReader::Open(
            std::make_shared<arrow::io::BufferReader>(MakeArrowBuffer(
                std::make_shared<const Bytes>(std::move(stream)))),
            options),
        "record batch");
    ROWFS_RETURN_IF_ARROW_ERROR(reader->ReadNext(&decoded), "record batch");
  }
  const bool fits =
      decoded &&
      static_cast<uint64_t>(decoded->num_rows()) == message.row_count &&
      decoded->num_columns() == static_cast<int>(fields.size());
  if (!fits) {
    return Status(Code::kCorruption, "a record batch that is not as listed");
  }
  // Lengths that lie end the process inside Arrow: look at them first.
  ROWFS_RETURN_IF_ARROW_ERROR(decoded->Validate(), "record batch");
  std::vector<Array> arrays;
  for (int i = 0; i < decoded->num_columns(); ++i) {
    Result<Array> array = ArrayFromArrow(*decoded->column(i));
    if (!array.ok()) {
      return array.status().With(
          "column " + schema_.fields[fields[static_cast<size_t>(i)]].name);
    }
    arrays.push_back(std::move(array).value());
  }
  return arrays;
}

Result<ArrowFile::Columns> ArrowFile::ReadBatch(size_t batch,
                                                std::span<const size_t> fields,
                                                bool keep) const {
  const auto key = [&](size_t field) {
    return ArrayCache::Key{number_, static_cast<uint32_t>(batch),
                           static_cast<uint32_t>(field), 0};
  };
  Columns columns;
  std::vector<size_t> missing;
  for (const size_t field : fields) {
    columns.push_back(cache_->Find(key(field)));
    if (!columns.back()) missing.push_back(field);
  }
  if (missing.empty()) return columns;
  const std::string what = reader_->uri();
  Result<std::vector<Array>> read =
      Guarded(what, [&] { return Decode(batch, missing); });
  if (!read.ok()) return read.status().With(what);
  size_t next = 0;
  for (size_t i = 0; i < columns.size(); ++i) {
    if (columns[i]) continue;
    columns[i] = std::make_shared<const Array>(std::move(read.value()[next++]));
    if (keep) cache_->Put(key(fields[i]), columns[i]);
  }
  return columns;
}

bool ArrowFile::IsLarge(size_t batch) const {
  const IpcMessage& message = index_.batches[batch];
  return message.body.size() > kWholeBatchBytesMax && !message.compressed &&
         index_.dictionaries.empty() && arrow_schema_->is_native_endian();
}

Result<std::vector<Array>> ArrowFile::ReadRows(
    size_t batch, std::span<const uint64_t> rows,
    std::span<const size_t> fields) const {
  const std::string what = reader_->uri();
  Result<std::vector<Array>> read = Guarded(what, [&] {
    return ReadRowsOfBatch(reader_, index_.batches[batch], arrow_schema_,
                           OptionsFor(fields), rows);
  });
  return read.ok() ? std::move(read) : read.status().With(what);
}

Result<std::vector<Array>> ArrowFile::Take(std::span<const uint64_t> rows,
                                           std::span<const size_t> fields) {
  std::vector<std::vector<Array>> parts(fields.size());
  for (size_t i = 0; i < rows.size();) {
    const size_t batch = BatchOf(rows[i]);
    std::vector<uint64_t> local;
    for (; i < rows.size() && rows[i] < batch_rows_[batch + 1]; ++i) {
      local.push_back(rows[i] - batch_rows_[batch]);
    }
    if (IsLarge(batch) && !fields.empty()) {
      ROWFS_ASSIGN_OR_RETURN(std::vector<Array> columns,
                             ReadRows(batch, local, fields));
      for (size_t c = 0; c < fields.size(); ++c) {
        parts[c].push_back(std::move(columns[c]));
      }
      continue;
    }
    ROWFS_ASSIGN_OR_RETURN(const Columns columns,
                           ReadBatch(batch, fields, true));
    for (size_t c = 0; c < fields.size(); ++c) {
      parts[c].push_back(TakeArray(*columns[c], local));
    }
  }
  std::vector<Array> taken;
  for (size_t c = 0; c < fields.size(); ++c) {
    if (parts[c].empty()) {
      taken.push_back(NullArray(schema_.fields[fields[c]].type, 0));
      continue;
    }
    ROWFS_ASSIGN_OR_RETURN(taken.emplace_back(), ConcatArrays(parts[c]));
  }
  return taken;
}

class ArrowFileScan final : public BatchReader {
 public:
  ArrowFileScan(const ArrowFile& file, std::span<const size_t> fields,
                ByteRange rows, uint64_t batch_rows)
      : file_(file),
        fields_(fields.begin(), fields.end()),
        rows_(rows),
        batch_rows_(batch_rows) {}

  Result<RecordBatch> Next() override {
    RecordBatch out;
    if (rows_.empty()) return out;
    const size_t batch = file_.BatchOf(rows_.begin);
    if (file_.IsLarge(batch) && !fields_.empty()) return NextRows(batch);
    if (columns_.empty() || batch != batch_) {
      columns_.clear();  // before the next are read, not after
      ROWFS_ASSIGN_OR_RETURN(columns_, file_.ReadBatch(batch, fields_, false));
      batch_ = batch;
    }
    const uint64_t begin = rows_.begin - file_.batch_rows_[batch];
    out.row_count = std::min({batch_rows_, rows_.size(),
                              file_.batch_rows_[batch + 1] - rows_.begin});
    for (const auto& column : columns_) {
      out.columns.push_back(SliceArray(*column, begin, out.row_count));
    }
    rows_.begin += out.row_count;
    return out;
  }

 private:
  // The next rows of a large batch, as many as are held at a time.
  Result<RecordBatch> NextRows(size_t batch) {
    const uint64_t first = file_.batch_rows_[batch];
    const IpcMessage& message = file_.index_.batches[batch];
    const uint64_t row_bytes =
        message.body.size() / std::max<uint64_t>(message.row_count, 1) + 1;
    RecordBatch out;
    out.row_count = std::min({batch_rows_, rows_.size(),
                              file_.batch_rows_[batch + 1] - rows_.begin,
                              std::max<uint64_t>(kScanBytes / row_bytes, 1)});
    std::vector<uint64_t> rows;
    for (uint64_t i = 0; i < out.row_count; ++i) {
      rows.push_back(rows_.begin - first + i);
    }
    ROWFS_ASSIGN_OR_RETURN(out.columns, file_.ReadRows(batch, rows, fields_));
    rows_.begin += out.row_count;
    return out;
  }

  const ArrowFile& file_;
  const std::vector<size_t> fields_;
  ByteRange rows_;
  const uint64_t batch_rows_;
  ArrowFile::Columns columns_;
  size_t batch_ = 0;
};

Result<std::unique_ptr<BatchReader>> ArrowFile::Scan(
    std::span<const size_t> fields, uint64_t begin, uint64_t end,
    uint64_t batch_rows) {
  return std::unique_ptr<BatchReader>(std::make_unique<ArrowFileScan>(
      *this, fields, ByteRange{begin, end}, batch_rows));
}

}  // namespace rowfs
