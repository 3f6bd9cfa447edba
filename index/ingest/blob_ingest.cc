#include "index/ingest/blob_ingest.h"

#include <algorithm>

namespace rowfs {
namespace {

constexpr uint64_t kCopyBytes = 4 << 20;
constexpr uint64_t kProbeBytes = 64 << 10;

// A failure of the plugin about these bytes, not of reading or writing: the
// blob stays as it is and the job goes on.
bool IsRefusal(const Status& status) {
  switch (status.code()) {
    case Code::kCorruption:
    case Code::kUnsupported:
    case Code::kNotFound:
    case Code::kOutOfRange:
    case Code::kResourceExhausted:
    case Code::kDeadlineExceeded:
    case Code::kInternal:
      return true;
    case Code::kOk:
    case Code::kInvalidArgument:
    case Code::kAlreadyExists:
    case Code::kChanged:
    case Code::kPermissionDenied:
    case Code::kUnavailable:
    case Code::kCancelled:
      return false;
  }
  return false;
}

}  // namespace

Result<std::vector<Plugin*>> BlobIngest::ChoosePlugins(
    const Blob& blob, const std::string& file_name) {
  std::vector<Plugin*> chosen;
  if (rule_.plugin == "none" || blob.size() == 0) return chosen;
  if (rule_.plugin != "auto") {
    Plugin* plugin = plugins_.FindByName(rule_.plugin);
    if (plugin == nullptr) {
      return Status(Code::kInvalidArgument,
                    "no plugin is named \"" + rule_.plugin + "\"");
    }
    chosen.push_back(plugin);
    return chosen;
  }
  Bytes head(std::min(kProbeBytes, blob.size()));
  ROWFS_RETURN_IF_ERROR(blob.ReadAt(0, head));
  return plugins_.RankByContent(head, file_name);
}

Result<StoredBlob> BlobIngest::Store(const Blob& blob,
                                     const std::string& file_name) {
  // What was ingested once is copied with its index, never demuxed again.
  if (blob.cell().info) {
    if (job_.layout == IndexLayout::kDescriptor) {
      return Copy(blob, blob.cell().info);
    }
    return Status(Code::kUnsupported,
                  "the blob is stored with blob_info; the column layout would "
                  "need its original bytes");
  }
  ROWFS_ASSIGN_OR_RETURN(const auto plugins, ChoosePlugins(blob, file_name));
  if (plugins.empty()) {
    ROWFS_ASSIGN_OR_RETURN(StoredBlob copy, Copy(blob, std::nullopt));
    // A folder names its columns by the kind its files claim to be.
    if (rule_.plugin == "auto" && blob.size() > 0 &&
        plugins_.FindByName(rule_.column) != nullptr) {
      copy.refusal = rule_.column + ": no plugin knows this content";
    }
    return copy;
  }
  // What the surest one says of it, if none takes it.
  std::string refusal;
  for (Plugin* plugin : plugins) {
    Result<StoredBlob> stored = job_.layout == IndexLayout::kDescriptor
                                    ? Demux(blob, *plugin, file_name)
                                    : Index(blob, *plugin, file_name);
    if (stored.ok() || !IsRefusal(stored.status())) return stored;
    if (refusal.empty()) refusal = stored.status().message();
    if (stored.status().code() != Code::kUnsupported) break;
  }
  ROWFS_ASSIGN_OR_RETURN(StoredBlob copy, Copy(blob, std::nullopt));
  copy.refusal = std::move(refusal);
  return copy;
}

Result<StoredBlob> BlobIngest::Copy(const Blob& blob,
                                    std::optional<BlobInfo> info) {
  ROWFS_ASSIGN_OR_RETURN(auto payload,
                         writer_.StartBlob(field_, info.has_value()));
  Bytes buffer;
  for (uint64_t at = 0; at < blob.size(); at += buffer.size()) {
    buffer.resize(std::min(kCopyBytes, blob.size() - at));
    ROWFS_RETURN_IF_ERROR(blob.ReadAt(at, buffer));
    ROWFS_RETURN_IF_ERROR(payload->Write(buffer));
  }
  StoredBlob stored;
  stored.info = info;
  stored.bytes_out = blob.size();
  ROWFS_ASSIGN_OR_RETURN(stored.cell, payload->Finish(std::move(info)));
  return stored;
}

IngestInput BlobIngest::InputOf(const Blob& blob,
                                const std::string& file_name) const {
  IngestInput input;
  input.size = blob.size();
  input.read_at = [&blob](uint64_t offset, MutableByteSpan out) {
    return blob.ReadAt(offset, out);
  };
  input.file_name = file_name;
  input.config = rule_.config;
  return input;
}

Result<StoredBlob> BlobIngest::Demux(const Blob& blob, Plugin& plugin,
                                     const std::string& file_name) {
  ROWFS_ASSIGN_OR_RETURN(auto payload, writer_.StartBlob(field_, true));
  IngestOptions options;
  options.layout = IngestOptions::Layout::kStored;
  options.verify = job_.verify;
  options.keep_container = job_.keep_container;
  StoredBlob stored;
  // A disk that is full is not the media's fault.
  Status write_error;
  const auto write = [&](ByteSpan bytes) {
    stored.bytes_out += bytes.size();
    write_error = payload->Write(bytes);
    return write_error;
  };
  Result<IngestOutput> output =
      plugin.Ingest(InputOf(blob, file_name), options, write);
  if (!output.ok()) {
    payload->Abandon();
    ROWFS_RETURN_IF_ERROR(write_error);
    return output.status();
  }
  BlobInfo info;
  info.blob_type = output.value().blob_type;
  info.stream_info =
      std::make_shared<const Bytes>(std::move(output.value().stream_info));
  info.entries =
      std::make_shared<const Bytes>(std::move(output.value().entries));
  stored.info = info;
  ROWFS_ASSIGN_OR_RETURN(stored.cell, payload->Finish(std::move(info)));
  return stored;
}

Result<StoredBlob> BlobIngest::Index(const Blob& blob, Plugin& plugin,
                                     const std::string& file_name) {
  IngestOptions options;
  options.layout = IngestOptions::Layout::kContainer;
  options.verify = job_.verify;
  ROWFS_ASSIGN_OR_RETURN(
      IngestOutput output,
      plugin.Ingest(InputOf(blob, file_name), options, [](ByteSpan) -> Status {
        return {Code::kInternal,
                "the plugin wrote a payload it must not write"};
      }));
  ROWFS_ASSIGN_OR_RETURN(StoredBlob stored, Copy(blob, std::nullopt));
  stored.info.emplace();
  stored.info->blob_type = output.blob_type;
  stored.info->stream_info =
      std::make_shared<const Bytes>(std::move(output.stream_info));
  stored.info->entries =
      std::make_shared<const Bytes>(std::move(output.entries));
  return stored;
}

}  // namespace rowfs
