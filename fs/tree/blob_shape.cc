#include "fs/tree/blob_shape.h"

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <string_view>

namespace rowfs {
namespace {

// Where writers declare what a blob column holds.
constexpr std::array<std::string_view, 4> kMediaTypeKeys = {
    "rowfs:media_type", "media_type", "mime_type", "content_type"};

std::optional<std::string> DeclaredMediaType(const Metadata& metadata) {
  for (const std::string_view key : kMediaTypeKeys) {
    for (const auto& [name, value] : metadata) {
      if (name == key && !value.empty()) return value;
    }
  }
  return {};
}

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

void UseFileType(FileType type, BlobShape* shape) {
  shape->extension = "." + std::string(type.extension);
  shape->media_type = type.media_type;
}

// The type and size of stored bytes that are a file as they are.
void LookAtBytes(const RowReader& reader, uint64_t row, const CellPath& path,
                 const BlobCell& cell, const Metadata& metadata,
                 BlobShape* shape) {
  const std::optional<std::string> declared = DeclaredMediaType(metadata);
  std::optional<FileType> type;
  if (declared) type = FileTypeOf(*declared);
  const std::string views = ViewsRule(metadata);
  const FileType unknown{"bin", "application/octet-stream"};
  if (views == "none" && cell.size) {
    UseFileType(type.value_or(unknown), shape);
    if (declared) shape->media_type = *declared;
    return;
  }
  // With blob_info the views say what it is; its bytes are not looked at.
  const bool may_index = reader.options.indexer != nullptr && !cell.info;
  if (type && cell.size && !may_index) {
    UseFileType(*type, shape);
    return;
  }
  Result<std::shared_ptr<const Blob>> blob = OpenCell(reader.dataset, cell);
  if (!blob.ok()) {
    UseFileType(type.value_or(unknown), shape);
    shape->size = cell.size.value_or(1);
    shape->error = blob.status().message();
    return;
  }
  shape->size = blob.value()->size();
  if (!type) {
    Bytes head(std::min(shape->size, kFileTypeHeadBytes));
    const Status read = blob.value()->ReadAt(0, head);
    if (!read.ok()) shape->error = read.message();
    type = read.ok() ? DetectFileType(head) : unknown;
  }
  UseFileType(*type, shape);
  if (declared) shape->media_type = *declared;
  if (!may_index || !shape->error.empty() || shape->size == 0) return;
  if (views == "by_magic" && type->extension == unknown.extension) return;
  Result<std::optional<MediaIndexer::Index>> index =
      reader.options.indexer->Find(row, path, blob.value(), *type);
  if (!index.ok()) {
    shape->error = index.status().message();
  } else if (index.value()) {
    const MediaIndexer::Index& found = *index.value();
    ListViews(found.plugin,
              MakePluginIndex(*found.plugin, found.info.stream_info,
                              found.info.entries, shape->size,
                              reader.options.plugin_config),
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

BlobShape DescribeBlob(const RowReader& reader, uint64_t row,
                       const CellPath& path, const BlobCell& cell,
                       const Metadata& metadata, bool indexed) {
  BlobShape shape;
  shape.size = cell.size.value_or(0);
  if (cell.info) UseInfo(reader, cell, &shape);
  const bool has_whole =
      std::any_of(shape.views.begin(), shape.views.end(),
                  [](const ViewEntry& view) { return view.is_whole; });
  if (has_whole) {
    shape.own_file = false;
  } else if (cell.info && !indexed) {
    // Stored bytes in a plugin's own order are no file anyone could play.
    shape.own_file = !shape.error.empty();
    shape.broken = shape.own_file;
    shape.extension = ".bin";
    shape.media_type = "application/octet-stream";
  } else {
    LookAtBytes(reader, row, path, cell, metadata, &shape);
  }
  return shape;
}

}  // namespace rowfs
