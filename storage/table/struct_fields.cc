#include "storage/table/struct_fields.h"

#include <algorithm>
#include <string>

namespace rowfs {
namespace {

std::optional<size_t> FindChild(const DataType& type, std::string_view name) {
  if (type.id != TypeId::kStruct) return std::nullopt;
  for (size_t i = 0; i < type.children.size(); ++i) {
    if (type.children[i].name == name) return i;
  }
  return std::nullopt;
}

// `name` below `type`, where each part may itself have dots.
bool FindBelow(const DataType& type, std::string_view name, FieldPath* path) {
  for (size_t end = name.size(); end != name.npos && end > 0;
       end = name.rfind('.', end - 1)) {
    const auto child = FindChild(type, name.substr(0, end));
    if (child) {
      path->children.push_back(*child);
      if (end == name.size() ||
          FindBelow(*type.children[*child].type, name.substr(end + 1), path)) {
        return true;
      }
      path->children.pop_back();
    }
  }
  return false;
}

// `array` with nulls where `parent` has them too.
void AddNulls(const Array& parent, Array* array) {
  if (parent.validity == nullptr || array->type->id == TypeId::kNull) return;
  if (array->validity == nullptr) {
    array->validity = parent.validity;
  } else {
    Bytes both(*array->validity);
    for (size_t i = 0; i < std::min(both.size(), parent.validity->size());
         ++i) {
      both[i] &= (*parent.validity)[i];
    }
    array->validity = std::make_shared<const Bytes>(std::move(both));
  }
  array->null_count = 0;
  for (uint64_t i = 0; i < array->length; ++i) {
    array->null_count += array->IsNull(i) ? 1 : 0;
  }
}

// A table that reads whole columns and takes the fields out of them.
class SelectedTable final : public TableSource {
 public:
  SelectedTable(TableSource& table, std::span<const FieldPath> paths)
      : table_(table), paths_(paths.begin(), paths.end()) {
    for (const FieldPath& path : paths_) {
      schema_.fields.push_back(FieldAt(table.schema(), path));
    }
    schema_.metadata = table.schema().metadata;
  }

  std::string_view format() const override { return table_.format(); }
  const Schema& schema() const override { return schema_; }
  uint64_t row_count() const override { return table_.row_count(); }
  std::string fingerprint() const override { return table_.fingerprint(); }
  Json Describe() const override { return table_.Describe(); }

  Result<RecordBatch> Take(std::span<const uint64_t> rows,
                           std::span<const size_t> columns,
                           BlobDetail detail) override {
    ROWFS_ASSIGN_OR_RETURN(const std::vector<size_t> whole, Whole(columns));
    ROWFS_ASSIGN_OR_RETURN(const RecordBatch batch,
                           table_.Take(rows, whole, detail));
    return Choose(batch, whole, columns);
  }

  Result<std::unique_ptr<BatchReader>> Scan(std::span<const size_t> columns,
                                            uint64_t begin, uint64_t end,
                                            uint64_t batch_rows,
                                            BlobDetail detail) override;

  Result<uint64_t> RowId(uint64_t row) override { return table_.RowId(row); }
  Result<BlobSource> OpenBlob(const BlobCell& cell) override {
    return table_.OpenBlob(cell);
  }
  Result<std::vector<TableVersion>> Versions() override {
    return table_.Versions();
  }

  // The table's columns behind `columns`, each once.
  Result<std::vector<size_t>> Whole(std::span<const size_t> columns) const {
    std::vector<size_t> whole;
    for (const size_t column : columns) {
      if (column >= paths_.size()) {
        return Status(Code::kInvalidArgument,
                      "no column " + std::to_string(column));
      }
      const size_t wanted = paths_[column].column;
      if (std::ranges::find(whole, wanted) == whole.end()) {
        whole.push_back(wanted);
      }
    }
    return whole;
  }

