// JPEG 2000 files and codestreams: size and samples from the SIZ marker, which
// comes first in the codestream.
#include <algorithm>
#include <string_view>

#include "index/plugins/image/formats.h"
#include "index/plugins/image/jp2_codec.h"

namespace rowfs::plugin {
namespace {

constexpr uint64_t kHeadBytes = 64 << 10;

uint32_t Big32(const uint8_t* at) {
  return uint32_t{at[0]} << 24 | uint32_t{at[1]} << 16 | uint32_t{at[2]} << 8 |
         at[3];
}

// Whether a channel definition box names one as opacity.
bool HasAlpha(std::string_view head) {
  const size_t at = head.find("cdef");
  if (at == std::string_view::npos || at + 6 > head.size()) return false;
  const auto byte = [&](size_t i) {
    return i < head.size() ? static_cast<uint8_t>(head[i]) : uint8_t{0};
  };
  const size_t count = byte(at + 5);
  for (size_t i = 0; i < count; ++i) {
    if (byte(at + 6 + 6 * i + 3) == 1) return true;
  }
  return false;
}

}  // namespace

Status IndexJp2(ByteSource* file, ImageIndex* index) {
  const uint64_t size = std::min(file->size(), kHeadBytes);
  PLUGIN_ASSIGN_OR_RETURN(const Bytes head, file->Read(0, size, size));
  const std::string_view text = AsText(head);
  const size_t at = text.find(std::string_view("\xff\x4f\xff\x51", 4));
  if (at == std::string_view::npos || head.size() - at < 45) {
    return Corrupt("a JPEG 2000 file without a codestream");
  }
  const uint8_t* siz = head.data() + at + 4;
  const bool bare = at == 0;
  StoredRaster r;
  r.codec = RasterCodec::kJp2;
  const uint32_t right = Big32(siz + 4), bottom = Big32(siz + 8);
  const uint32_t left = Big32(siz + 12), top = Big32(siz + 16);
  if (right <= left || bottom <= top)
    return Corrupt("a picture without pixels");
  r.width = r.cell_width = right - left;
  r.height = r.cell_height = bottom - top;
  const uint32_t components = uint32_t{siz[36]} << 8 | siz[37];
  const uint32_t bits = (siz[38] & 127u) + 1;
  r.type = bits > 8 ? SampleType::kU16 : SampleType::kU8;
  r.colors = components >= 3 ? 3 : 1;
  // A palette makes three of one.
  if (!bare && text.find("pclr") != std::string_view::npos) r.colors = 3;
  r.alpha = components > r.colors && HasAlpha(text.substr(0, at));
  r.channels = static_cast<uint8_t>(r.colors + (r.alpha ? 1 : 0));
  r.pieces = {{0, file->size()}};
  r.description = "jpeg2000, " + std::to_string(components) + " x " +
                  std::to_string(bits) + " bits";
  index->format = bare ? "j2k" : "jp2";
  index->head.extension = index->format;
  index->rasters.push_back(std::move(r));
  index->pages.push_back({0, 1, {}});
  return {};
}

}  // namespace rowfs::plugin
