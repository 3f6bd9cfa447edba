#include "storage/folder/folder_source.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "storage/base/hash.h"
#include "storage/folder/folder_listing.h"
#include "storage/folder/metadata_file.h"
#include "storage/table/json_column.h"

namespace rowfs {
namespace {

constexpr uint64_t kMetadataBytesMax = uint64_t{1} << 30;
constexpr uint64_t kTableRows = 4096;

constexpr std::array<std::string_view, 5> kKinds = {"video", "audio", "image",
                                                    "document", "file"};

Field MakeField(std::string name, TypePtr type) {
  Field field;
  field.name = std::move(name);
  field.type = std::move(type);
  return field;
}

class FolderSource final : public TableSource {
 public:
  using OpenTable =
      std::function<Result<std::unique_ptr<TableSource>>(const Location&)>;

  static Result<std::unique_ptr<TableSource>> Open(const Location& location,
                                                   const OpenContext& context,
                                                   OpenTable open_table) {
    auto source = std::unique_ptr<FolderSource>(
        new FolderSource(location, context.read, std::move(open_table)));
    ROWFS_RETURN_IF_ERROR(source->Load());
    return std::unique_ptr<TableSource>(std::move(source));
  }

  std::string_view format() const override { return "folder"; }
  const Schema& schema() const override { return table_.schema; }
  uint64_t row_count() const override { return files_.size(); }
  Json Describe() const override {
    return std::move(Json::Object().Add("format", Json::String("folder")));
  }
  std::string fingerprint() const override { return fingerprint_; }

  Result<RecordBatch> Take(std::span<const uint64_t> rows,
                           std::span<const size_t> columns,
                           BlobDetail) override {
    for (const uint64_t row : rows) {
      if (row >= files_.size()) {
        return Status(Code::kOutOfRange,
                      "row " + std::to_string(row) + ": the folder has " +
                          std::to_string(files_.size()) + " files");
      }
    }
    RecordBatch batch;
    batch.row_count = rows.size();
    for (const size_t column : columns) {
      batch.schema.fields.push_back(table_.schema.fields[column]);
      batch.columns.push_back(TakeArray(table_.columns[column], rows));
    }
    return batch;
  }

  Result<std::unique_ptr<BatchReader>> Scan(std::span<const size_t> columns,
                                            uint64_t begin, uint64_t end,
                                            uint64_t batch_rows,
                                            BlobDetail) override {
    class Reader final : public BatchReader {
     public:
      Reader(FolderSource& source, std::span<const size_t> wanted,
             uint64_t first, uint64_t last, uint64_t rows)
          : source_(source),
            columns_(wanted.begin(), wanted.end()),
            next_(first),
            end_(std::min(last, source.row_count())),
            batch_rows_(rows) {}
      Result<RecordBatch> Next() override {
        std::vector<uint64_t> rows;
        while (next_ < end_ && rows.size() < batch_rows_) {
          rows.push_back(next_++);
        }
        return source_.Take(rows, columns_, BlobDetail::kFull);
      }

     private:
      FolderSource& source_;
      const std::vector<size_t> columns_;
      uint64_t next_;
      const uint64_t end_;
      const uint64_t batch_rows_;
    };
    return std::unique_ptr<BatchReader>(
        std::make_unique<Reader>(*this, columns, begin, end, batch_rows));
  }

  Result<uint64_t> RowId(uint64_t row) override { return row; }

  Result<BlobSource> OpenBlob(const BlobCell& cell) override {
    // A file that changed since it was listed is told by its etag at the read.
    const auto file = std::lower_bound(
        files_.begin(), files_.end(), cell.object,
        [](const FolderFile& f, const std::string& p) { return f.path < p; });
    if (file == files_.end() || file->path != cell.object) {
      return Status(Code::kNotFound, cell.object + ": not in the folder");
    }
    BlobSource source;
    source.reader = ObjectReader::Make(
        single_file_ ? root_ : root_.Join(file->path), file->meta, context_);
    source.range = {0, file->meta.size};
    return source;
  }

  Result<std::vector<TableVersion>> Versions() override {
    return std::vector<TableVersion>();
  }

 private:
  FolderSource(Location root, const ReadContext& context, OpenTable open_table)
      : root_(std::move(root)),
        context_(context),
        open_table_(std::move(open_table)) {}

