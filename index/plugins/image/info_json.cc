// .info.json: what a program wants to know before it opens a page, and
// info.json of a page as IIIF viewers want it.
#include <algorithm>
#include <string>
#include <string_view>

#include "index/plugins/common/exact_time.h"
#include "index/plugins/common/json_text.h"
#include "index/plugins/image/views.h"

namespace rowfs::plugin {
namespace {

constexpr std::string_view kTypeNames[] = {"uint8",   "uint16", "uint32",
                                           "int8",    "int16",  "int32",
                                           "float32", "float64"};

void PutPair(std::string_view key, uint64_t value, std::string* out) {
  if (out->back() != '{') *out += ',';
  PutQuoted(key, out);
  *out += ":" + std::to_string(value);
}

void PutPair(std::string_view key, std::string_view value, std::string* out) {
  if (out->back() != '{') *out += ',';
  PutQuoted(key, out);
  *out += ':';
  PutQuoted(value, out);
}

std::string Seconds(uint64_t ms) {
  return ExactTime::FromTicks(static_cast<int64_t>(ms), {1, 1000}).ToDecimal();
}

uint32_t RotationOf(uint8_t orientation) {
  static constexpr uint32_t kDegrees[] = {0, 0, 0, 180, 180, 270, 90, 90, 270};
  return kDegrees[std::min<uint8_t>(orientation, 8)];
}

void PutRaster(const StoredRaster& r, std::string* out) {
  PutPair("stored_width", r.width, out);
  PutPair("stored_height", r.height, out);
  PutPair("channels", r.channels, out);
  PutPair("sample_type", kTypeNames[static_cast<size_t>(r.type)], out);
  PutPair("encoding", r.description, out);
  if (r.tiled) {
    PutPair("tile_width", r.cell_width, out);
    PutPair("tile_height", r.cell_height, out);
  }
  uint64_t bytes = 0;
  for (const BlobPiece& piece : r.pieces) bytes += piece.size;
  PutPair("stored_bytes", bytes, out);
}

void PutPage(const ImageIndex& index, const Page& page, std::string* out) {
  if (out->back() != '[') *out += ',';
  *out += '{';
  PutPair("width", index.UprightWidth(page), out);
  PutPair("height", index.UprightHeight(page), out);
  PutPair("orientation", page.orientation, out);
  PutRaster(index.raster_of(page), out);
  if (!page.reduced.empty()) {
    *out += ",\"levels\":[";
    for (const uint32_t number : page.reduced) {
      if (out->back() != '[') *out += ',';
      *out += '{';
      PutRaster(index.rasters[number], out);
      *out += '}';
    }
    *out += ']';
  }
  *out += '}';
}

void PutFrames(const Animation& a, std::string* out) {
  uint64_t ms = 0;
  *out += ",\"frame_times\":[";
  for (const Frame& f : a.frames) {
    if (out->back() != '[') *out += ',';
    *out += Seconds(ms);
    ms += f.delay_ms;
  }
  *out += "],\"duration\":" + Seconds(ms);
  PutPair("loops", a.loops, out);
}

}  // namespace

std::string ImageInfoJson(const ImageIndex& index) {
  const Page& first = index.pages[0];
  std::string out = "{";
  PutPair("codec", index.format, &out);
  PutPair("width", index.UprightWidth(first), &out);
  PutPair("height", index.UprightHeight(first), &out);
  PutPair("rotation", RotationOf(first.orientation), &out);
  PutPair("page_count", index.pages.size(), &out);
  const bool animated = index.animation.kind != AnimationKind::kNone;
  PutPair("frame_count",
          std::max<uint64_t>(1, animated ? index.animation.frames.size()
                                         : index.head.frame_count),
          &out);
  out += std::string(",\"animated\":") +
         (animated && index.animation.frames.size() > 1 ? "true" : "false");
  if (animated) PutFrames(index.animation, &out);
  if (!index.description.empty()) {
    PutPair("description", index.description, &out);
  }
  out += ",\"pages\":[";
  for (const Page& page : index.pages) PutPage(index, page, &out);
  return out + "]}\n";
}

std::string PageInfoJson(const ImageIndex& index, uint32_t number) {
  const Page& page = index.pages[number];
  const StoredRaster& raster = index.raster_of(page);
  IiifInfo info;
  info.id = std::to_string(number + 1);
  const size_t digits =
      std::max<size_t>(4, std::to_string(index.pages.size()).size());
  if (info.id.size() < digits) info.id.insert(0, digits - info.id.size(), '0');
  info.width = index.UprightWidth(page);
  info.height = index.UprightHeight(page);
  if (raster.tiled && !SwapsSides(page.orientation)) {
    info.tile_width = raster.cell_width;
    info.tile_height = raster.cell_height;
    for (const uint32_t r : page.reduced) {
      info.scale_factors +=
          "," + std::to_string((raster.width + index.rasters[r].width / 2) /
                               index.rasters[r].width);
    }
  }
  return IiifInfoJson(info);
}

}  // namespace rowfs::plugin
