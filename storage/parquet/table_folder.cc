#include "storage/parquet/table_folder.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <map>

#include "storage/base/hash.h"
#include "storage/parquet/array_cache.h"
#include "storage/parquet/media_struct.h"
#include "storage/parquet/open_file.h"
#include "storage/parquet/schema_union.h"
#include "storage/parquet/table_files.h"
#include "storage/table/reach_policy.h"

namespace rowfs {
namespace {

constexpr uint64_t kCacheBytes = 64 << 20;

struct OpenedFile {
  TableFile file;
  std::unique_ptr<RowFile> rows;
  uint64_t first_row = 0;
};

// Whether all texts are whole numbers that fit 32 bits, as pyarrow asks.
bool AreInts(const std::vector<OpenedFile>& files, size_t value) {
  for (const OpenedFile& file : files) {
    const auto& text = file.file.values[value].second;
    if (!text) continue;
    int32_t number = 0;
    const char* end = text->data() + text->size();
    const auto [at, error] = std::from_chars(text->data(), end, number);
    if (error != std::errc() || at != end) return false;
  }
  return true;
}

// `count` times the value that a path gives.
Array Repeat(const std::optional<std::string>& text, const TypePtr& type,
             uint64_t count) {
  ArrayBuilder builder(type);
  int32_t number = 0;
  if (text) {
    std::from_chars(text->data(), text->data() + text->size(), number);
  }
  for (uint64_t i = 0; i < count; ++i) {
    if (!text) {
      builder.AppendNull();
    } else if (type->id == TypeId::kInt32) {
      builder.AppendInt(number);
    } else {
      builder.AppendBytes(AsBytes(*text));
    }
  }
  return builder.Finish();
}

Location Parent(const Location& location) {
  const size_t slash = location.path.rfind('/');
  return {location.store,
          slash == std::string::npos ? "" : location.path.substr(0, slash)};
}

class TableFolder final : public TableSource {
 public:
  static Result<std::unique_ptr<TableSource>> Open(const Location& location,
                                                   FileKind kind,
                                                   const OpenContext& context) {
    const auto meta = location.store->Stat(location.path);
    std::vector<TableFile> files;
    if (meta.ok()) {
      files.push_back({"", meta.value(), {}});
    } else {
      ROWFS_ASSIGN_OR_RETURN(files, ListTableFiles(location, kind));
    }
    auto source = std::unique_ptr<TableFolder>(new TableFolder(
        location, meta.ok() ? Parent(location) : location, kind, context));
    ROWFS_RETURN_IF_ERROR(source->Load(std::move(files)));
    return std::unique_ptr<TableSource>(std::move(source));
  }

  std::string_view format() const override {
    return kind_ == FileKind::kParquet ? "parquet" : "arrow";
  }
  const Schema& schema() const override { return schema_; }
  uint64_t row_count() const override { return row_count_; }
  std::string fingerprint() const override { return fingerprint_; }
  Json Describe() const override {
    return std::move(Json::Object()
                         .Add("format", Json::String(format()))
                         .Add("files", Json::Uint(files_.size())));
  }

  Result<RecordBatch> Take(std::span<const uint64_t> rows,
                           std::span<const size_t> columns,
                           BlobDetail detail) override;
  Result<std::unique_ptr<BatchReader>> Scan(std::span<const size_t> columns,
                                            uint64_t begin, uint64_t end,
                                            uint64_t batch_rows,
                                            BlobDetail detail) override;

  Result<uint64_t> RowId(uint64_t row) override { return row; }
  Result<BlobSource> OpenBlob(const BlobCell& cell) override;
  Result<std::vector<TableVersion>> Versions() override {
    return std::vector<TableVersion>();
  }

 private:
  friend class FolderReader;

  // The columns that a call asks for, as one file has them.
  struct Plan {
    std::vector<size_t> fields;  // of the file, rising
    // For each wanted column its place in `fields`; absent: not in the file.
    std::vector<std::optional<size_t>> places;
  };

  TableFolder(Location location, Location root, FileKind kind,
              const OpenContext& context)
      : location_(std::move(location)),
        kind_(kind),
        context_(context.read),
        policy_(root, {root}, context.stores, context.allow_external),
        cache_(kCacheBytes) {}

