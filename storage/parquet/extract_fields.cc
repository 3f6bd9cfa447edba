#include "storage/parquet/extract_fields.h"

#include <arrow/array/array_binary.h>
#include <arrow/array/array_nested.h>
#include <arrow/array/builder_binary.h>
#include <arrow/ipc/writer.h>
#include <arrow/record_batch.h>
#include <arrow/table.h>
#include <arrow/util/bit_util.h>
#include <arrow/util/key_value_metadata.h>
#include <parquet/arrow/reader.h>
#include <parquet/arrow/writer.h>

#include <utility>

#include "storage/parquet/arrow_glue.h"

namespace rowfs {
namespace {

constexpr int64_t kBatchRows = 128;

using ArrayPtr = std::shared_ptr<arrow::Array>;
using FieldPtr = std::shared_ptr<arrow::Field>;

std::string QuoteName(const std::string& name) {
  const char quote = name.find('\'') == name.npos ? '\'' : '"';
  return quote + name + quote;
}

Result<std::unique_ptr<parquet::arrow::FileReader>> OpenFile(
    const std::shared_ptr<const ObjectReader>& file) {
  parquet::arrow::FileReaderBuilder builder;
  ROWFS_RETURN_IF_ARROW_ERROR(builder.Open(MakeArrowFile(file)), file->uri());
  parquet::ArrowReaderProperties properties;
  properties.set_arrow_extensions_enabled(true);
  properties.set_batch_size(kBatchRows);
  properties.set_pre_buffer(false);
  std::unique_ptr<parquet::arrow::FileReader> reader;
  ROWFS_RETURN_IF_ARROW_ERROR(builder.properties(properties)->Build(&reader),
                              file->uri());
  return reader;
}

Status Refuse(const FieldPath& path, const std::string& why) {
  return {Code::kInvalidArgument, QuoteFieldPath(path) + ": " + why};
}

Status CheckField(const arrow::Schema& schema, const FieldPath& path) {
  arrow::FieldVector fields = schema.fields();
  std::shared_ptr<arrow::DataType> type;
  for (const std::string& name : path) {
    if (type != nullptr) {
      if (type->id() != arrow::Type::STRUCT) {
        return Refuse(path, "intermediate field is not a struct");
      }
      fields = type->fields();
    }
    size_t count = 0;
    for (const FieldPtr& field : fields) {
      if (field->name() != name) continue;
      type = field->type();
      ++count;
    }
    if (count != 1)
      return Refuse(path, "field must exist and have a unique name");
  }
  const arrow::Type::type id = type->id();
  if (id != arrow::Type::BINARY && id != arrow::Type::LARGE_BINARY &&
      id != arrow::Type::FIXED_SIZE_BINARY) {
    return Refuse(path, "expected a binary field, got " + type->ToString());
  }
  return {};
}

ByteSpan ValueAt(const arrow::Array& array, int64_t row) {
  const auto span = [](std::string_view text) { return AsBytes(text); };
  switch (array.type_id()) {
    case arrow::Type::LARGE_BINARY:
      return span(
          static_cast<const arrow::LargeBinaryArray&>(array).GetView(row));
    case arrow::Type::FIXED_SIZE_BINARY:
      return span(
          static_cast<const arrow::FixedSizeBinaryArray&>(array).GetView(row));
    default:
      return span(static_cast<const arrow::BinaryArray&>(array).GetView(row));
  }
}

using ReplaceOne = std::function<Result<std::string>(ByteSpan)>;

// `array` with the field at `names` below it replaced. `valid` says which rows
// every struct above has; a required field of a missing one becomes "".
Result<ArrayPtr> Replace(const ArrayPtr& array,
                         std::span<const std::string> names,
                         std::vector<bool> valid, bool nullable,
                         const ReplaceOne& replace) {
  constexpr std::string_view kWhat = "extracted field";
  for (int64_t row = 0; row < array->length(); ++row) {
    const auto at = static_cast<size_t>(row);
    valid[at] = valid[at] && array->IsValid(row);
  }
  if (names.empty()) {
    arrow::StringBuilder builder;
    for (int64_t row = 0; row < array->length(); ++row) {
      if (valid[static_cast<size_t>(row)]) {
        ROWFS_ASSIGN_OR_RETURN(const std::string text,
                               replace(ValueAt(*array, row)));
        ROWFS_RETURN_IF_ARROW_ERROR(builder.Append(text), kWhat);
      } else {
        ROWFS_RETURN_IF_ARROW_ERROR(
            nullable ? builder.AppendNull() : builder.Append(""), kWhat);
      }
    }
    ROWFS_ASSIGN_OR_ARROW_ERROR(ArrayPtr strings, builder.Finish(), kWhat);
    return strings;
  }
  const auto& group = static_cast<const arrow::StructArray&>(*array);
  arrow::ArrayVector children;
  for (int i = 0; i < group.num_fields(); ++i) {
    children.push_back(group.field(i));
  }
  arrow::FieldVector fields = array->type()->fields();
  const int index = group.struct_type()->GetFieldIndex(names[0]);
  const auto at = static_cast<size_t>(index);
  ROWFS_ASSIGN_OR_RETURN(children[at],
                         Replace(children[at], names.subspan(1), valid,
                                 fields[at]->nullable(), replace));
  fields[at] = fields[at]->WithType(children[at]->type());
  std::shared_ptr<arrow::Buffer> bitmap;
  if (array->null_count() > 0) {
    ROWFS_ASSIGN_OR_ARROW_ERROR(
        bitmap, arrow::AllocateEmptyBitmap(array->length()), kWhat);
    for (int64_t row = 0; row < array->length(); ++row) {
      arrow::bit_util::SetBitTo(bitmap->mutable_data(), row,
                                array->IsValid(row));
    }
  }
  ROWFS_ASSIGN_OR_ARROW_ERROR(
      ArrayPtr made, arrow::StructArray::Make(children, fields, bitmap), kWhat);
  return made;
}

class FileExtraction {
 public:
  FileExtraction(std::span<const FieldPath> paths, const ReplaceValue& replace)
      : paths_(paths), replace_(replace) {}

