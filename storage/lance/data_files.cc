#include "storage/lance/data_files.h"

namespace rowfs {
namespace {

namespace pb = lance::pb;

// Open files: column metadata of some thousand columns each.
constexpr size_t kFilesMax = 256;
constexpr size_t kObjectsMax = 256;
constexpr uint64_t kTailBytes = 64 << 10;

Status Contradicts(const pb::DataFile& file, const std::string& message) {
  return Status(Code::kCorruption, "data file " + file.path() + ": " + message +
                                       ", which the manifest contradicts");
}

LanceFileVersion VersionOf(const pb::DataFile& file) {
  // Files of 2.0 call themselves 0.3.
  if (file.file_major_version() == 0) return {2, 0};
  return {static_cast<uint16_t>(file.file_major_version()),
          static_cast<uint16_t>(file.file_minor_version())};
}

// The field id of each column, by the file's own schema.
class FooterColumns {
 public:
  FooterColumns(const LanceSchema& schema, LanceFileVersion version)
      : every_field_(version.minor == 0) {
    for (const LanceField& field : schema.fields) Add(field);
  }

  const std::vector<int32_t>& ids() const { return ids_; }

 private:
  void Add(const LanceField& field) {
    // Up to 2.0 parents have columns too, in front of their children's.
    const bool whole =
        field.kind != LanceFieldKind::kPlain || field.children.empty();
    if (whole || every_field_) ids_.push_back(field.id);
    if (whole) return;
    for (const LanceField& child : field.children) Add(child);
  }

  const bool every_field_;
  std::vector<int32_t> ids_;
};

// A swapped column index of the same type would give another column's data.
Status CheckColumns(const pb::DataFile& file, const LanceFileReader& reader) {
  const FooterColumns footer(reader.schema(), reader.version());
  for (const auto& [id, column] : LiveColumns(file)) {
    if (column >= reader.column_count()) {
      return Contradicts(file, "has " + std::to_string(reader.column_count()) +
                                   " columns, none with index " +
                                   std::to_string(column));
    }
    // A footer whose schema does not account for the columns is no witness.
    if (footer.ids().size() != reader.column_count()) continue;
    const int32_t stored = footer.ids()[column];
    if (stored == id || stored < 0) continue;
    return Contradicts(file, "keeps field " + std::to_string(stored) +
                                 " in column " + std::to_string(column) +
                                 " instead of field " + std::to_string(id));
  }
  return {};
}

}  // namespace

ColumnMap LiveColumns(const pb::DataFile& file) {
  ColumnMap columns;
  for (int i = 0; i < file.fields_size(); ++i) {
    if (file.fields(i) < 0 || file.column_indices(i) < 0) continue;
    columns[file.fields(i)] = static_cast<uint32_t>(file.column_indices(i));
  }
  return columns;
}

DataFiles::DataFiles(const BasePaths& bases, const ReadContext& read)
    : bases_(bases), read_(read), files_(kFilesMax), objects_(kObjectsMax) {}

Result<std::shared_ptr<const ObjectReader>> DataFiles::OpenFirst(
    const std::vector<Location>& places) const {
  Status first;
  for (const Location& place : places) {
    auto reader = ObjectReader::Open(place, kTailBytes, read_, true);
    if (reader.ok()) return reader;
    if (first.ok()) first = reader.status();
    if (reader.status().code() != Code::kNotFound) break;
  }
  return first;
}

Result<std::shared_ptr<const LanceFileReader>> DataFiles::Open(
    const pb::DataFile& file, uint64_t physical_rows) {
  if (auto open = files_.Find(&file)) return open;
  const auto base = BaseOf(file);
  const std::string path = bases_.DataPath(base, file.path());
  ROWFS_ASSIGN_OR_RETURN(const auto places, bases_.Candidates(base, path));
  ROWFS_ASSIGN_OR_RETURN(auto object, OpenFirst(places));
  ROWFS_ASSIGN_OR_RETURN(auto reader,
                         LanceFileReader::Open(std::move(object), path));
  if (physical_rows != 0 && reader->row_count() != physical_rows) {
    return Contradicts(file,
                       "has " + std::to_string(reader->row_count()) + " rows");
  }
  const LanceFileVersion version = reader->version();
  if (version != VersionOf(file)) {
    return Contradicts(file, "has version " + std::to_string(version.major) +
                                 "." + std::to_string(version.minor));
  }
  ROWFS_RETURN_IF_ERROR(CheckColumns(file, *reader));
  return files_.Put(&file, std::move(reader));
}

Result<std::shared_ptr<const ObjectReader>> DataFiles::OpenObject(
    const Location& location) {
  const std::string key = location.uri();
  if (auto open = objects_.Find(key)) return open;
  ROWFS_ASSIGN_OR_RETURN(auto reader, ObjectReader::Open(location, 0, read_));
  return objects_.Put(key, std::move(reader));
}

Result<std::shared_ptr<const ObjectReader>> DataFiles::OpenSidecar(
    const Location& location) {
  const std::string key = location.uri();
  if (auto open = objects_.Find(key)) return open;
  ROWFS_ASSIGN_OR_RETURN(auto reader, ObjectReader::OpenLater(location, read_));
  return objects_.Put(key, std::move(reader));
}

Result<Location> DataFiles::Locate(std::optional<uint32_t> id,
                                   const std::string& path) {
  ROWFS_ASSIGN_OR_RETURN(const auto places, bases_.Candidates(id, path));
  if (places.size() == 1) return places.front();
  Status first;
  for (const Location& place : places) {
    // Opened to be kept: the caller is about to read it.
    const auto reader = OpenObject(place);
    if (reader.ok()) return place;
    if (first.ok()) first = reader.status();
    if (reader.status().code() != Code::kNotFound) break;
  }
  return first;
}

}  // namespace rowfs
