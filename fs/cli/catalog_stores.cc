#include "fs/cli/catalog_stores.h"

#include <algorithm>

namespace rowfs {
namespace {

constexpr uint64_t kProbeBytes = 64 << 10;

// Names the blob within the snapshot.
std::string KeyOf(uint64_t row, const CellPath& path) {
  std::string key = std::to_string(row) + "/" + std::to_string(path.column);
  for (const uint32_t step : path.steps) key += "/" + std::to_string(step);
  return key;
}

// What will be the same at the next try; a store that is away for a while is
// not.
bool IsLasting(Code code) {
  return code == Code::kCorruption || code == Code::kUnsupported ||
         code == Code::kResourceExhausted;
}

}  // namespace

Result<IndexedMedia> CatalogIndexer::Build(const Blob& blob, FileType type) {
  IndexedMedia media;
  Bytes head(std::min(kProbeBytes, blob.size()));
  ROWFS_RETURN_IF_ERROR(blob.ReadAt(0, head));
  const std::string name = "blob." + std::string(type.extension);
  ROWFS_ASSIGN_OR_RETURN(Plugin * plugin, plugins_.FindByContent(head, name));
  if (plugin == nullptr) return media;
  media.plugin = plugin->name();
  media.plugin_version = plugin->version();
  IngestInput input;
  input.size = blob.size();
  input.read_at = [&blob](uint64_t offset, MutableByteSpan out) {
    return blob.ReadAt(offset, out);
  };
  input.file_name = name;
  IngestOptions options;
  options.layout = IngestOptions::Layout::kContainer;
  options.verify = IngestOptions::Verify::kOff;
  Result<IngestOutput> output =
      plugin->Ingest(input, options, [](ByteSpan) -> Status {
        return {Code::kInternal,
                "the plugin wrote a payload it must not write"};
      });
  if (!output.ok()) {
    if (!IsLasting(output.status().code())) return output.status();
    media.code = output.status().code();
    media.message = output.status().message();
    return media;
  }
  media.blob_type = output.value().blob_type;
  media.stream_info = std::move(output.value().stream_info);
  media.entries = std::move(output.value().entries);
  return media;
}

Result<std::optional<MediaIndexer::Index>> CatalogIndexer::Find(
    uint64_t row, const CellPath& path, const std::shared_ptr<const Blob>& blob,
    FileType type) {
  if (blob->size() == 0) return std::optional<Index>();
  const std::string key = KeyOf(row, path);
  std::optional<IndexedMedia> media = catalog_.FindMedia(key);
  // An index that another release of the plugin wrote is made again.
  if (media && !media->plugin.empty()) {
    const Plugin* plugin = plugins_.FindByName(media->plugin);
    if (plugin == nullptr || plugin->version() != media->plugin_version) {
      media.reset();
    }
  }
  if (!media) {
    ROWFS_ASSIGN_OR_RETURN(media, Build(*blob, type));
    catalog_.PutMedia(key, *media);
  }
  if (media->code != Code::kOk) return Status(media->code, media->message);
  if (media->plugin.empty()) return std::optional<Index>();
  Index index;
  index.plugin = plugins_.FindByName(media->plugin);
  index.info.blob_type = media->blob_type;
  index.info.stream_info =
      std::make_shared<const Bytes>(std::move(media->stream_info));
  index.info.entries = std::make_shared<const Bytes>(std::move(media->entries));
  return std::optional<Index>(std::move(index));
}

}  // namespace rowfs