  Result<Bytes> Run(const std::shared_ptr<const ObjectReader>& file,
                    ByteSink sink) {
    const std::string what = file->uri();
    ROWFS_ASSIGN_OR_RETURN(const auto reader, OpenFile(file));
    std::shared_ptr<arrow::Schema> schema;
    ROWFS_RETURN_IF_ARROW_ERROR(reader->GetSchema(&schema), what);
    ROWFS_ASSIGN_OR_ARROW_ERROR(const auto message,
                                arrow::ipc::SerializeSchema(*schema), what);
    ROWFS_ASSIGN_OR_ARROW_ERROR(const auto batches,
                                reader->GetRecordBatchReader(), what);
    bool any = false;
    while (true) {
      std::shared_ptr<arrow::RecordBatch> batch;
      ROWFS_RETURN_IF_ARROW_ERROR(batches->ReadNext(&batch), what);
      if (batch == nullptr && any) break;
      if (batch == nullptr) {
        // A table without rows has a schema all the same.
        ROWFS_ASSIGN_OR_ARROW_ERROR(
            batch, arrow::RecordBatch::MakeEmpty(schema), what);
      }
      ROWFS_RETURN_IF_ERROR(Convert(*batch, *schema, sink, what));
      if (std::exchange(any, true) && batch->num_rows() == 0) break;
    }
    ROWFS_RETURN_IF_ARROW_ERROR(writer_->Close(), what);
    const ByteSpan bytes =
        FromU8(message->data(), static_cast<size_t>(message->size()));
    return Bytes(bytes.begin(), bytes.end());
  }

