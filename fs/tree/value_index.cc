#include "fs/tree/value_index.h"

#include <algorithm>
#include <numeric>
#include <unordered_map>

#include "index/dataset/names.h"
#include "index/dataset/value_text.h"

namespace rowfs {
namespace {

constexpr uint64_t kBatchRows = 8192;

std::string ValueText(const Array& array, uint64_t index) {
  if (array.type->id == TypeId::kString ||
      array.type->id == TypeId::kLargeString) {
    return std::string(AsText(array.BytesAt(index)));
  }
  const Json json = ValueJson(array, index, {});
  return json.kind == Json::Kind::kString ? json.text : WriteJson(json);
}

}  // namespace

bool IsScalar(const Column& column) {
  return column.role == ColumnRole::kNumber || column.role == ColumnRole::kText;
}

Status VisitValues(
    const Dataset& dataset, size_t column,
    const std::function<void(uint64_t row, const std::string* value)>& visit) {
  const size_t field = dataset.columns()[column].field;
  ROWFS_ASSIGN_OR_RETURN(
      const auto reader,
      dataset.table().Scan(std::span(&field, 1), 0, dataset.row_count(),
                           kBatchRows, BlobDetail::kDescriptor));
  uint64_t row = 0;
  for (;;) {
    ROWFS_ASSIGN_OR_RETURN(const RecordBatch batch, reader->Next());
    if (batch.row_count == 0) break;
    const Array& values = batch.columns[0];
    for (uint64_t i = 0; i < batch.row_count; ++i, ++row) {
      if (values.IsNull(i)) {
        visit(row, nullptr);
      } else {
        const std::string text = ValueText(values, i);
        visit(row, &text);
      }
    }
  }
  if (row != dataset.row_count()) {
    return {Code::kCorruption, "column " + dataset.columns()[column].name +
                                   ": read " + std::to_string(row) +
                                   " rows of " +
                                   std::to_string(dataset.row_count())};
  }
  return {};
}

ScannedValueIndex::ScannedValueIndex(std::shared_ptr<const Dataset> dataset)
    : dataset_(std::move(dataset)) {
  for (size_t i = 0; i < dataset_->columns().size(); ++i) {
    columns_.push_back(std::make_unique<Lazy<Values>>());
  }
}

std::vector<uint64_t> ScannedValueIndex::Values::SortNames() {
  std::vector<uint64_t> order(names.size());
  std::iota(order.begin(), order.end(), uint64_t{0});
  std::sort(order.begin(), order.end(), [this](uint64_t a, uint64_t b) {
    return names.at(a) < names.at(b);
  });
  std::vector<uint64_t> place(order.size());
  NameTable sorted;
  for (const uint64_t name : order) {
    place[name] = sorted.Add(names.at(name)).first;
  }
  names = std::move(sorted);
  return place;
}

Result<std::shared_ptr<const ScannedValueIndex::Values>>
ScannedValueIndex::Read(size_t column) {
  using Made = Result<std::shared_ptr<const Values>>;
  return columns_[column]->Get(Wait::kYes, [&]() -> Made {
    auto values = std::make_shared<Values>();
    std::vector<uint64_t> value_of_row;
    value_of_row.reserve(dataset_->row_count());
    ROWFS_RETURN_IF_ERROR(
        VisitValues(*dataset_, column, [&](uint64_t, const std::string* value) {
          value_of_row.push_back(
              value == nullptr ? UINT64_MAX
                               : values->names.Add(EscapeName(*value)).first);
        }));
    // In the order of their names, as a catalog has them: numbers of values go
    // into inodes.
    const std::vector<uint64_t> place = values->SortNames();
    for (uint64_t& value : value_of_row) {
      if (value != UINT64_MAX) value = place[value];
    }
    std::vector<uint64_t> counts(values->names.size() + 1);
    for (const uint64_t value : value_of_row) {
      if (value != UINT64_MAX) ++counts[value];
    }
    uint64_t total = 0;
    for (uint64_t& count : counts) {
      const uint64_t begin = total;
      total += count;
      count = begin;
    }
    values->begins = counts;
    values->rows.resize(total);
    for (uint64_t row = 0; row < value_of_row.size(); ++row) {
      const uint64_t value = value_of_row[row];
      if (value != UINT64_MAX) values->rows[counts[value]++] = row;
    }
    return std::shared_ptr<const Values>(std::move(values));
  });
}

Result<uint64_t> ScannedValueIndex::ValueCount(size_t column) {
  ROWFS_ASSIGN_OR_RETURN(const auto values, Read(column));
  return values->names.size();
}

Result<ValueIndex::Value> ScannedValueIndex::GetValue(size_t column,
                                                      uint64_t number) {
  ROWFS_ASSIGN_OR_RETURN(const auto values, Read(column));
  if (number >= values->names.size()) {
    return Status(Code::kNotFound, "no such value");
  }
  return Value{std::string(values->names.at(number)),
               values->begins[number + 1] - values->begins[number]};
}

Result<std::optional<uint64_t>> ScannedValueIndex::FindValue(
    size_t column, std::string_view name) {
  ROWFS_ASSIGN_OR_RETURN(const auto values, Read(column));
  return values->names.Find(name);
}

Result<std::vector<uint64_t>> ScannedValueIndex::ListRows(size_t column,
                                                          uint64_t number,
                                                          uint64_t start,
                                                          uint64_t limit) {
  ROWFS_ASSIGN_OR_RETURN(const auto values, Read(column));
  if (number >= values->names.size()) {
    return Status(Code::kNotFound, "no such value");
  }
  const uint64_t size = values->begins[number + 1] - values->begins[number];
  start = std::min(start, size);
  const auto begin = values->rows.begin() +
                     static_cast<ptrdiff_t>(values->begins[number] + start);
  return std::vector<uint64_t>(
      begin, begin + static_cast<ptrdiff_t>(std::min(limit, size - start)));
}

Result<std::shared_ptr<const RowNames>> RowNames::Read(
    const Dataset& dataset, size_t column, const RowsLayout& layout) {
  auto names = std::make_shared<RowNames>();
  // Where to go on counting, so that a million equal values are no million
  // tries each.
  std::unordered_map<std::string, uint64_t> next;
  ROWFS_RETURN_IF_ERROR(
      VisitValues(dataset, column, [&](uint64_t row, const std::string* value) {
        const std::string name =
            value == nullptr ? layout.NumberName(row) : EscapeName(*value);
        if (names->names_.Add(name).second) return;
        uint64_t& n = next.try_emplace(name, 2).first->second;
        for (std::string unique = name; !names->names_.Add(unique).second;) {
          const std::string suffix = "~" + std::to_string(n++);
          unique = std::string(CutName(name, kNameBytesMax - suffix.size())) +
                   suffix;
        }
      }));
  return std::shared_ptr<const RowNames>(std::move(names));
}

}  // namespace rowfs