  Status Load() {
    const Result<ObjectMeta> single = root_.store->Stat(root_.path);
    if (single.ok()) {
      single_file_ = true;
      files_ = {{root_.path.substr(root_.path.rfind('/') + 1), single.value()}};
    } else {
      ROWFS_ASSIGN_OR_RETURN(files_, ListFolder(root_, context_.log));
    }
    std::string listing;
    for (const FolderFile& file : files_) {
      listing += file.path + '\0' + file.meta.etag + '\0' +
                 std::to_string(file.meta.size) + '\n';
    }
    fingerprint_ = ToHex(Sha256(AsBytes(listing)));
    std::vector<Json> metadata;
    std::vector<RecordBatch> tables;
    ROWFS_RETURN_IF_ERROR(TakeMetadata(&metadata, &tables));
    table_.row_count = files_.size();
    AddNames(metadata.empty() && tables.empty());
    AddBlobs();
    AddMetadata(metadata);
    for (const RecordBatch& table : tables) {
      ROWFS_RETURN_IF_ERROR(AddTable(table));
    }
    return {};
  }

  // Remove the metadata files from the rows; what they hold. The names in them
  // are relative to where they lie.
  Status TakeMetadata(std::vector<Json>* rows,
                      std::vector<RecordBatch>* tables) {
    if (single_file_) return {};
    std::vector<std::string> found;
    std::erase_if(files_, [&](const FolderFile& file) {
      const std::string_view name =
          std::string_view(file.path).substr(file.path.rfind('/') + 1);
      const bool metadata = name == "metadata.jsonl" ||
                            name == "metadata.csv" ||
                            (name == "metadata.parquet" && open_table_);
      if (metadata) found.push_back(file.path);
      return metadata;
    });
    for (const std::string& path : found) {
      const Location location = root_.Join(path);
      const std::string folder = path.substr(0, path.rfind('/') + 1);
      if (path.ends_with(".parquet")) {
        ROWFS_ASSIGN_OR_RETURN(tables->emplace_back(), ReadTable(location));
        PrefixNames(folder, &tables->back());
        continue;
      }
      ROWFS_ASSIGN_OR_RETURN(const Bytes bytes,
                             ReadWhole(location, kMetadataBytesMax));
      const auto parse = path.ends_with(".csv") ? &ParseCsv : &ParseJsonLines;
      ROWFS_ASSIGN_OR_RETURN(std::vector<Json> parsed,
                             parse(AsText(bytes), location.uri()));
      for (Json& row : parsed) {
        for (auto& [key, value] : row.members) {
          if (key == "file_name") value.text.insert(0, folder);
        }
        rows->push_back(std::move(row));
      }
    }
    return {};
  }

  // All of a table in memory: it describes files, it does not hold them.
  Result<RecordBatch> ReadTable(const Location& location) const {
    ROWFS_ASSIGN_OR_RETURN(const auto table, open_table_(location));
    std::vector<size_t> columns;
    for (size_t i = 0; i < table->schema().fields.size(); ++i) {
      columns.push_back(i);
    }
    ROWFS_ASSIGN_OR_RETURN(const auto reader,
                           table->Scan(columns, 0, table->row_count(),
                                       kTableRows, BlobDetail::kDescriptor));
    std::vector<std::vector<Array>> parts(columns.size());
    RecordBatch whole;
    whole.schema = table->schema();
    for (;;) {
      ROWFS_ASSIGN_OR_RETURN(RecordBatch batch, reader->Next());
      if (batch.row_count == 0) break;
      whole.row_count += batch.row_count;
      for (size_t c = 0; c < columns.size(); ++c) {
        parts[c].push_back(std::move(batch.columns[c]));
      }
    }
    if (whole.row_count == 0) return whole;
    for (const std::vector<Array>& part : parts) {
      ROWFS_ASSIGN_OR_RETURN(whole.columns.emplace_back(), ConcatArrays(part));
    }
    return whole;
  }

  static void PrefixNames(const std::string& folder, RecordBatch* table) {
    const auto column = table->schema.Find("file_name");
    if (!column || table->row_count == 0) return;
    Array& names = table->columns[*column];
    if (names.type->id != TypeId::kString &&
        names.type->id != TypeId::kLargeString) {
      return;
    }
    ArrayBuilder builder(MakeType(TypeId::kString));
    for (uint64_t i = 0; i < names.length; ++i) {
      const std::string name =
          names.IsNull(i) ? "" : folder + std::string(AsText(names.BytesAt(i)));
      builder.AppendBytes(AsBytes(name));
    }
    names = builder.Finish();
  }

