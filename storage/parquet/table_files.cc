#include "storage/parquet/table_files.h"

#include <algorithm>
#include <deque>
#include <set>

#include "storage/base/json.h"
#include "storage/object/uri.h"

namespace rowfs {
namespace {

constexpr size_t kDepthMax = 32;
constexpr size_t kFilesMax = 1'000'000;
constexpr size_t kListingsToDetect = 64;
constexpr uint64_t kStateBytesMax = 64 << 20;
constexpr std::string_view kHiveNull = "__HIVE_DEFAULT_PARTITION__";

std::string_view BaseName(std::string_view path) {
  return path.substr(path.rfind('/') + 1);  // npos + 1 == 0
}

std::string_view Folder(std::string_view path) {
  const size_t slash = path.rfind('/');
  return slash == path.npos ? "" : path.substr(0, slash);
}

bool IsTableFile(std::string_view path, FileKind kind) {
  const std::string_view name = BaseName(path);
  // What Spark, Hive and folders of media put beside the rows.
  if (name.starts_with('_') || name.starts_with('.')) return false;
  if (name == "metadata.parquet" || name.starts_with("cache-")) return false;
  return KindOfTableFile(name) == kind;
}

bool IsHidden(const ListEntry& entry) {
  return entry.name.starts_with('.') || entry.name.starts_with('_') ||
         (entry.is_directory && entry.name.ends_with(".lance"));
}

// All table files below `folder`, and the folders save_to_disk wrote.
class Walker {
 public:
  Walker(const Location& root, FileKind kind) : root_(root), kind_(kind) {}

  Status Walk(const std::string& below, size_t depth) {
    if (depth > kDepthMax) {
      return {Code::kResourceExhausted,
              root_.uri() + ": folders nested too deeply"};
    }
    const Location here = below.empty() ? root_ : root_.Join(below);
    ROWFS_ASSIGN_OR_RETURN(const std::vector<ListEntry> entries,
                           here.store->List(here.path));
    for (const ListEntry& entry : entries) {
      if (IsHidden(entry)) continue;
      const std::string path =
          below.empty() ? entry.name : below + "/" + entry.name;
      if (entry.is_directory) {
        ROWFS_RETURN_IF_ERROR(Walk(path, depth + 1));
      } else if (entry.name == "state.json") {
        saved_.insert(below);
      } else if (IsTableFile(path, kind_)) {
        if (files_.size() == kFilesMax) {
          return {Code::kResourceExhausted, root_.uri() + ": too many files"};
        }
        files_.push_back({path, entry.meta, {}});
      }
    }
    return {};
  }

  std::vector<TableFile>& files() { return files_; }
  const std::set<std::string>& saved() const { return saved_; }