 private:
  Status Convert(const arrow::RecordBatch& batch, const arrow::Schema& schema,
                 const ByteSink& sink, const std::string& what) {
    arrow::ArrayVector columns = batch.columns();
    arrow::FieldVector fields = schema.fields();
    for (size_t i = 0; i < paths_.size(); ++i) {
      uint64_t number = row_;
      const auto column =
          static_cast<size_t>(schema.GetFieldIndex(paths_[i][0]));
      ROWFS_ASSIGN_OR_RETURN(
          columns[column],
          Replace(
              columns[column], std::span(paths_[i]).subspan(1),
              std::vector<bool>(static_cast<size_t>(batch.num_rows()), true),
              true,
              [&](ByteSpan value) { return replace_(i, number++, value); }));
      fields[column] = fields[column]->WithType(columns[column]->type());
    }
    if (writer_ == nullptr) {
      ROWFS_RETURN_IF_ERROR(OpenWriter(std::move(fields), schema, sink, what));
    }
    const auto table = arrow::Table::Make(schema_, columns, batch.num_rows());
    ROWFS_RETURN_IF_ARROW_ERROR(
        writer_->WriteTable(*table, std::max<int64_t>(batch.num_rows(), 1)),
        what);
    row_ += static_cast<uint64_t>(batch.num_rows());
    return {};
  }

  Status OpenWriter(arrow::FieldVector fields, const arrow::Schema& schema,
                    const ByteSink& sink, const std::string& what) {
    const auto metadata = std::make_shared<arrow::KeyValueMetadata>();
    if (schema.metadata() != nullptr) {
      for (const auto& [key, value] : schema.metadata()->sorted_pairs()) {
        if (key != "huggingface" && key != "pandas") {
          metadata->Append(key, value);
        }
      }
    }
    schema_ = arrow::schema(std::move(fields), metadata);
    const auto properties = parquet::WriterProperties::Builder()
                                .compression(arrow::Compression::SNAPPY)
                                ->build();
    const auto arrow_properties =
        parquet::ArrowWriterProperties::Builder().store_schema()->build();
    ROWFS_ASSIGN_OR_ARROW_ERROR(
        writer_,
        parquet::arrow::FileWriter::Open(*schema_, arrow::default_memory_pool(),
                                         MakeArrowSink(sink), properties,
                                         arrow_properties),
        what);
    return {};
  }

  const std::span<const FieldPath> paths_;
  const ReplaceValue& replace_;
  std::shared_ptr<arrow::Schema> schema_;  // of the output
  std::unique_ptr<parquet::arrow::FileWriter> writer_;
  uint64_t row_ = 0;
};

}  // namespace

std::string QuoteFieldPath(const FieldPath& path) {
  std::string text = "(";
  for (size_t i = 0; i < path.size(); ++i) {
    text += (i > 0 ? ", " : "") + QuoteName(path[i]);
  }
  return text + (path.size() == 1 ? ",)" : ")");
}

Result<uint64_t> CheckBinaryFields(
    const std::shared_ptr<const ObjectReader>& file,
    std::span<const FieldPath> paths) {
  return Guarded(file->uri(), [&]() -> Result<uint64_t> {
    ROWFS_ASSIGN_OR_RETURN(const auto reader, OpenFile(file));
    std::shared_ptr<arrow::Schema> schema;
    ROWFS_RETURN_IF_ARROW_ERROR(reader->GetSchema(&schema), file->uri());
    for (const FieldPath& path : paths) {
      ROWFS_RETURN_IF_ERROR(CheckField(*schema, path));
    }
    return static_cast<uint64_t>(
        reader->parquet_reader()->metadata()->num_rows());
  });
}

Result<Bytes> ExtractBinaryFields(
    const std::shared_ptr<const ObjectReader>& file,
    std::span<const FieldPath> paths, const ReplaceValue& replace,
    ByteSink sink) {
  return Guarded(file->uri(), [&]() -> Result<Bytes> {
    return FileExtraction(paths, replace).Run(file, std::move(sink));
  });
}

}  // namespace rowfs
