#include "index/plugins/image/ingest.h"

#include <algorithm>
#include <string>
#include <utility>

#include "index/plugins/common/emit.h"
#include "index/plugins/image/formats.h"
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
    case ImageFamily::kHeif:
    case ImageFamily::kJp2:
    case ImageFamily::kPlain:
    case ImageFamily::kDicom:
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
  if (stored && head.whole_size == 0) head.whole_size = blob_size;
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
  if (stored) {
    for (uint64_t at = 0; at < file.size();) {
      const uint64_t size = std::min(kCopyBytes, file.size() - at);
      PLUGIN_ASSIGN_OR_RETURN(const Bytes bytes,
                              file.Read(at, size, kCopyBytes));
      PLUGIN_RETURN_IF_ERROR(Write(request.payload, bytes, "the payload"));
      at += size;
    }
  }
  FillHead(file.size(), stored, &index);
  PLUGIN_RETURN_IF_ERROR(CheckImageIndex(index));
  index.head.info_size = ImageInfoJson(index).size();
  const EncodedImageIndex encoded = EncodeImageIndex(index);
  PLUGIN_RETURN_IF_ERROR(
      Write(request.stream_info, encoded.stream_info, "stream_info"));
  return Write(request.entries, encoded.entries, "entries");
}

}  // namespace rowfs::plugin
