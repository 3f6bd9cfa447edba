#include "index/plugins/image/ingest.h"

#include <algorithm>
#include <string>
#include <utility>

#include "index/plugins/common/emit.h"
#include "index/plugins/image/formats.h"
#include "index/plugins/image/jpeg_file.h"
#include "index/plugins/image/probe.h"
#include "index/plugins/image/views.h"

namespace rowfs::plugin {
namespace {

constexpr uint64_t kCopyBytes = 4 << 20;

Status Write(const rowfs_sink& sink, ByteSpan bytes, const char* what) {
  if (bytes.empty()) return {};
  const int32_t code = sink.write(sink.ctx, bytes.data(), bytes.size());
  if (code != ROWFS_OK) return Status(code, std::string("writing ") + what);
  return {};
}

Status IndexFile(ByteSource* file, ImageIndex* index) {
  const uint64_t size = std::min<uint64_t>(file->size(), 132);
  PLUGIN_ASSIGN_OR_RETURN(const Bytes head, file->Read(0, size, size));
  switch (FamilyOf(head)) {
    case ImageFamily::kTiff:
      return IndexTiff(file, index);
    case ImageFamily::kPng:
      return IndexPng(file, index);
    case ImageFamily::kWebp:
      return IndexWebp(file, index);
    case ImageFamily::kGif:
      return IndexGif(file, index);
    case ImageFamily::kJpeg:
      return IndexJpeg(file, index);
    case ImageFamily::kHeif:
      return IndexHeif(file, index);
    case ImageFamily::kJp2:
      return IndexJp2(file, index);
    case ImageFamily::kPlain:
      return IndexPlain(file, index);
    case ImageFamily::kDicom:
      return IndexDicom(file, index);
    case ImageFamily::kNone:
      break;
  }
  return Unsupported("no picture format that is known here");
}

void FillHead(uint64_t blob_size, bool stored, ImageIndex* index) {
  ImageHead& head = index->head;
  head.layout = stored ? StoredLayout::kStored : StoredLayout::kContainer;
  head.blob_size = blob_size;
  head.page_count = static_cast<uint32_t>(index->pages.size());
  head.tiled = index->raster_of(index->pages[0]).tiled;
  head.frame_count = static_cast<uint32_t>(index->animation.frames.size());
  // One picture alone moves nothing.
  if (head.frame_count < 2 && index->animation.kind == AnimationKind::kNone) {
    head.frame_count = 0;
  }
  if (head.pages_are_frames) head.frame_count = head.page_count;
}

// The payload of a JPEG file: the same picture with restart markers, which is
// checked to decode to the same pixels. Empty when it stays as it is.
Bytes MakeBands(ByteSource* file, bool verify, ImageIndex* index) {
  ImageIndex bands;
  bands.format = index->format;
  bands.head = index->head;
  const auto marked = AddRestarts(file);
  if (!marked.ok() || !IndexBands(marked.value(), &bands).ok()) return {};
  if (verify) {
    const auto before = file->Read(0, file->size(), file->size());
    if (!before.ok()) return {};
    const auto old_pixels = DecodeJpeg(before.value(), false);
    const auto new_pixels = DecodeJpeg(marked.value(), false);
    if (!old_pixels.ok() || !new_pixels.ok() ||
        old_pixels.value().samples != new_pixels.value().samples) {
      return {};
    }
  }
  *index = std::move(bands);
  return marked.value();
}

std::string ExtensionOf(std::string_view file_name, std::string missing) {
  const size_t point = file_name.rfind('.');
  if (point == std::string_view::npos) return missing;
  const std::string extension(file_name.substr(point + 1));
  const bool plain =
      std::all_of(extension.begin(), extension.end(), [](char c) {
        return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
               (c >= 'A' && c <= 'Z');
      });
  return plain && !extension.empty() && extension.size() <= 8 ? extension
                                                              : missing;
}

Status CopyFile(ByteSource* file, const rowfs_sink& sink) {
  for (uint64_t at = 0; at < file->size();) {
    const uint64_t size = std::min(kCopyBytes, file->size() - at);
    PLUGIN_ASSIGN_OR_RETURN(const Bytes bytes,
                            file->Read(at, size, kCopyBytes));
    PLUGIN_RETURN_IF_ERROR(Write(sink, bytes, "the payload"));
    at += size;
  }
  return {};
}

// Write the payload; how large it is.
Result<uint64_t> WritePayload(const rowfs_ingest_request& request,
                              ByteSource* file, ImageIndex* index) {
  Bytes bands;
  if (index->raster_of(index->pages.at(0)).codec == RasterCodec::kJpeg) {
    bands = MakeBands(file, request.verify != ROWFS_VERIFY_OFF, index);
  }
  ImageHead& head = index->head;
  head.whole_size = bands.empty() ? file->size() : bands.size();
  uint64_t size = head.whole_size;
  const bool keep = request.keep_container != 0;
  if (keep) {
    head.original_extension =
        ExtensionOf(FromStr(request.file_name), head.extension);
    head.original_size = file->size();
    head.original_offset = bands.empty() ? 0 : bands.size();
  }
  PLUGIN_RETURN_IF_ERROR(Write(request.payload, bands, "the payload"));
  if (bands.empty() || keep) {
    PLUGIN_RETURN_IF_ERROR(CopyFile(file, request.payload));
    if (!bands.empty()) size += file->size();
  }
  return size;
}

}  // namespace

Status IngestImage(const rowfs_ingest_request& request) {
  if (request.layout != ROWFS_LAYOUT_STORED &&
      request.layout != ROWFS_LAYOUT_CONTAINER) {
    return Invalid("unknown layout");
  }
  const bool stored = request.layout == ROWFS_LAYOUT_STORED;
  ByteSource file(request.input);
  ImageIndex index;
  PLUGIN_RETURN_IF_ERROR(IndexFile(&file, &index));
  if (index.pages.empty()) return Corrupt("it holds no picture");
  uint64_t blob_size = file.size();
  if (stored) {
    PLUGIN_ASSIGN_OR_RETURN(blob_size, WritePayload(request, &file, &index));
  }
  FillHead(blob_size, stored, &index);
  PLUGIN_RETURN_IF_ERROR(CheckImageIndex(index));
  index.head.info_size = ImageInfoJson(index).size();
  const EncodedImageIndex encoded = EncodeImageIndex(index);
  PLUGIN_RETURN_IF_ERROR(
      Write(request.stream_info, encoded.stream_info, "stream_info"));
  return Write(request.entries, encoded.entries, "entries");
}

}  // namespace rowfs::plugin
