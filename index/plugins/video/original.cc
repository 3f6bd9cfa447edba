// The source file out of the blob: packets where they are stored anyway, and
// the bytes between them, which the payload holds behind everything else.
#include <algorithm>

#include "index/plugins/video/container.h"

namespace rowfs::plugin {
namespace {

constexpr size_t kCopyBytes = size_t{1} << 20;
// Shorter packets cost more in the recipe than their bytes do.
constexpr uint64_t kPieceMin = 32;

void AddRange(BlobRange range, std::vector<BlobRange>* ranges) {
  if (range.size() == 0) return;
  if (!ranges->empty() && ranges->back().end == range.begin) {
    ranges->back().end = range.end;
  } else {
    ranges->push_back(range);
  }
}

}  // namespace

Result<std::vector<BlobRange>> KeepContainer(
    uint64_t source_size, std::span<const StoredPiece> pieces,
    const std::function<Status(uint64_t offset, std::span<uint8_t> out)>& read,
    const std::function<Result<uint64_t>(ByteSpan bytes)>& append) {
  std::vector<BlobRange> ranges;
  Bytes buffer;
  uint64_t at = 0;
  const auto copy_until = [&](uint64_t end) -> Status {
    while (at < end) {
      buffer.resize(
          static_cast<size_t>(std::min<uint64_t>(end - at, kCopyBytes)));
      PLUGIN_RETURN_IF_ERROR(read(at, buffer));
      PLUGIN_ASSIGN_OR_RETURN(const uint64_t stored, append(buffer));
      AddRange({stored, stored + buffer.size()}, &ranges);
      at += buffer.size();
    }
    return {};
  };
  for (const StoredPiece& piece : pieces) {
    if (piece.source_offset > source_size ||
        piece.size > source_size - piece.source_offset) {
      return Internal("a packet lies outside the source");
    }
    // What two packets share goes with the first of them.
    if (piece.size < kPieceMin || piece.source_offset < at) continue;
    PLUGIN_RETURN_IF_ERROR(copy_until(piece.source_offset));
    AddRange({piece.blob_offset, piece.blob_offset + piece.size}, &ranges);
    at += piece.size;
  }
  PLUGIN_RETURN_IF_ERROR(copy_until(source_size));
  return ranges;
}

Result<FilePlan> PlanOriginal(const MediaIndex& index) {
  if (index.original.empty()) {
    return NotFound("the source file was not kept at ingest");
  }
  FilePlan plan;
  for (const BlobRange& range : index.original) {
    if (range.size() > 0) plan.pieces.push_back({{}, range});
  }
  return plan;
}

}  // namespace rowfs::plugin
