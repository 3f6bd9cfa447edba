#include "index/dataset/reference_table.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "storage/table/array_layout.h"

namespace rowfs {
namespace {

// Rows looked at, from the first on and spread over the table.
constexpr uint64_t kSampleRows = 8;

// How a blob says which time in it the struct means; see fs/tree.
constexpr std::string_view kTimeView = "rowfs:time_view";
constexpr std::string_view kFrameAtPts = "pts_ns frame.jpg .at";

bool IsText(const DataType& type) {
  const TypeId id =
      type.id == TypeId::kDictionary ? type.children[1].type->id : type.id;
  return id == TypeId::kString || id == TypeId::kLargeString;
}

bool HoldsText(const DataType& type) {
  return IsText(type) ||
         std::any_of(type.children.begin(), type.children.end(),
                     [](const Field& child) { return HoldsText(*child.type); });
}

bool IsMediaRef(const DataType& type) {
  return type.id == TypeId::kStruct && type.children.size() == 2 &&
         type.children[0].name == "uri" && IsText(*type.children[0].type) &&
         type.children[1].name == "pts_ns" &&
         type.children[1].type->id == TypeId::kInt64;
}

// Absent for a null.
std::optional<std::string> TextAt(const Array& array, uint64_t i) {
  if (array.IsNull(i)) return {};
  if (array.type->id != TypeId::kDictionary) {
    return std::string(AsText(array.BytesAt(i)));
  }
  const auto index = static_cast<uint64_t>(array.IntAt(i));
  if (!array.dictionary || index >= array.dictionary->length) return {};
  return TextAt(*array.dictionary, index);
}

bool AllReferences(const Array& array) {
  bool any = false;
  for (uint64_t i = 0; i < array.length; ++i) {
    const auto text = TextAt(array, i);
    if (!text) continue;
    if (!IsReference(*text)) return false;
    any = true;
  }
  return any;
}

// The type `field` shows with, going by the sample `array` of it.
TypePtr ShownType(const Array& array) {
  const DataType& type = *array.type;
  if (IsText(type)) {
    return AllReferences(array) ? MakeType(TypeId::kBlob) : array.type;
  }
  if (type.id == TypeId::kDictionary) return array.type;
  DataType shown = type;
  bool changed = false;
  for (size_t i = 0; i < array.children.size(); ++i) {
    const bool uri = i == 0 && IsMediaRef(type);
    shown.children[i].type =
        uri ? MakeType(TypeId::kBlob) : ShownType(array.children[i]);
    if (uri) shown.children[i].metadata.emplace_back(kTimeView, kFrameAtPts);
    changed |= shown.children[i].type != type.children[i].type;
  }
  return changed ? MakeType(std::move(shown)) : array.type;
}

Array Show(const Array& array, const TypePtr& shown) {
  if (SameType(*array.type, *shown)) return array;
  if (shown->id != TypeId::kBlob) {
    Array out = array;
    out.type = shown;
    for (size_t i = 0; i < out.children.size(); ++i) {
      out.children[i] = Show(array.children[i], shown->children[i].type);
    }
    return out;
  }
  ArrayBuilder builder(shown);
  for (uint64_t i = 0; i < array.length; ++i) {
    auto text = TextAt(array, i);
    if (!text || text->empty()) {
      builder.AppendNull();
      continue;
    }
    BlobCell cell;
    cell.kind = BlobKind::kExternal;
    cell.base_id = kReferenceBase;
    cell.object = *std::move(text);
    builder.AppendBlob(std::move(cell));
  }
  return builder.Finish();
}

class ReferenceTable final : public TableSource {
 public:
  ReferenceTable(std::unique_ptr<TableSource> table, Schema schema,
                 OpenReference open)
      : table_(std::move(table)),
        schema_(std::move(schema)),
        open_(std::move(open)) {}

  std::string_view format() const override { return table_->format(); }
  const Schema& schema() const override { return schema_; }
  uint64_t row_count() const override { return table_->row_count(); }
  std::string fingerprint() const override { return table_->fingerprint(); }
  Json Describe() const override { return table_->Describe(); }

