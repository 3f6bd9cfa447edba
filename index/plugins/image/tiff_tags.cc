#include "index/plugins/image/tiff_tags.h"

#include <map>

namespace rowfs::plugin {
namespace {

constexpr uint16_t kLong = 4;
constexpr uint16_t kLong8 = 16;
constexpr uint64_t kValueMax = 32 << 20;

void PutNumber(uint64_t value, size_t size, bool big_endian, Bytes* out) {
  for (size_t i = 0; i < size; ++i) {
    const size_t byte = big_endian ? size - 1 - i : i;
    out->push_back(static_cast<uint8_t>(value >> (8 * byte)));
  }
}

TiffTag NumberTag(uint64_t value, bool big_endian) {
  TiffTag tag;
  tag.type = kLong;
  tag.count = 1;
  PutNumber(value, 4, big_endian, &tag.value);
  return tag;
}

TiffTag NumbersTag(const std::vector<uint64_t>& values, bool big_endian) {
  TiffTag tag;
  tag.type = kLong8;
  tag.count = values.size();
  for (const uint64_t v : values) PutNumber(v, 8, big_endian, &tag.value);
  return tag;
}

}  // namespace

Bytes EncodeTags(const TiffDirectory& directory) {
  ByteWriter out;
  out.U8(directory.big_endian ? 1 : 0);
  out.Varint(directory.tags.size());
  for (const auto& [id, tag] : directory.tags) {
    out.U16(id);
    out.U16(tag.type);
    out.Varint(tag.count);
    out.Block(tag.value);
  }
  return std::move(out.bytes());
}

Result<TiffDirectory> DecodeTags(ByteSpan bytes) {
  ByteReader in(bytes);
  TiffDirectory directory;
  directory.big_endian = in.U8() != 0;
  const uint64_t count = in.Varint(4096);
  for (uint64_t i = 0; i < count && in.ok(); ++i) {
    const uint16_t id = in.U16();
    TiffTag tag;
    tag.type = in.U16();
    tag.count = in.Varint(kValueMax);
    const ByteSpan value = in.Block(kValueMax);
    tag.value.assign(value.begin(), value.end());
    if (TiffTypeSize(tag.type) * tag.count != value.size()) in.Fail();
    directory.tags.emplace(id, std::move(tag));
  }
  if (!in.ok() || in.remaining() != 0) {
    return Corrupt("the directory in the index is damaged");
  }
  return directory;
}

Bytes BuildTiff(const TiffDirectory& tags, const TiffCells& cells) {
  const bool be = tags.big_endian;
  std::map<uint16_t, TiffTag> all = tags.tags;
  all[kTagWidth] = NumberTag(cells.width, be);
  all[kTagHeight] = NumberTag(cells.height, be);
  const bool tiled = cells.cell_width != 0;
  if (tiled) {
    all[kTagTileWidth] = NumberTag(cells.cell_width, be);
    all[kTagTileHeight] = NumberTag(cells.cell_height, be);
  } else {
    all[kTagRowsPerStrip] = NumberTag(cells.cell_height, be);
  }
  std::vector<uint64_t> offsets(cells.cells.size());
  std::vector<uint64_t> sizes;
  for (const Bytes& cell : cells.cells) sizes.push_back(cell.size());
  const uint16_t offsets_id = tiled ? kTagTileOffsets : kTagStripOffsets;
  all[tiled ? kTagTileSizes : kTagStripSizes] = NumbersTag(sizes, be);
  all[offsets_id] = NumbersTag(offsets, be);
  // Head, directory, long values, cells.
  const uint64_t values_at = (16 + 8 + 20 * all.size() + 8 + 7) / 8 * 8;
  uint64_t at = values_at;
  for (const auto& [id, tag] : all) {
    if (tag.value.size() > 8) at += (tag.value.size() + 7) / 8 * 8;
  }
  for (size_t i = 0; i < offsets.size(); ++i) {
    offsets[i] = at;
    at += cells.cells[i].size();
  }
  all[offsets_id] = NumbersTag(offsets, be);

  Bytes out;
  out.reserve(at);
  out.insert(out.end(), 2, be ? 'M' : 'I');
  PutNumber(43, 2, be, &out);
  PutNumber(8, 2, be, &out);
  PutNumber(0, 2, be, &out);
  PutNumber(16, 8, be, &out);
  PutNumber(all.size(), 8, be, &out);
  uint64_t value_at = values_at;
  for (const auto& [id, tag] : all) {
    PutNumber(id, 2, be, &out);
    PutNumber(tag.type, 2, be, &out);
    PutNumber(tag.count, 8, be, &out);
    if (tag.value.size() > 8) {
      PutNumber(value_at, 8, be, &out);
      value_at += (tag.value.size() + 7) / 8 * 8;
    } else {
      out.insert(out.end(), tag.value.begin(), tag.value.end());
      out.insert(out.end(), 8 - tag.value.size(), 0);
    }
  }
  PutNumber(0, 8, be, &out);
  out.resize(values_at);
  for (const auto& [id, tag] : all) {
    if (tag.value.size() <= 8) continue;
    out.insert(out.end(), tag.value.begin(), tag.value.end());
    out.resize((out.size() + 7) / 8 * 8);
  }
  for (const Bytes& cell : cells.cells) {
    out.insert(out.end(), cell.begin(), cell.end());
  }
  return out;
}

}  // namespace rowfs::plugin