  Status Load(std::vector<TableFile> files);
  Status OpenFile(size_t index);
  Status MakeSchema();
  Plan PlanFor(const OpenedFile& file, std::span<const size_t> columns) const;
  Array ShowColumn(const OpenedFile& file, size_t column, const Array* stored,
                   uint64_t rows) const;
  Schema Project(std::span<const size_t> columns) const;

  const Location location_;
  const FileKind kind_;
  const ReadContext context_;
  const ReachPolicy policy_;
  ArrayCache cache_;
  std::vector<OpenedFile> files_;
  Schema stored_;  // as in the files
  Schema schema_;  // as shown
  // Where the path gives a column: its place in TableFile::values.
  std::map<size_t, size_t> path_columns_;
  uint64_t row_count_ = 0;
  std::string fingerprint_;
};

Status TableFolder::OpenFile(size_t index) {
  OpenedFile& file = files_[index];
  const Location place =
      file.file.path.empty() ? location_ : location_.Join(file.file.path);
  ROWFS_ASSIGN_OR_RETURN(
      file.rows, OpenRowFile(place, file.file.meta, kind_, context_, &cache_,
                             static_cast<uint32_t>(index)));
  return {};
}

Status TableFolder::Load(std::vector<TableFile> files) {
  std::string listing;
  for (TableFile& file : files) {
    listing += file.path + '\0' + file.meta.etag + '\0' +
               std::to_string(file.meta.size) + '\n';
    files_.push_back({std::move(file), nullptr, 0});
  }
  fingerprint_ = ToHex(Sha256(AsBytes(listing)));
  std::vector<std::function<Status()>> tasks;
  for (size_t i = 0; i < files_.size(); ++i) {
    tasks.emplace_back([this, i] { return OpenFile(i); });
  }
  const bool parallel = context_.pool != nullptr && tasks.size() > 1 &&
                        location_.store->capabilities().remote;
  if (parallel) {
    // Each waits for requests of its own: not on the pool that makes those.
    ThreadPool openers(8, tasks.size());
    ROWFS_RETURN_IF_ERROR(RunAll(openers, tasks));
  } else {
    for (const auto& task : tasks) ROWFS_RETURN_IF_ERROR(task());
  }
  for (OpenedFile& file : files_) {
    file.first_row = row_count_;
    const auto total = CheckedAdd(row_count_, file.rows->row_count());
    if (!total) return {Code::kCorruption, location_.uri() + ": too many rows"};
    row_count_ = *total;
  }
  return MakeSchema();
}

Status TableFolder::MakeSchema() {
  for (const OpenedFile& file : files_) {
    const Status added = AddSchema(file.rows->schema(), &stored_);
    if (!added.ok()) {
      return added.With(file.file.path.empty()
                            ? location_.uri()
                            : location_.Join(file.file.path).uri());
    }
  }
  stored_.metadata = files_[0].rows->schema().metadata;
  for (Field& field : stored_.fields) {
    for (const OpenedFile& file : files_) {
      if (!file.rows->schema().Find(field.name)) field.nullable = true;
    }
  }
  schema_ = stored_;
  for (Field& field : schema_.fields) field.type = ShownType(field);
  const auto& values = files_[0].file.values;
  for (size_t v = 0; v < values.size(); ++v) {
    const bool everywhere =
        std::all_of(files_.begin(), files_.end(), [&](const OpenedFile& file) {
          return v < file.file.values.size() &&
                 file.file.values[v].first == values[v].first;
        });
    if (!everywhere || stored_.Find(values[v].first)) continue;
    Field field;
    field.name = values[v].first;
    field.type =
        MakeType(AreInts(files_, v) ? TypeId::kInt32 : TypeId::kString);
    path_columns_[schema_.fields.size()] = v;
    schema_.fields.push_back(std::move(field));
  }
  return {};
}

TableFolder::Plan TableFolder::PlanFor(const OpenedFile& file,
                                       std::span<const size_t> columns) const {
  Plan plan;
  std::vector<std::optional<size_t>> fields;
  for (const size_t column : columns) {
    fields.push_back(
        path_columns_.contains(column)
            ? std::nullopt
            : file.rows->schema().Find(schema_.fields[column].name));
    if (fields.back()) plan.fields.push_back(*fields.back());
  }
  std::sort(plan.fields.begin(), plan.fields.end());
  plan.fields.erase(std::unique(plan.fields.begin(), plan.fields.end()),
                    plan.fields.end());
  for (const auto& field : fields) {
    std::optional<size_t> place;
    if (field) {
      place = static_cast<size_t>(
          std::lower_bound(plan.fields.begin(), plan.fields.end(), *field) -
          plan.fields.begin());
    }
    plan.places.push_back(place);
  }
  return plan;
}

// Column `column` of `rows` rows of a file. `stored`: what the file has.
Array TableFolder::ShowColumn(const OpenedFile& file, size_t column,
                              const Array* stored, uint64_t rows) const {
  const TypePtr& shown = schema_.fields[column].type;
  if (const auto value = path_columns_.find(column);
      value != path_columns_.end()) {
    return Repeat(file.file.values[value->second].second, shown, rows);
  }
  if (stored == nullptr) return NullArray(shown, rows);
  return ShowArray(WidenArray(*stored, stored_.fields[column].type), shown);
}

Schema TableFolder::Project(std::span<const size_t> columns) const {
  Schema schema;
  schema.metadata = schema_.metadata;
  for (const size_t column : columns) {
    schema.fields.push_back(schema_.fields[column]);
  }
  return schema;
}

Result<RecordBatch> TableFolder::Take(std::span<const uint64_t> rows,
                                      std::span<const size_t> columns,
                                      BlobDetail) {
  std::vector<uint64_t> sorted(rows.begin(), rows.end());
  std::sort(sorted.begin(), sorted.end());
  sorted.erase(std::unique(sorted.begin(), sorted.end()), sorted.end());
  if (!sorted.empty() && sorted.back() >= row_count_) {
    return Status(Code::kOutOfRange, location_.uri() + ": no row " +
                                         std::to_string(sorted.back()) +
                                         ", there are " +
                                         std::to_string(row_count_));
  }
  std::vector<std::vector<Array>> parts(columns.size());
  for (size_t i = 0; i < sorted.size();) {
    const auto after = std::upper_bound(
        files_.begin(), files_.end(), sorted[i],
        [](uint64_t row, const OpenedFile& f) { return row < f.first_row; });
    const OpenedFile& file = *(after - 1);
    std::vector<uint64_t> local;
    for (; i < sorted.size() &&
           sorted[i] - file.first_row < file.rows->row_count();
         ++i) {
      local.push_back(sorted[i] - file.first_row);
    }
    const Plan plan = PlanFor(file, columns);
    ROWFS_ASSIGN_OR_RETURN(const std::vector<Array> taken,
                           file.rows->Take(local, plan.fields));
    for (size_t c = 0; c < columns.size(); ++c) {
      const Array* stored = plan.places[c] ? &taken[*plan.places[c]] : nullptr;
      parts[c].push_back(ShowColumn(file, columns[c], stored, local.size()));
    }
  }
  RecordBatch batch;
  batch.schema = Project(columns);
  batch.row_count = rows.size();
  std::vector<uint64_t> order;
  for (const uint64_t row : rows) {
    order.push_back(static_cast<uint64_t>(
        std::lower_bound(sorted.begin(), sorted.end(), row) - sorted.begin()));
  }
  const bool in_order =
      std::equal(sorted.begin(), sorted.end(), rows.begin(), rows.end());
  for (size_t c = 0; c < columns.size(); ++c) {
    if (parts[c].empty()) {
      batch.columns.push_back(NullArray(schema_.fields[columns[c]].type, 0));
      continue;
    }
    ROWFS_ASSIGN_OR_RETURN(Array column, ConcatArrays(parts[c]));
    batch.columns.push_back(in_order ? std::move(column)
                                     : TakeArray(column, order));
  }
  return batch;
}

// Rows of several files, one file behind the other.
class FolderReader final : public BatchReader {
 public:
  FolderReader(TableFolder& folder, std::span<const size_t> columns,
               uint64_t begin, uint64_t end, uint64_t batch_rows)
      : folder_(folder),
        columns_(columns.begin(), columns.end()),
        schema_(folder.Project(columns)),
        next_(begin),
        end_(std::min(end, folder.row_count_)),
        batch_rows_(std::max<uint64_t>(batch_rows, 1)) {}

