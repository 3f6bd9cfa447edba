// Byte strings of a plugin: ByteReader takes numbers out of untrusted bytes,
// ByteWriter puts them together.
//
// Values without locks: one thread at a time.
#ifndef ROWFS_INDEX_PLUGINS_COMMON_BYTES_H_
#define ROWFS_INDEX_PLUGINS_COMMON_BYTES_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace rowfs::plugin {

using Bytes = std::vector<uint8_t>;
using ByteSpan = std::span<const uint8_t>;

inline std::string_view AsText(ByteSpan bytes) {
  const void* data = bytes.data();
  return {static_cast<const char*>(data), bytes.size()};
}
inline ByteSpan AsBytes(std::string_view text) {
  const void* data = text.data();
  return {static_cast<const uint8_t*>(data), text.size()};
}

// Reads from the front of a span. A read past the end, or a varint that does
// not fit its type, makes ok() false for good and every read after it 0 or
// empty, so callers check once, before they use what they read (and before
// they allocate by it).
class ByteReader {
 public:
  explicit ByteReader(ByteSpan bytes) : rest_(bytes) {}

  bool ok() const { return ok_; }
  size_t remaining() const { return rest_.size(); }

  // Fixed-width little-endian numbers.
  uint8_t U8() { return static_cast<uint8_t>(Fixed(1)); }
  uint16_t U16() { return static_cast<uint16_t>(Fixed(2)); }
  uint32_t U32() { return static_cast<uint32_t>(Fixed(4)); }
  uint64_t U64() { return Fixed(8); }
  int64_t I64() { return static_cast<int64_t>(Fixed(8)); }
  // LEB128, at most 10 bytes, at most `max`.
  uint64_t Varint(uint64_t max = UINT64_MAX);
  uint32_t Varint32(uint32_t max = UINT32_MAX) {
    return static_cast<uint32_t>(Varint(max));
  }
  // Zigzag LEB128.
  int64_t Signed();
  // A view of the next `size` bytes; valid as long as the span given.
  ByteSpan Take(uint64_t size);
  // A varint length of at most `max`, then that many bytes.
  ByteSpan Block(uint64_t max) { return Take(Varint(max)); }
  std::string Text(uint64_t max) { return std::string(AsText(Block(max))); }
  void Fail() {
    ok_ = false;
    rest_ = {};
  }

 private:
  uint64_t Fixed(size_t size);

  ByteSpan rest_;
  bool ok_ = true;
};

class ByteWriter {
 public:
  Bytes& bytes() { return bytes_; }
  const Bytes& bytes() const { return bytes_; }
  size_t size() const { return bytes_.size(); }

  // Little-endian.
  void U8(uint8_t v) { bytes_.push_back(v); }
  void U16(uint16_t v) { Little(v, 2); }
  void U32(uint32_t v) { Little(v, 4); }
  void U64(uint64_t v) { Little(v, 8); }
  void I64(int64_t v) { Little(static_cast<uint64_t>(v), 8); }
  // Big-endian, as media containers have it.
  void Big16(uint16_t v) { Big(v, 2); }
  void Big24(uint32_t v) { Big(v, 3); }
  void Big32(uint32_t v) { Big(v, 4); }
  void Big64(uint64_t v) { Big(v, 8); }

  void Varint(uint64_t v);
  void Signed(int64_t v) {
    const uint64_t u = static_cast<uint64_t>(v);
    Varint((u << 1) ^ (v < 0 ? UINT64_MAX : 0));
  }
  void Raw(ByteSpan b) { bytes_.insert(bytes_.end(), b.begin(), b.end()); }
  void Text(std::string_view s) { Raw(AsBytes(s)); }
  // A varint length, then the bytes.
  void Block(ByteSpan b) {
    Varint(b.size());
    Raw(b);
  }

 private:
  void Little(uint64_t v, size_t size) {
    for (size_t i = 0; i < size; ++i) {
      bytes_.push_back(static_cast<uint8_t>(v >> (8 * i)));
    }
  }
  void Big(uint64_t v, size_t size) {
    for (size_t i = size; i-- > 0;) {
      bytes_.push_back(static_cast<uint8_t>(v >> (8 * i)));
    }
  }

  Bytes bytes_;
};

// False when the sum does not fit.
inline bool AddFits(uint64_t a, uint64_t b, uint64_t* sum) {
  return !__builtin_add_overflow(a, b, sum);
}

// CRC-32 (IEEE, reflected) of `bytes`, continued from `crc`.
uint32_t Crc32(ByteSpan bytes, uint32_t crc = 0);

}  // namespace rowfs::plugin
#endif  // ROWFS_INDEX_PLUGINS_COMMON_BYTES_H_