 private:
  const Location& root_;
  const FileKind kind_;
  std::vector<TableFile> files_;
  std::set<std::string> saved_;
};

// The files that stand at the best place.
std::vector<TableFile> Choose(std::vector<TableFile> files) {
  const auto keep = [&](auto wanted) {
    std::vector<TableFile> kept;
    std::copy_if(files.begin(), files.end(), std::back_inserter(kept), wanted);
    return kept;
  };
  for (const auto& wanted :
       {+[](const TableFile& file) { return Folder(file.path).empty(); },
        +[](const TableFile& file) { return file.path.starts_with("data/"); },
        +[](const TableFile& file) {
          return file.path.starts_with("tables/");
        }}) {
    std::vector<TableFile> kept = keep(wanted);
    if (!kept.empty()) return kept;
  }
  return files;
}

std::optional<std::vector<std::string>> Texts(const Json* list,
                                              std::string_view member) {
  if (list == nullptr || list->kind != Json::Kind::kArray) return {};
  std::vector<std::string> texts;
  for (const Json& item : list->items) {
    const Json* text = member.empty() ? &item : item.Find(member);
    if (text == nullptr || text->kind != Json::Kind::kString) return {};
    texts.push_back(text->text);
  }
  return texts;
}

Result<Json> ReadJson(const Location& location) {
  ROWFS_ASSIGN_OR_RETURN(const Bytes bytes,
                         ReadWhole(location, kStateBytesMax));
  Result<Json> json = ParseJson(AsText(bytes));
  if (!json.ok()) return json.status().With(location.uri());
  return json;
}

// Keep of a saved folder's files what its state.json lists, in that order.
Status OrderSaved(const Location& root, const std::string& folder,
                  std::vector<TableFile>* files) {
  const Location here = folder.empty() ? root : root.Join(folder);
  const Location state = here.Join("state.json");
  ROWFS_ASSIGN_OR_RETURN(const Json json, ReadJson(state));
  const auto names = Texts(json.Find("_data_files"), "filename");
  if (!names) return {};  // not what save_to_disk writes
  std::vector<TableFile> ordered;
  for (const std::string& name : *names) {
    const std::string path = folder.empty() ? name : folder + "/" + name;
    const auto found =
        std::find_if(files->begin(), files->end(),
                     [&](const TableFile& file) { return file.path == path; });
    if (found == files->end()) {
      return {Code::kNotFound,
              state.uri() + ": names " + name + ", which is not there"};
    }
    ordered.push_back(*found);
  }
  std::erase_if(*files, [&](const TableFile& file) {
    return Folder(file.path) == folder;
  });
  files->insert(files->end(), ordered.begin(), ordered.end());
  return {};
}

void AddPartitions(TableFile* file) {
  std::string_view rest = Folder(file->path);
  while (!rest.empty()) {
    const size_t end = std::min(rest.find('/'), rest.size());
    const std::string_view part = rest.substr(0, end);
    rest = rest.substr(std::min(end + 1, rest.size()));
    const size_t equals = part.find('=');
    if (equals == part.npos || equals == 0) continue;
    const auto decoded = PercentDecode(part.substr(equals + 1));
    std::optional<std::string> value =
        decoded.ok() ? decoded.value() : std::string(part.substr(equals + 1));
    if (*value == kHiveNull) value.reset();
    file->values.emplace_back(part.substr(0, equals), std::move(value));
  }
}

// "train-00000-of-00002.parquet", "train/0000.parquet": "train"; empty when the
// path says nothing.
std::string SplitOf(std::string_view path, bool by_folder) {
  if (by_folder) return std::string(BaseName(Folder(path)));
  const std::string_view name = BaseName(path);
  const size_t of = name.find("-of-");
  const size_t dash =
      of == name.npos || of == 0 ? name.npos : name.rfind('-', of - 1);
  if (dash == name.npos || dash == 0 ||
      name.substr(dash + 1, of - dash - 1).find_first_not_of("0123456789") !=
          name.npos) {
    return {};
  }
  return std::string(name.substr(0, dash));
}

// Say which split a file belongs to, where there is more than one.
void AddSplits(bool by_folder, std::vector<TableFile>* files) {
  std::set<std::string> splits;
  for (const TableFile& file : *files) {
    splits.insert(SplitOf(file.path, by_folder));
  }
  if (splits.size() < 2 || splits.contains("")) return;
  for (TableFile& file : *files) {
    file.values.emplace_back("split", SplitOf(file.path, by_folder));
  }
}

// Order the splits as dataset_dict.json lists them.
Status OrderSplits(const Location& root, std::vector<TableFile>* files) {
  const Location location = root.Join("dataset_dict.json");
  if (!location.store->Stat(location.path).ok()) return {};
  ROWFS_ASSIGN_OR_RETURN(const Json json, ReadJson(location));
  const auto splits = Texts(json.Find("splits"), "");
  if (!splits) return {};
  const auto rank = [&](const TableFile& file) {
    return std::find(splits->begin(), splits->end(),
                     std::string(Folder(file.path))) -
           splits->begin();
  };
  std::stable_sort(files->begin(), files->end(),
                   [&](const TableFile& a, const TableFile& b) {
                     return rank(a) < rank(b);
                   });
  return {};
}

}  // namespace

std::optional<FileKind> KindOfTableFile(std::string_view path) {
  path = path.substr(0, path.find_first_of("?#"));
  for (const std::string_view end : {".parquet", ".pq"}) {
    if (path.ends_with(end)) return FileKind::kParquet;
  }
  for (const std::string_view end : {".arrow", ".feather", ".ipc"}) {
    if (path.ends_with(end)) return FileKind::kArrow;
  }
  return {};
}

Result<std::optional<FileKind>> DetectFile(const Location& location) {
  const std::optional<FileKind> named = KindOfTableFile(location.path);
  const auto meta = location.store->Stat(location.path);
  if (!meta.ok()) {
    if (meta.status().code() == Code::kNotFound) {
      return std::optional<FileKind>();
    }
    return meta.status();
  }
  if (named) return named;
  const std::string_view name = BaseName(location.path);
  if (name.find('.') != name.npos || meta.value().size < 12) {
    return std::optional<FileKind>();
  }
  Bytes head(6);
  ROWFS_RETURN_IF_ERROR(
      location.store->ReadAt({location.path, meta.value().etag}, 0, head));
  std::optional<FileKind> kind;
  if (AsText(head).starts_with("PAR1")) kind = FileKind::kParquet;
  if (AsText(head) == "ARROW1") kind = FileKind::kArrow;
  return kind;
}

Result<std::optional<FileKind>> DetectFolder(const Location& location) {
  std::deque<std::string> folders = {""};
  for (size_t i = 0; i < kListingsToDetect && !folders.empty(); ++i) {
    const std::string below = folders.front();
    folders.pop_front();
    const Location here = below.empty() ? location : location.Join(below);
    const auto entries = here.store->List(here.path);
    if (!entries.ok()) {
      if (entries.status().code() == Code::kNotFound) {
        return std::optional<FileKind>();
      }
      return entries.status();
    }
    std::optional<FileKind> kind;
    for (const ListEntry& entry : entries.value()) {
      if (IsHidden(entry)) continue;
      if (entry.is_directory) {
        folders.push_back(below.empty() ? entry.name
                                        : below + "/" + entry.name);
      } else if (IsTableFile(entry.name, FileKind::kParquet)) {
        kind = FileKind::kParquet;
      } else if (!kind && IsTableFile(entry.name, FileKind::kArrow)) {
        kind = FileKind::kArrow;
      }
    }
    if (kind) return kind;
  }
  return std::optional<FileKind>();
}

Result<std::vector<TableFile>> ListTableFiles(const Location& location,
                                              FileKind kind) {
  Walker walker(location, kind);
  ROWFS_RETURN_IF_ERROR(walker.Walk("", 0));
  std::vector<TableFile> files = Choose(std::move(walker.files()));
  std::sort(
      files.begin(), files.end(),
      [](const TableFile& a, const TableFile& b) { return a.path < b.path; });
  const bool saved = kind == FileKind::kArrow && !walker.saved().empty();
  if (saved) {
    for (const std::string& folder : walker.saved()) {
      ROWFS_RETURN_IF_ERROR(OrderSaved(location, folder, &files));
    }
    ROWFS_RETURN_IF_ERROR(OrderSplits(location, &files));
  }
  if (files.empty()) {
    return Status(Code::kNotFound,
                  location.uri() + ": no Parquet or Arrow files in there");
  }
  for (TableFile& file : files) AddPartitions(&file);
  AddSplits(saved, &files);
  return files;
}

}  // namespace rowfs