  Result<RecordBatch> Next() override {
    RecordBatch out;
    out.schema = schema_;
    while (next_ < end_) {
      if (!reader_) ROWFS_RETURN_IF_ERROR(OpenNext());
      ROWFS_ASSIGN_OR_RETURN(RecordBatch batch, NextStored());
      if (batch.row_count == 0) {
        reader_.reset();
        continue;
      }
      next_ += batch.row_count;
      out.row_count = batch.row_count;
      for (size_t c = 0; c < columns_.size(); ++c) {
        const Array* stored =
            plan_.places[c] ? &batch.columns[*plan_.places[c]] : nullptr;
        out.columns.push_back(
            folder_.ShowColumn(*file_, columns_[c], stored, out.row_count));
      }
      return out;
    }
    for (const size_t c : columns_) {
      out.columns.push_back(NullArray(folder_.schema_.fields[c].type, 0));
    }
    return out;
  }

 private:
  Status OpenNext() {
    const auto after = std::upper_bound(
        folder_.files_.begin(), folder_.files_.end(), next_,
        [](uint64_t row, const OpenedFile& f) { return row < f.first_row; });
    file_ = &*(after - 1);
    plan_ = folder_.PlanFor(*file_, columns_);
    begin_ = next_ - file_->first_row;
    file_end_ = std::min(end_ - file_->first_row, file_->rows->row_count());
    if (plan_.fields.empty()) return {};
    ROWFS_ASSIGN_OR_RETURN(reader_, file_->rows->Scan(plan_.fields, begin_,
                                                      file_end_, batch_rows_));
    return {};
  }