  // The columns of a table that names files, in the order of the files.
  Status AddTable(const RecordBatch& table) {
    const auto column = table.schema.Find("file_name");
    if (!column || table.row_count == 0 ||
        table.columns[*column].type->id != TypeId::kString) {
      return {};
    }
    const Array& names = table.columns[*column];
    std::map<std::string_view, uint64_t> by_file;
    for (uint64_t i = 0; i < names.length; ++i) {
      by_file.emplace(AsText(names.BytesAt(i)), i);
    }
    std::vector<uint64_t> rows;
    for (const FolderFile& file : files_) {
      const auto row = by_file.find(file.path);
      rows.push_back(row == by_file.end() ? names.length : row->second);
    }
    for (size_t c = 0; c < table.columns.size(); ++c) {
      const Field& field = table.schema.fields[c];
      if (table_.schema.Find(field.name)) continue;
      const Array parts[] = {table.columns[c], NullArray(field.type, 1)};
      ROWFS_ASSIGN_OR_RETURN(const Array with_null, ConcatArrays(parts));
      Field shown = field;
      shown.nullable = true;
      Add(std::move(shown), TakeArray(with_null, rows));
    }
    return {};
  }

  void AddNames(bool may_have_labels) {
    ArrayBuilder names(MakeType(TypeId::kString));
    ArrayBuilder labels(MakeType(TypeId::kString));
    for (const FolderFile& file : files_) {
      names.AppendBytes(AsBytes(file.path));
      labels.AppendBytes(AsBytes(ParentName(file.path)));
    }
    Add(MakeField("file_name", MakeType(TypeId::kString)), names.Finish());
    if (may_have_labels && AreClasses(files_)) {
      Add(MakeField("label", MakeType(TypeId::kString)), labels.Finish());
    }
  }

  void AddBlobs() {
    for (const std::string_view kind : kKinds) {
      ArrayBuilder builder(MakeType(TypeId::kBlob));
      bool any = false;
      for (const FolderFile& file : files_) {
        if (KindOfFile(file.path) != kind) {
          builder.AppendNull();
          continue;
        }
        any = true;
        BlobCell cell;
        cell.kind = BlobKind::kExternal;
        cell.object = file.path;
        cell.size = file.meta.size;
        builder.AppendBlob(std::move(cell));
      }
      if (any) {
        Add(MakeField(std::string(kind), MakeType(TypeId::kBlob)),
            builder.Finish());
      }
    }
  }

  void AddMetadata(const std::vector<Json>& metadata) {
    std::map<std::string_view, const Json*> by_file;
    std::vector<std::string_view> names;
    std::set<std::string_view> known = {"file_name"};
    for (const Field& field : table_.schema.fields) known.insert(field.name);
    for (const Json& row : metadata) {
      const Json* file = row.Find("file_name");
      if (file == nullptr || file->kind != Json::Kind::kString) continue;
      by_file[file->text] = &row;
      for (const auto& member : row.members) {
        if (known.insert(member.first).second) names.push_back(member.first);
      }
    }
    for (const std::string_view name : names) {
      std::vector<const Json*> values;
      for (const FolderFile& file : files_) {
        const auto row = by_file.find(file.path);
        values.push_back(row == by_file.end() ? nullptr
                                              : row->second->Find(name));
      }
      const TypePtr type = InferType(values);
      Add(MakeField(std::string(name), type), JsonArray(type, values));
    }
  }

  void Add(Field field, Array array) {
    table_.schema.fields.push_back(std::move(field));
    table_.columns.push_back(std::move(array));
  }

  const Location root_;
  const ReadContext context_;
  const OpenTable open_table_;  // null: metadata.parquet is a file like others
  bool single_file_ = false;
  std::vector<FolderFile> files_;
  RecordBatch table_;
  std::string fingerprint_;
};

}  // namespace

TableFormat FolderFormat(const TableFormat* metadata_format) {
  TableFormat format;
  format.name = "folder";
  format.detect = [](const Location& location,
                     const OpenContext&) -> Result<bool> {
    if (location.store->Stat(location.path).ok()) {
      return KindOfFile(location.path) != "file";
    }
    return location.store->capabilities().list &&
           location.store->List(location.path).ok();
  };
  const auto open_table =
      metadata_format == nullptr ? nullptr : metadata_format->open;
  format.open =
      [open_table](
          const Location& location, std::string_view version,
          const OpenContext& context) -> Result<std::unique_ptr<TableSource>> {
    if (!version.empty() && version != "latest") {
      return Status(Code::kInvalidArgument, location.uri() +
                                                ": a folder has no version \"" +
                                                std::string(version) + "\"");
    }
    if (!open_table) return FolderSource::Open(location, context, nullptr);
    return FolderSource::Open(location, context,
                              [open_table, context](const Location& table) {
                                return open_table(table, "", context);
                              });
  };
  return format;
}

}  // namespace rowfs
