#include "storage/folder/folder_source.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "storage/base/hash.h"
#include "storage/folder/metadata_file.h"
#include "storage/table/json_column.h"

namespace rowfs {
namespace {

constexpr size_t kFilesMax = 10'000'000;
constexpr size_t kDepthMax = 64;
constexpr uint64_t kMetadataBytesMax = uint64_t{1} << 30;

constexpr std::array<std::string_view, 5> kKinds = {"video", "audio", "image",
                                                    "document", "file"};

struct FolderFile {
  std::string path;  // below the folder
  ObjectMeta meta;
};

// All files below `folder`, sorted by path.
class Lister {
 public:
  explicit Lister(Location root) : root_(std::move(root)) {}

  Result<std::vector<FolderFile>> Run() {
    ROWFS_RETURN_IF_ERROR(Walk("", 0));
    std::sort(files_.begin(), files_.end(),
              [](const FolderFile& a, const FolderFile& b) {
                return a.path < b.path;
              });
    return std::move(files_);
  }

 private:
  Status Walk(const std::string& below, size_t depth) {
    if (depth > kDepthMax) {
      return {Code::kResourceExhausted, root_.uri() +
                                            ": folders nested deeper than " +
                                            std::to_string(kDepthMax)};
    }
    const Location here = below.empty() ? root_ : root_.Join(below);
    ROWFS_ASSIGN_OR_RETURN(const std::vector<ListEntry> entries,
                           here.store->List(here.path));
    for (const ListEntry& entry : entries) {
      if (entry.name.starts_with('.')) continue;
      const std::string path =
          below.empty() ? entry.name : below + "/" + entry.name;
      if (entry.is_directory) {
        ROWFS_RETURN_IF_ERROR(Walk(path, depth + 1));
      } else if (files_.size() < kFilesMax) {
        files_.push_back({path, entry.meta});
      } else {
        return {Code::kResourceExhausted, root_.uri() + ": too many files"};
      }
    }
    return {};
  }

  const Location root_;
  std::vector<FolderFile> files_;
};

std::string_view ParentName(std::string_view path) {
  const size_t slash = path.rfind('/');
  if (slash == path.npos) return "";
  const std::string_view parent = path.substr(0, slash);
  return parent.substr(parent.rfind('/') + 1);  // npos + 1 == 0
}

// Hugging Face ImageFolder: the folder's name is the class when every file lies
// equally deep, in more than one folder.
bool AreClasses(const std::vector<FolderFile>& files) {
  std::set<std::string_view> names;
  std::set<ptrdiff_t> depths;
  for (const FolderFile& file : files) {
    names.insert(ParentName(file.path));
    depths.insert(std::count(file.path.begin(), file.path.end(), '/'));
  }
  return depths.size() == 1 && *depths.begin() > 0 && names.size() > 1;
}

Field MakeField(std::string name, TypePtr type) {
  Field field;
  field.name = std::move(name);
  field.type = std::move(type);
  return field;
}

class FolderSource final : public TableSource {
 public:
  static Result<std::unique_ptr<TableSource>> Open(const Location& location,
                                                   const OpenContext& context) {
    auto source =
        std::unique_ptr<FolderSource>(new FolderSource(location, context.read));
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
  FolderSource(Location root, const ReadContext& context)
      : root_(std::move(root)), context_(context) {}

  Status Load() {
    const Result<ObjectMeta> single = root_.store->Stat(root_.path);
    if (single.ok()) {
      single_file_ = true;
      files_ = {{root_.path.substr(root_.path.rfind('/') + 1), single.value()}};
    } else {
      ROWFS_ASSIGN_OR_RETURN(files_, Lister(root_).Run());
    }
    std::string listing;
    for (const FolderFile& file : files_) {
      listing += file.path + '\0' + file.meta.etag + '\0' +
                 std::to_string(file.meta.size) + '\n';
    }
    fingerprint_ = ToHex(Sha256(AsBytes(listing)));
    ROWFS_ASSIGN_OR_RETURN(const std::vector<Json> metadata, TakeMetadata());
    table_.row_count = files_.size();
    AddNames(metadata.empty());
    AddBlobs();
    AddMetadata(metadata);
    return {};
  }

  // Remove the metadata file from the rows; its content, empty when there is
  // none.
  Result<std::vector<Json>> TakeMetadata() {
    for (const auto& [name, parse] :
         {std::pair("metadata.jsonl", &ParseJsonLines),
          std::pair("metadata.csv", &ParseCsv)}) {
      const auto found = std::find_if(
          files_.begin(), files_.end(),
          [&name = name](const FolderFile& file) { return file.path == name; });
      if (found == files_.end() || single_file_) continue;
      files_.erase(found);
      const Location location = root_.Join(name);
      ROWFS_ASSIGN_OR_RETURN(const Bytes bytes,
                             ReadWhole(location, kMetadataBytesMax));
      return parse(AsText(bytes), location.uri());
    }
    return std::vector<Json>();
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
  bool single_file_ = false;
  std::vector<FolderFile> files_;
  RecordBatch table_;
  std::string fingerprint_;
};

constexpr struct {
  std::string_view kind;
  std::string_view extensions;  // each between blanks
} kExtensions[] = {
    {"video",
     " mp4 m4v mov mkv webm avi ts m2ts mts mpg mpeg flv ogv 3gp mxf wmv "
     "h264 264 hevc 265 "},
    {"audio",
     " wav wave bwf rf64 flac mp3 m4a aac ogg oga opus aif aiff aifc caf ac3 "},
    {"image",
     " jpg jpeg png gif webp tif tiff svs bmp ppm pgm avif heic heif jp2 j2k "
     "apng dcm "},
    {"document", " pdf cbz "},
};

}  // namespace

std::string_view KindOfFile(std::string_view file_name) {
  const size_t dot = file_name.rfind('.');
  if (dot == file_name.npos) return "file";
  std::string key = " " + std::string(file_name.substr(dot + 1)) + " ";
  std::transform(key.begin(), key.end(), key.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  for (const auto& [kind, extensions] : kExtensions) {
    if (extensions.find(key) != extensions.npos) return kind;
  }
  return "file";
}

TableFormat FolderFormat() {
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
  format.open =
      [](const Location& location, std::string_view version,
         const OpenContext& context) -> Result<std::unique_ptr<TableSource>> {
    if (!version.empty() && version != "latest") {
      return Status(Code::kInvalidArgument, location.uri() +
                                                ": a folder has no version \"" +
                                                std::string(version) + "\"");
    }
    return FolderSource::Open(location, context);
  };
  return format;
}

}  // namespace rowfs