  // Of a file that has none of the columns only the rows are counted.
  Result<RecordBatch> NextStored() {
    if (reader_) return reader_->Next();
    RecordBatch batch;
    batch.row_count = std::min(file_end_ - begin_, batch_rows_);
    return batch;
  }

  TableFolder& folder_;
  const std::vector<size_t> columns_;
  const Schema schema_;
  uint64_t next_;
  const uint64_t end_;
  const uint64_t batch_rows_;
  const OpenedFile* file_ = nullptr;
  TableFolder::Plan plan_;
  uint64_t begin_ = 0;
  uint64_t file_end_ = 0;
  std::unique_ptr<BatchReader> reader_;
};

Result<std::unique_ptr<BatchReader>> TableFolder::Scan(
    std::span<const size_t> columns, uint64_t begin, uint64_t end,
    uint64_t batch_rows, BlobDetail) {
  return std::unique_ptr<BatchReader>(
      std::make_unique<FolderReader>(*this, columns, begin, end, batch_rows));
}

Result<BlobSource> TableFolder::OpenBlob(const BlobCell& cell) {
  BlobSource source;
  if (cell.kind == BlobKind::kCell) {
    source.bytes = cell.bytes;
    return source;
  }
  ROWFS_ASSIGN_OR_RETURN(const Location place, policy_.Resolve(cell.object));
  ROWFS_ASSIGN_OR_RETURN(source.reader, ObjectReader::Open(place, 0, context_));
  source.range = {0, source.reader->size()};
  return source;
}

TableFormat MakeFormat(std::string name, FileKind kind) {
  TableFormat format;
  format.name = std::move(name);
  format.detect = [kind](const Location& location,
                         const OpenContext&) -> Result<bool> {
    ROWFS_ASSIGN_OR_RETURN(const auto file, DetectFile(location));
    if (file) return *file == kind;
    if (!location.store->capabilities().list) return false;
    ROWFS_ASSIGN_OR_RETURN(const auto folder, DetectFolder(location));
    return folder == kind;
  };
  format.open =
      [kind](
          const Location& location, std::string_view version,
          const OpenContext& context) -> Result<std::unique_ptr<TableSource>> {
    if (!version.empty() && version != "latest") {
      return Status(Code::kInvalidArgument,
                    location.uri() + ": such a table has no version \"" +
                        std::string(version) + "\"");
    }
    return TableFolder::Open(location, kind, context);
  };
  return format;
}

}  // namespace

TableFormat ParquetFormat() {
  return MakeFormat("parquet", FileKind::kParquet);
}
TableFormat ArrowFormat() { return MakeFormat("arrow", FileKind::kArrow); }

}  // namespace rowfs
