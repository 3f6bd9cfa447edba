#include <algorithm>

#include "index/plugins/common/image_codecs.h"

namespace rowfs::plugin {
namespace {

constexpr uint16_t kShort = 3;
constexpr uint16_t kLong = 4;
constexpr uint16_t kUndefined = 7;
constexpr size_t kHead = 8;

struct Layout {
  uint16_t tags = 0;
  size_t directory = 0;  // bytes of it
  size_t bits = 0;       // of the bits of each sample, when they are apart
  size_t icc = 0;
  size_t data = 0;  // where the samples start

  Layout(const ImageShape& s, size_t icc_size) {
    tags =
        static_cast<uint16_t>(11 + (s.alpha ? 1 : 0) + (icc_size != 0 ? 1 : 0));
    directory = 2 + size_t{tags} * 12 + 4;
    bits = s.channels() > 2 ? 2 * s.channels() : 0;
    icc = icc_size;
    data = (kHead + directory + bits + icc + 1) / 2 * 2;
  }
};

void PutTag(ByteWriter* out, uint16_t tag, uint16_t type, size_t count,
            size_t value) {
  out->U16(tag);
  out->U16(type);
  out->U32(static_cast<uint32_t>(count));
  out->U32(static_cast<uint32_t>(value));
}

}  // namespace

uint64_t TiffSize(const ImageShape& s) {
  return Layout(s, 0).data +
         uint64_t{s.width} * s.height * s.channels() * (s.deep ? 2 : 1);
}

Result<Bytes> EncodeTiff(const Picture& p) {
  const ImageShape& s = p.shape;
  const Layout layout(s, p.icc.size());
  if (layout.data + p.samples.size() > UINT32_MAX) {
    return Unsupported("TIFF files end at 4 GiB");
  }
  const size_t depth = s.deep ? 16 : 8;
  const size_t bits_at = kHead + layout.directory;
  size_t bits_value = bits_at;
  if (layout.bits == 0) {
    bits_value = s.channels() == 1 ? depth : depth | depth << 16;
  }
  ByteWriter out;
  out.bytes().reserve(layout.data + p.samples.size());
  out.Text("II");
  out.U16(42);
  out.U32(kHead);
  out.U16(layout.tags);
  PutTag(&out, 256, kLong, 1, s.width);
  PutTag(&out, 257, kLong, 1, s.height);
  PutTag(&out, 258, kShort, s.channels(), bits_value);
  PutTag(&out, 259, kShort, 1, 1);               // not compressed
  PutTag(&out, 262, kShort, 1, s.gray ? 1 : 2);  // photometric
  PutTag(&out, 273, kLong, 1, layout.data);
  PutTag(&out, 277, kShort, 1, s.channels());
  PutTag(&out, 278, kLong, 1, s.height);  // rows of the strip
  PutTag(&out, 279, kLong, 1, p.samples.size());
  PutTag(&out, 284, kShort, 1, 1);               // samples side by side
  if (s.alpha) PutTag(&out, 338, kShort, 1, 2);  // not premultiplied
  PutTag(&out, 339, kShort, 1, 1);               // unsigned
  if (layout.icc != 0) {
    PutTag(&out, 34675, kUndefined, layout.icc, bits_at + layout.bits);
  }
  out.U32(0);
  for (size_t i = 0; i < layout.bits / 2; ++i) {
    out.U16(static_cast<uint16_t>(depth));
  }
  out.Raw(p.icc);
  out.bytes().resize(layout.data);
  out.Raw(p.samples);
  return std::move(out.bytes());
}

}  // namespace rowfs::plugin