  RecordBatch Choose(const RecordBatch& batch, std::span<const size_t> whole,
                     std::span<const size_t> columns) const {
    RecordBatch chosen;
    chosen.schema.metadata = schema_.metadata;
    chosen.row_count = batch.row_count;
    for (const size_t column : columns) {
      const FieldPath& path = paths_[column];
      const auto at = std::ranges::find(whole, path.column) - whole.begin();
      chosen.schema.fields.push_back(schema_.fields[column]);
      chosen.columns.push_back(
          ValuesAt(batch.columns[static_cast<size_t>(at)], path));
    }
    return chosen;
  }

 private:
  TableSource& table_;
  const std::vector<FieldPath> paths_;
  Schema schema_;
};

class SelectedReader final : public BatchReader {
 public:
  SelectedReader(const SelectedTable& table, std::vector<size_t> whole,
                 std::span<const size_t> columns,
                 std::unique_ptr<BatchReader> reader)
      : table_(table),
        whole_(std::move(whole)),
        columns_(columns.begin(), columns.end()),
        reader_(std::move(reader)) {}

  Result<RecordBatch> Next() override {
    ROWFS_ASSIGN_OR_RETURN(const RecordBatch batch, reader_->Next());
    return table_.Choose(batch, whole_, columns_);
  }

 private:
  const SelectedTable& table_;
  const std::vector<size_t> whole_;
  const std::vector<size_t> columns_;
  const std::unique_ptr<BatchReader> reader_;
};

Result<std::unique_ptr<BatchReader>> SelectedTable::Scan(
    std::span<const size_t> columns, uint64_t begin, uint64_t end,
    uint64_t batch_rows, BlobDetail detail) {
  ROWFS_ASSIGN_OR_RETURN(std::vector<size_t> whole, Whole(columns));
  ROWFS_ASSIGN_OR_RETURN(auto reader,
                         table_.Scan(whole, begin, end, batch_rows, detail));
  return std::unique_ptr<BatchReader>(std::make_unique<SelectedReader>(
      *this, std::move(whole), columns, std::move(reader)));
}

}  // namespace

Result<FieldPath> FindField(const Schema& schema, std::string_view name) {
  if (const auto column = schema.Find(name)) return FieldPath{*column, {}};
  const DataType* inside = nullptr;
  std::string_view head;
  for (size_t dot = name.find('.'); dot != name.npos;
       dot = name.find('.', dot + 1)) {
    const auto column = schema.Find(name.substr(0, dot));
    if (!column) continue;
    FieldPath path{*column, {}};
    inside = schema.fields[*column].type.get();
    head = name.substr(0, dot);
    if (FindBelow(*inside, name.substr(dot + 1), &path)) return path;
  }
  if (inside == nullptr) {
    return Status(Code::kNotFound,
                  "there is no column \"" + std::string(name) + "\"");
  }
  std::string names;
  if (inside->id == TypeId::kStruct) {
    for (const Field& child : inside->children) names += " " + child.name;
  }
  return Status(Code::kNotFound,
                "column \"" + std::string(head) + "\" has no field \"" +
                    std::string(name.substr(head.size() + 1)) + "\"; " +
                    (names.empty() ? "it is no struct" : "it has:" + names));
}

Field FieldAt(const Schema& schema, const FieldPath& path) {
  Field field = schema.fields[path.column];
  for (const size_t child : path.children) {
    const Field parent = field;
    field = parent.type->children[child];
    field.name = parent.name + "." + field.name;
    field.nullable |= parent.nullable;
  }
  return field;
}

Array ValuesAt(Array array, const FieldPath& path) {
  for (const size_t child : path.children) {
    Array below = array.children[child];
    AddNulls(array, &below);
    array = std::move(below);
  }
  return array;
}

std::unique_ptr<TableSource> SelectFields(TableSource& table,
                                          std::span<const FieldPath> paths) {
  if (auto* fields = dynamic_cast<FieldSource*>(&table)) {
    return fields->Select(paths);
  }
  return std::make_unique<SelectedTable>(table, paths);
}

}  // namespace rowfs
