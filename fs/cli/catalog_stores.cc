#include "fs/cli/catalog_stores.h"

#include <algorithm>

namespace rowfs {
namespace {

constexpr uint64_t kProbeBytes = 64 << 10;

// What will be the same at the next try; a store that is away for a while is
// not.
bool IsLasting(Code code) {
  return code == Code::kCorruption || code == Code::kUnsupported ||
         code == Code::kResourceExhausted;
}

// What the store is to blame for, not the bytes.
bool IsStores(Code code) {
  return code == Code::kUnavailable || code == Code::kDeadlineExceeded ||
         code == Code::kCancelled || code == Code::kPermissionDenied ||
         code == Code::kChanged;
}

}  // namespace

Catalogs OpenCatalogs(const Session& session, const Dataset& dataset,
                      const std::string& index_file) {
  const std::string fingerprint = dataset.table().fingerprint();
  Catalogs catalogs;
  const std::string& folder = session.cache_directory();
  catalogs.own = Catalog::Open(
      folder.empty() ? "" : CatalogPath(folder, fingerprint), fingerprint);
  std::string beside = index_file;
  if (beside.empty()) {
    std::string path = SplitVersion(dataset.source()).first;
    if (path.starts_with("file://")) path.erase(0, 7);
    while (path.size() > 1 && path.back() == '/') path.pop_back();
    if (path.find("://") == path.npos) {
      beside = path + std::string(kIndexSuffix);
    }
  }
  if (!beside.empty()) catalogs.lent = Catalog::OpenLent(beside, fingerprint);
  return catalogs;
}

std::string MediaKey(const MediaIndexer::Place& place) {
  std::string key;
  if (place.snapshot != 0) key = std::to_string(place.snapshot) + ":";
  key += std::to_string(place.row) + "/" + std::to_string(place.path.column);
  for (const uint32_t step : place.path.steps) {
    key += "/" + std::to_string(step);
  }
  return key;
}

Result<IndexedMedia> CatalogIndexer::Build(const Blob& blob, FileType type) {
  IndexedMedia media;
  Bytes head(std::min(kProbeBytes, blob.size()));
  ROWFS_RETURN_IF_ERROR(blob.ReadAt(0, head));
  const std::string name = "blob." + std::string(type.extension);
  ROWFS_ASSIGN_OR_RETURN(const auto plugins,
                         plugins_.RankByContent(head, name));
  for (Plugin* plugin : plugins) {
    ROWFS_ASSIGN_OR_RETURN(IndexedMedia built, BuildWith(*plugin, blob, name));
    // What the surest one says of it, if none takes it.
    if (built.code == Code::kOk || media.plugin.empty()) {
      media = std::move(built);
    }
    if (media.code != Code::kUnsupported) break;
  }
  return media;
}

Result<IndexedMedia> CatalogIndexer::BuildWith(Plugin& plugin, const Blob& blob,
                                               const std::string& name) {
  IndexedMedia media;
  media.plugin = plugin.name();
  media.plugin_version = plugin.version();
  IngestInput input;
  input.size = blob.size();
  // What a demuxer makes of bytes that could not be read says nothing about
  // them.
  Mutex mu;
  Status unread;
  input.read_at = [&](uint64_t offset, MutableByteSpan out) {
    const Status status = blob.ReadAt(offset, out);
    const MutexLock lock(mu);
    if (IsStores(status.code())) unread = status;
    return status;
  };
  input.file_name = name;
  IngestOptions options;
  options.layout = IngestOptions::Layout::kContainer;
  options.verify = blob.size() <= verify_bytes_max_
                       ? IngestOptions::Verify::kKeys
                       : IngestOptions::Verify::kOff;
  Result<IngestOutput> output =
      plugin.Ingest(input, options, [](ByteSpan) -> Status {
        return {Code::kInternal,
                "the plugin wrote a payload it must not write"};
      });
  ROWFS_RETURN_IF_ERROR(unread);
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

Result<std::optional<MediaIndexer::Index>> CatalogIndexer::IndexOf(
    IndexedMedia media) {
  if (media.code != Code::kOk) return Status(media.code, media.message);
  if (media.plugin.empty()) return std::optional<Index>();
  Index index;
  index.plugin = plugins_.FindByName(media.plugin);
  index.info.blob_type = media.blob_type;
  index.info.stream_info =
      std::make_shared<const Bytes>(std::move(media.stream_info));
  index.info.entries = std::make_shared<const Bytes>(std::move(media.entries));
  return std::optional<Index>(std::move(index));
}

std::optional<Result<std::optional<MediaIndexer::Index>>> CatalogIndexer::Known(
    const Place& place) {
  const std::string key = MediaKey(place);
  std::optional<IndexedMedia> media =
      catalogs_.First([&](Catalog& catalog) -> std::optional<IndexedMedia> {
        std::optional<IndexedMedia> found = catalog.FindMedia(key);
        if (!found || found->plugin.empty()) return found;
        // An index that another release of the plugin wrote is made again.
        const Plugin* plugin = plugins_.FindByName(found->plugin);
        if (plugin == nullptr || plugin->version() != found->plugin_version) {
          return {};
        }
        return found;
      });
  if (!media) return {};
  return IndexOf(*std::move(media));
}

Result<std::optional<MediaIndexer::Index>> CatalogIndexer::Find(
    const Place& place, const std::shared_ptr<const Blob>& blob,
    FileType type) {
  if (blob->size() == 0) return std::optional<Index>();
  if (auto known = Known(place)) return *std::move(known);
  ROWFS_ASSIGN_OR_RETURN(IndexedMedia media, Build(*blob, type));
  catalogs_.own->PutMedia(MediaKey(place), media);
  return IndexOf(std::move(media));
}

}  // namespace rowfs
