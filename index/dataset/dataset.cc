#include "index/dataset/dataset.h"

#include <algorithm>

#include "index/dataset/value_text.h"
#include "storage/table/array_bytes.h"

namespace rowfs {
namespace {

constexpr std::string_view kIndexSuffix = "__blob_info";

bool IsBinary(const DataType& type) {
  return type.id == TypeId::kBinary || type.id == TypeId::kLargeBinary;
}

bool HoldsBlob(const DataType& type) {
  return type.id == TypeId::kBlob ||
         std::any_of(type.children.begin(), type.children.end(),
                     [](const Field& child) { return HoldsBlob(*child.type); });
}

ColumnRole RoleOf(const Field& field) {
  const DataType& type = *field.type;
  // A logical type of its own is a value, not a file, even if stored as bytes.
  const auto extension = field.FindMetadata("ARROW:extension:name");
  switch (type.id) {
    case TypeId::kBool:
    case TypeId::kInt8:
    case TypeId::kUint8:
    case TypeId::kInt16:
    case TypeId::kUint16:
    case TypeId::kInt32:
    case TypeId::kUint32:
    case TypeId::kInt64:
    case TypeId::kUint64:
    case TypeId::kHalfFloat:
    case TypeId::kFloat:
    case TypeId::kDouble:
    case TypeId::kDecimal128:
    case TypeId::kDecimal256:
      return ColumnRole::kNumber;
    case TypeId::kString:
    case TypeId::kLargeString:
      return ColumnRole::kText;
    case TypeId::kDate32:
    case TypeId::kDate64:
    case TypeId::kTime32:
    case TypeId::kTime64:
    case TypeId::kTimestamp:
    case TypeId::kDuration:
      return ColumnRole::kNumber;
    case TypeId::kBlob:
      return ColumnRole::kBlob;
    case TypeId::kBinary:
    case TypeId::kLargeBinary:
      return extension ? ColumnRole::kNested : ColumnRole::kBlob;
    case TypeId::kDictionary:
      return RoleOf(type.children[1]);
    case TypeId::kFixedSizeList:
    case TypeId::kStruct:
    case TypeId::kList:
    case TypeId::kLargeList:
    case TypeId::kMap:
    case TypeId::kNull:
    case TypeId::kFixedSizeBinary:
      return HoldsBlob(type) ? ColumnRole::kTree : ColumnRole::kNested;
  }
  return ColumnRole::kNested;
}

// Value `index` of a dictionary array as an array of the values' type.
Array DecodeValue(const Array& array, uint64_t index) {
  const TypePtr& type = array.type->children[1].type;
  const auto place = static_cast<uint64_t>(array.IntAt(index));
  if (array.IsNull(index) || !array.dictionary ||
      place >= array.dictionary->length) {
    return NullArray(type, 1);
  }
  return TakeArray(*array.dictionary, std::span(&place, 1));
}

// The bytes of a binary cell as a blob cell.
BlobCell CellOf(const Array& array, uint64_t index) {
  if (array.type->id == TypeId::kBlob) return array.blobs[index];
  BlobCell cell;
  const ByteSpan bytes = array.BytesAt(index);
  cell.bytes = std::make_shared<const Bytes>(bytes.begin(), bytes.end());
  cell.size = bytes.size();
  return cell;
}

// Rows in memory take this at most; the last one stays whatever its size.
constexpr uint64_t kRowBytesCachedMax = 64 << 20;

uint64_t RowBytes(const Row& row) {
  uint64_t bytes = 0;
  for (const Array& value : row.values) bytes += ArrayBytes(value);
  return bytes;
}

// "SOURCE@dev/x": a branch with '/' in its name, unless the whole is a path. An
// '@' in a URL's host is not meant.
std::optional<std::pair<std::string, std::string>> SplitBranch(
    std::string_view source) {
  const size_t at = source.rfind('@');
  const size_t scheme = source.find("://");
  const size_t path = scheme == source.npos ? 0 : source.find('/', scheme + 3);
  if (at == source.npos || path == source.npos || at <= path ||
      source.find('/', at) == source.npos || source.starts_with("hf://")) {
    return std::nullopt;
  }
  return std::pair{std::string(source.substr(0, at)),
                   std::string(source.substr(at + 1))};
}

}  // namespace

std::pair<std::string, std::string> SplitVersion(std::string_view source) {
  const size_t at = source.rfind('@');
  const size_t slash = source.rfind('/');
  const bool version = at != source.npos && at > 0 && at + 1 < source.size() &&
                       (slash == source.npos || at > slash + 1) &&
                       !source.starts_with("hf://");
  if (!version) return {std::string(source), ""};
  return {std::string(source.substr(0, at)),
          std::string(source.substr(at + 1))};
}

Result<CellRef> FindCell(const Row& row, const CellPath& path) {
  const Status missing(Code::kNotFound, "no such cell");
  if (path.column >= row.values.size()) return missing;
  CellRef cell{&row.values[path.column], 0};
  for (const uint32_t step : path.steps) {
    if (cell.index >= cell.array->length || cell.array->IsNull(cell.index)) {
      return missing;
    }
    const Array& array = *cell.array;
    const TypeId id = array.type->id;
    if (id == TypeId::kStruct && step < array.children.size()) {
      cell.array = &array.children[step];
    } else if (id == TypeId::kFixedSizeList && step < array.type->width) {
      cell = {&array.children[0], cell.index * array.type->width + step};
    } else if (id == TypeId::kList || id == TypeId::kLargeList ||
               id == TypeId::kMap) {
      const uint64_t begin = array.OffsetAt(cell.index);
      if (step >= array.OffsetAt(cell.index + 1) - begin) return missing;
      cell = {&array.children[0], begin + step};
    } else {
      return missing;
    }
  }
  if (cell.index >= cell.array->length) return missing;
  return cell;
}

Dataset::Dataset(std::string source, std::unique_ptr<TableSource> table,
                 const DatasetOptions& options)
    : source_(std::move(source)),
      table_(std::move(table)),
      file_rows_(dynamic_cast<const FileRows*>(table_.get())),
      options_(options) {
  FindRoles();
}

void Dataset::FindRoles() {
  const Schema& schema = table_->schema();
  for (size_t i = 0; i < schema.fields.size(); ++i) {
    const Field& field = schema.fields[i];
    Column column;
    column.name = field.name;
    column.field = i;
    column.type = field.type;
    column.metadata = field.metadata;
    column.role = IsTensor(*field.type) ? ColumnRole::kTensor : RoleOf(field);
    columns_.push_back(std::move(column));
  }
  for (Column& index : columns_) {
    if (!index.name.ends_with(kIndexSuffix) || !IsBinary(*index.type)) continue;
    const auto blob =
        FindColumn(std::string_view(index.name)
                       .substr(0, index.name.size() - kIndexSuffix.size()));
    if (!blob || columns_[*blob].role != ColumnRole::kBlob) continue;
    columns_[*blob].index_field = index.field;
    index.role = ColumnRole::kIndex;
  }
}

Result<std::shared_ptr<Dataset>> Dataset::Make(
    std::string source, std::unique_ptr<TableSource> table,
    const DatasetOptions& options) {
  return std::shared_ptr<Dataset>(
      new Dataset(std::move(source), std::move(table), options));
}

Result<std::shared_ptr<Dataset>> Dataset::Open(
    std::string_view source, std::span<const TableFormat> formats,
    const OpenContext& context, const DatasetOptions& options) {
  // The whole text may itself be a path that holds an '@'.
  std::vector<std::pair<std::string, std::string>> readings;
  if (const auto split = SplitVersion(source); !split.second.empty()) {
    readings.push_back(split);
  }
  readings.emplace_back(source, "");
  if (auto split = SplitBranch(source)) readings.push_back(std::move(*split));
  std::string tried;
  for (const TableFormat& format : formats) {
    if (!options.format.empty() && options.format != format.name) continue;
    tried += (tried.empty() ? "" : ", ") + format.name;
    for (const auto& [path, version] : readings) {
      ROWFS_ASSIGN_OR_RETURN(const Location location,
                             context.stores->Resolve(path));
      const Result<bool> detected = format.detect(location, context);
      if (!detected.ok() && detected.status().code() == Code::kNotFound) {
        continue;
      }
      ROWFS_RETURN_IF_ERROR(detected.status());
      if (!detected.value()) continue;
      ROWFS_ASSIGN_OR_RETURN(auto table,
                             format.open(location, version, context));
      return Make(location.uri() + (version.empty() ? "" : "@" + version),
                  std::move(table), options);
    }
  }
  for (const TableFormat& format : formats) {
    if (options.format.empty() || options.format != format.name) continue;
    // Who names the kind knows better than a look at the name.
    ROWFS_ASSIGN_OR_RETURN(const Location location,
                           context.stores->Resolve(source));
    ROWFS_ASSIGN_OR_RETURN(auto table, format.open(location, "", context));
    return Make(location.uri(), std::move(table), options);
  }
  if (tried.empty()) {
    std::string names;
    for (const TableFormat& format : formats) {
      if (!names.ends_with(format.name))
        names += " " + std::string(format.name);
    }
    return Status(
        Code::kInvalidArgument,
        "--format: there is no \"" + options.format + "\"; there are:" + names);
  }
  ROWFS_ASSIGN_OR_RETURN(const Location location,
                         context.stores->Resolve(readings[0].first));
  const auto object = location.store->Stat(location.path);
  if (!object.ok() && !location.store->List(location.path).ok()) {
    const bool absent = object.status().code() == Code::kNotFound;
    return absent
               ? Status(Code::kNotFound, location.uri() + ": there is nothing")
               : object.status();
  }
  return Status(Code::kUnsupported,
                location.uri() + ": not a dataset rowfs knows (tried " + tried +
                    "); give its kind with --format");
}

std::optional<size_t> Dataset::FindColumn(std::string_view name) const {
  for (size_t i = 0; i < columns_.size(); ++i) {
    if (columns_[i].name == name) return i;
  }
  return std::nullopt;
}

Result<std::vector<Row>> Dataset::TakeRows(std::span<const uint64_t> rows,
                                           std::span<const size_t> columns,
                                           BlobDetail detail) {
  std::vector<size_t> fields;
  std::map<size_t, size_t> place;  // field -> position in the batch
  const auto want = [&](size_t field) {
    if (place.emplace(field, fields.size()).second) fields.push_back(field);
  };
  for (const size_t c : columns) {
    if (columns_[c].role == ColumnRole::kIndex) continue;
    want(columns_[c].field);
    const bool info = detail != BlobDetail::kDescriptor;
    if (columns_[c].index_field && info) want(*columns_[c].index_field);
  }
  ROWFS_ASSIGN_OR_RETURN(const RecordBatch batch,
                         table_->Take(rows, fields, detail));
  std::vector<Row> taken(rows.size());
  for (size_t r = 0; r < rows.size(); ++r) {
    taken[r].number = rows[r];
    for (const Column& column : columns_) {
      const auto at = place.find(column.field);
      if (at == place.end() || column.role == ColumnRole::kIndex) {
        taken[r].values.push_back(NullArray(column.type, 0));
        continue;
      }
      Array value = SliceArray(batch.columns[at->second], r, 1);
      if (column.role == ColumnRole::kBlob &&
          value.type->id == TypeId::kDictionary) {
        value = DecodeValue(value, 0);
      }
      const auto index =
          column.index_field ? place.find(*column.index_field) : place.end();
      if (column.role == ColumnRole::kBlob && index != place.end() &&
          !value.IsNull(0) && !batch.columns[index->second].IsNull(r)) {
        BlobCell cell = CellOf(value, 0);
        ROWFS_ASSIGN_OR_RETURN(
            cell.info, DecodeBlobInfo(batch.columns[index->second].BytesAt(r)));
        ArrayBuilder builder(MakeType(TypeId::kBlob));
        builder.AppendBlob(std::move(cell));
        value = builder.Finish();
      }
      taken[r].values.push_back(std::move(value));
    }
  }
  return taken;
}

bool Dataset::HasRow(uint64_t row) const {
  const MutexLock lock(mu_);
  return by_row_.contains(row);
}

void Dataset::Remember(std::shared_ptr<const Row> row) {
  const MutexLock lock(mu_);
  const uint64_t number = row->number;
  if (by_row_.contains(number)) return;
  // Rows of tables that hold their blobs are as large as these.
  const uint64_t bytes = RowBytes(*row);
  recent_.push_front({std::move(row), bytes});
  recent_bytes_ += bytes;
  by_row_[number] = recent_.begin();
  while (recent_.size() > 1 && (recent_.size() > options_.rows_cached_max ||
                                recent_bytes_ > kRowBytesCachedMax)) {
    by_row_.erase(recent_.back().row->number);
    recent_bytes_ -= recent_.back().bytes;
    recent_.pop_back();
  }
}

std::shared_ptr<const Row> Dataset::FindRecent(uint64_t row) {
  const MutexLock lock(mu_);
  const auto found = by_row_.find(row);
  if (found == by_row_.end()) return nullptr;
  recent_.splice(recent_.begin(), recent_, found->second);
  return found->second->row;
}

Result<std::shared_ptr<const Row>> Dataset::ReadRow(uint64_t row) {
  ROWFS_ASSIGN_OR_RETURN(const auto rows, ReadRows(std::span(&row, 1)));
  return rows[0];
}

Result<std::vector<std::shared_ptr<const Row>>> Dataset::ReadRows(
    std::span<const uint64_t> rows) {
  std::vector<std::shared_ptr<const Row>> result;
  std::vector<uint64_t> missing;
  for (const uint64_t row : rows) {
    result.push_back(FindRecent(row));
    if (!result.back()) missing.push_back(row);
  }
  if (missing.empty()) return result;
  std::vector<size_t> all(columns_.size());
  for (size_t i = 0; i < all.size(); ++i) all[i] = i;
  ROWFS_ASSIGN_OR_RETURN(std::vector<Row> taken,
                         TakeRows(missing, all, BlobDetail::kHead));
  size_t next = 0;
  for (std::shared_ptr<const Row>& row : result) {
    if (row) continue;
    row = std::make_shared<const Row>(std::move(taken[next++]));
    Remember(row);
  }
  return result;
}

Result<std::shared_ptr<const Blob>> OpenBlobCell(const Dataset& dataset,
                                                 const Array& array,
                                                 uint64_t index) {
  if (array.IsNull(index)) return std::shared_ptr<const Blob>();
  if (array.type->id == TypeId::kDictionary) {
    return OpenBlobCell(dataset, DecodeValue(array, index), 0);
  }
  if (array.type->id != TypeId::kBlob && !IsBinary(*array.type)) {
    return Status(Code::kInvalidArgument,
                  "column holds " + array.type->ToString() + ", not a blob");
  }
  BlobCell cell = CellOf(array, index);
  BlobSource source;
  if (cell.kind == BlobKind::kCell) {
    source.bytes = cell.bytes;
  } else {
    ROWFS_ASSIGN_OR_RETURN(source, dataset.table().OpenBlob(cell));
  }
  return std::make_shared<const Blob>(std::move(cell), std::move(source));
}

namespace {

Result<std::shared_ptr<const Blob>> OpenCell(const Dataset& dataset,
                                             const Row& row,
                                             const CellPath& path) {
  ROWFS_ASSIGN_OR_RETURN(const CellRef cell, FindCell(row, path));
  return OpenBlobCell(dataset, *cell.array, cell.index);
}

}  // namespace

Result<std::shared_ptr<const Blob>> Dataset::OpenBlob(uint64_t row,
                                                      const CellPath& path,
                                                      BlobDetail detail) {
  if (path.column >= columns_.size()) {
    return Status(Code::kNotFound, "no such column");
  }
  // A row in memory has the head; the whole index is only missing where the
  // descriptor says there is more of it.
  if (detail == BlobDetail::kHead || HasRow(row)) {
    ROWFS_ASSIGN_OR_RETURN(const auto known, ReadRow(row));
    ROWFS_ASSIGN_OR_RETURN(auto blob, OpenCell(*this, *known, path));
    const bool enough = detail != BlobDetail::kFull || !blob ||
                        !blob->cell().info || !blob->cell().info->head_only;
    if (enough) return blob;
  }
  ROWFS_ASSIGN_OR_RETURN(
      const std::vector<Row> rows,
      TakeRows(std::span(&row, 1), std::span(&path.column, 1), detail));
  return OpenCell(*this, rows[0], path);
}

Result<std::vector<std::shared_ptr<const Blob>>> Dataset::OpenBlobs(
    std::span<const uint64_t> rows, size_t column, BlobDetail detail) {
  ROWFS_ASSIGN_OR_RETURN(const std::vector<Row> taken,
                         TakeRows(rows, std::span(&column, 1), detail));
  std::vector<std::shared_ptr<const Blob>> blobs;
  for (const Row& row : taken) {
    ROWFS_ASSIGN_OR_RETURN(blobs.emplace_back(),
                           OpenCell(*this, row, {column, {}}));
  }
  return blobs;
}

}  // namespace rowfs
