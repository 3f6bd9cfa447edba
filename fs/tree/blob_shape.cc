#include "fs/tree/blob_shape.h"

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "storage/base/no_wait.h"

namespace rowfs {
namespace {

// Where writers declare what a blob column holds.
constexpr std::array<std::string_view, 4> kMediaTypeKeys = {
    "rowfs:media_type", "media_type", "mime_type", "content_type"};

constexpr FileType kUnknownType = {"bin", kPlainBytesType};

std::string ViewsRule(const Metadata& metadata) {
  for (const auto& [name, value] : metadata) {
    if (name == kViewsKey) return value;
  }
  return {};
}

void ListViews(Plugin* plugin, const PluginIndex& index, BlobShape* shape) {
  Result<std::vector<ViewEntry>> views =
      plugin->List(index, "", 0, kBlobViewsMax);
  if (!views.ok()) {
    shape->error = views.status().message();
    return;
  }
  // The names become parts of file names, so nothing else may be in them.
  for (ViewEntry& view : views.value()) {
    const bool good = view.name.size() > 1 && view.name.size() <= 64 &&
                      view.name[0] == '.' &&
                      view.name.find('/') == std::string::npos &&
                      view.name.find('\0') == std::string::npos;
    if (good) shape->views.push_back(std::move(view));
  }
}

// Views of a blob whose index came with it.
void UseInfo(const RowReader& reader, const BlobCell& cell, BlobShape* shape) {
  const BlobInfo& info = *cell.info;
  Plugin* plugin = info.stream_info
                       ? reader.plugins.FindByMagic(*info.stream_info)
                       : nullptr;
  if (plugin == nullptr) {
    shape->error = "no plugin reads this blob's blob_info";
    return;
  }
  ListViews(
      plugin,
      MakePluginIndex(*plugin, info.stream_info,
                      info.head_only ? nullptr : info.entries,
                      cell.size.value_or(0), reader.options.plugin_config),
      shape);
}

// Whether what failed so is the network's fault and passes.
bool Passes(Code code) {
  return code == Code::kUnavailable || code == Code::kDeadlineExceeded ||
         code == Code::kCancelled;
}

// Whether a server that answered so may answer otherwise another time.
bool MayPass(Code code) {
  return code == Code::kPermissionDenied || code == Code::kUnsupported ||
         code == Code::kChanged;
}

void UseFileType(FileType type, BlobShape* shape) {
  shape->extension = "." + std::string(type.extension);
  shape->media_type = type.media_type;
}

// The type and size of stored bytes that are a file as they are.
void LookAtBytes(const RowReader& reader, const BlobPlace& place,
                 const BlobCell& cell, BlobShape* shape) {
  const std::optional<std::string> declared = DeclaredMediaType(place.metadata);
  std::optional<FileType> type;
  if (declared) type = FileTypeOf(*declared);
  const bool named = reader.paths_only && !place.file_name.empty();
  const bool opaque = ViewsRule(place.metadata) == kViewsNone && cell.size;
  if ((type && cell.size) || named || opaque) {
    UseFileType(type.value_or(kUnknownType), shape);
    if (declared) shape->media_type = *declared;
    return;
  }
  Result<std::shared_ptr<const Blob>> blob = OpenCell(reader.dataset, cell);
  if (!blob.ok()) {
    UseFileType(type.value_or(kUnknownType), shape);
    shape->size = cell.size.value_or(1);
    shape->error = blob.status().message();
    if (Passes(blob.status().code())) shape->failure = blob.status();
    return;
  }
  shape->size = blob.value()->size();
  if (!type) {
    Bytes head(std::min(shape->size, kFileTypeHeadBytes));
    const Status read = blob.value()->ReadAt(0, head);
    if (!read.ok()) shape->error = read.message();
    if (Passes(read.code())) shape->failure = read;
    shape->unsure = MayPass(read.code());
    type = read.ok() ? DetectFileType(head) : kUnknownType;
  }
  UseFileType(*type, shape);
  if (declared) shape->media_type = *declared;
}

// Views of stored bytes: those that were found in them before, else those that
// files of this name usually have.
void FindLateViews(const RowReader& reader, const BlobPlace& place,
                   BlobShape* shape) {
  if (reader.options.indexer == nullptr || !shape->error.empty()) return;
  const std::string rule = ViewsRule(place.metadata);
  if (rule == kViewsNone) return;
  if (rule == kViewsByMagic && shape->media_type == kUnknownType.media_type)
    return;
  shape->late_views = shape->size > 0 || reader.paths_only;
  if (!shape->late_views || shape->extension.size() < 2) return;
  if (rule == kViewsByName) return;
  std::string extension = shape->extension.substr(1);
  for (char& c : extension) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  shape->views = reader.plugins.ForeseeViews(extension);
  shape->foreseen = true;
  // The catalog is a file, and asking a plugin takes time.
  if (NoWaitScope::Active() && !shape->views.empty()) {
    shape->error = NoWaitScope::Refuse().message();
    return;
  }
  for (const ViewEntry& view : shape->views) {
    shape->reserved.push_back(view.name);
  }
  // Single pictures: whoever wants their views asks by name.
  if (shape->views.empty() || reader.paths_only) return;
  const auto known =
      reader.options.indexer->Known({reader.snapshot, place.row, place.path});
  if (!known) {
    if (!reader.options.list_unindexed) shape->views.clear();
  } else if (!known->ok()) {
    shape->error = known->status().message();
  } else if (known->value()) {
    const MediaIndexer::Index& found = *known->value();
    shape->views.clear();
    shape->foreseen = false;
    ListViews(found.plugin,
              MakePluginIndex(*found.plugin, found.info.stream_info, nullptr,
                              shape->size, reader.options.plugin_config),
              shape);
  }
}

}  // namespace

Result<std::shared_ptr<const Blob>> OpenCell(const Dataset& dataset,
                                             const BlobCell& cell) {
  BlobSource source;
  if (cell.bytes) {
    source.bytes = cell.bytes;
  } else {
    ROWFS_ASSIGN_OR_RETURN(source, dataset.table().OpenBlob(cell));
  }
  return std::make_shared<const Blob>(cell, std::move(source));
}

std::optional<std::string> DeclaredMediaType(const Metadata& metadata) {
  for (const std::string_view key : kMediaTypeKeys) {
    for (const auto& [name, value] : metadata) {
      if (name == key && !value.empty()) return value;
    }
  }
  return {};
}

std::pair<std::string, std::string> SplitExtension(const std::string& name) {
  const size_t dot = name.rfind('.');
  if (dot == std::string::npos || dot == 0 || dot + 1 == name.size()) {
    return {name, ""};
  }
  return {name.substr(0, dot), name.substr(dot)};
}

BlobShape DescribeBlob(const RowReader& reader, const BlobPlace& place,
                       const BlobCell& cell) {
  BlobShape shape;
  shape.size = cell.size.value_or(0);
  if (cell.info) UseInfo(reader, cell, &shape);
  const bool has_whole =
      std::any_of(shape.views.begin(), shape.views.end(),
                  [](const ViewEntry& view) { return view.is_whole; });
  if (has_whole) {
    shape.own_file = false;
  } else if (cell.info && !place.indexed) {
    // Stored bytes in a plugin's own order are no file anyone could play.
    shape.own_file = !shape.error.empty();
    shape.broken = shape.own_file;
    shape.extension = ".bin";
    shape.media_type = "application/octet-stream";
  } else {
    LookAtBytes(reader, place, cell, &shape);
    if (!place.file_name.empty()) {
      shape.extension = SplitExtension(std::string(place.file_name)).second;
    }
    if (!cell.info) FindLateViews(reader, place, &shape);
  }
  return shape;
}

}  // namespace rowfs
