#include "index/plugins/common/bytes.h"

#include <array>

namespace rowfs::plugin {

uint64_t ByteReader::Fixed(size_t size) {
  const ByteSpan b = Take(size);
  uint64_t v = 0;
  for (size_t i = 0; i < b.size(); ++i) v |= uint64_t{b[i]} << (8 * i);
  return v;
}

uint64_t ByteReader::Varint(uint64_t max) {
  uint64_t v = 0;
  for (size_t i = 0; i < 10 && i < rest_.size(); ++i) {
    const uint8_t b = rest_[i];
    if (i == 9 && b > 1) break;  // does not fit 64 bits
    v |= uint64_t{b & 0x7fu} << (7 * i);
    if ((b & 0x80) == 0) {
      if (v > max) break;
      rest_ = rest_.subspan(i + 1);
      return v;
    }
  }
  Fail();
  return 0;
}

int64_t ByteReader::Signed() {
  const uint64_t u = Varint();
  return static_cast<int64_t>((u >> 1) ^ ((u & 1) != 0 ? UINT64_MAX : 0));
}

ByteSpan ByteReader::Take(uint64_t size) {
  if (size > rest_.size()) {
    Fail();
    return {};
  }
  const ByteSpan taken = rest_.first(static_cast<size_t>(size));
  rest_ = rest_.subspan(static_cast<size_t>(size));
  return taken;
}

void ByteWriter::Varint(uint64_t v) {
  for (; v >= 0x80; v >>= 7) bytes_.push_back(static_cast<uint8_t>(v | 0x80));
  bytes_.push_back(static_cast<uint8_t>(v));
}

uint32_t Crc32(ByteSpan bytes, uint32_t crc) {
  static constexpr std::array<uint32_t, 256> kTable = [] {
    std::array<uint32_t, 256> table{};
    for (uint32_t i = 0; i < 256; ++i) {
      uint32_t c = i;
      for (int k = 0; k < 8; ++k) c = (c >> 1) ^ ((c & 1) ? 0xedb88320u : 0);
      table[i] = c;
    }
    return table;
  }();
  crc = ~crc;
  for (uint8_t b : bytes) crc = kTable[(crc ^ b) & 0xff] ^ (crc >> 8);
  return ~crc;
}

}  // namespace rowfs::plugin