  Result<RecordBatch> Take(std::span<const uint64_t> rows,
                           std::span<const size_t> columns,
                           BlobDetail detail) override {
    ROWFS_ASSIGN_OR_RETURN(RecordBatch batch,
                           table_->Take(rows, columns, detail));
    ShowBatch(columns, &batch);
    return batch;
  }

  Result<std::unique_ptr<BatchReader>> Scan(std::span<const size_t> columns,
                                            uint64_t begin, uint64_t end,
                                            uint64_t batch_rows,
                                            BlobDetail detail) override {
    class Reader final : public BatchReader {
     public:
      Reader(const ReferenceTable& table, std::span<const size_t> columns,
             std::unique_ptr<BatchReader> reader)
          : table_(table),
            columns_(columns.begin(), columns.end()),
            reader_(std::move(reader)) {}
      Result<RecordBatch> Next() override {
        ROWFS_ASSIGN_OR_RETURN(RecordBatch batch, reader_->Next());
        table_.ShowBatch(columns_, &batch);
        return batch;
      }

     private:
      const ReferenceTable& table_;
      const std::vector<size_t> columns_;
      const std::unique_ptr<BatchReader> reader_;
    };
    ROWFS_ASSIGN_OR_RETURN(
        auto reader, table_->Scan(columns, begin, end, batch_rows, detail));
    return std::unique_ptr<BatchReader>(
        std::make_unique<Reader>(*this, columns, std::move(reader)));
  }

  Result<uint64_t> RowId(uint64_t row) override { return table_->RowId(row); }

  Result<BlobSource> OpenBlob(const BlobCell& cell) override {
    return cell.base_id == kReferenceBase ? open_(cell.object)
                                          : table_->OpenBlob(cell);
  }

  Result<std::vector<TableVersion>> Versions() override {
    return table_->Versions();
  }

 private:
  void ShowBatch(std::span<const size_t> columns, RecordBatch* batch) const {
    for (size_t i = 0; i < batch->columns.size() && i < columns.size(); ++i) {
      const Field& field = schema_.fields[columns[i]];
      batch->columns[i] = Show(batch->columns[i], field.type);
      if (i < batch->schema.fields.size()) batch->schema.fields[i] = field;
    }
  }

  const std::unique_ptr<TableSource> table_;
  const Schema schema_;
  const OpenReference open_;
};

}  // namespace

bool IsReference(std::string_view text) {
  const bool scheme = text.starts_with("zip://") || text.starts_with("tar://");
  const size_t at = scheme ? text.find("::", 6) : text.npos;
  return at != text.npos && at > 6 && at + 2 < text.size();
}

Result<std::unique_ptr<TableSource>> WithReferences(
    std::unique_ptr<TableSource> table, OpenReference open) {
  Schema schema = table->schema();
  std::vector<size_t> columns;
  for (size_t i = 0; i < schema.fields.size(); ++i) {
    if (HoldsText(*schema.fields[i].type)) columns.push_back(i);
  }
  const uint64_t count = table->row_count();
  if (columns.empty() || count == 0) return table;
  std::vector<uint64_t> rows;
  for (uint64_t i = 0; i < std::min(count, kSampleRows); ++i) rows.push_back(i);
  // What cannot be read is told where it is asked for, not here.
  const Result<RecordBatch> sample =
      table->Take(rows, columns, BlobDetail::kDescriptor);
  if (!sample.ok()) return table;
  bool changed = false;
  for (size_t i = 0; i < columns.size(); ++i) {
    Field& field = schema.fields[columns[i]];
    const TypePtr shown = ShownType(sample.value().columns[i]);
    if (SameType(*shown, *field.type)) continue;
    field.type = shown;
    changed = true;
  }
  if (!changed) return table;
  return std::unique_ptr<TableSource>(std::make_unique<ReferenceTable>(
      std::move(table), std::move(schema), std::move(open)));
}

}  // namespace rowfs
