// Bytes: spans, half-open ranges, and a bounds-checked little-endian cursor.
// Everything read from a file goes through Cursor; nothing casts file bytes to
// a struct.
//
// Values; not thread-safe to mutate concurrently.
#ifndef ROWFS_STORAGE_BASE_BYTES_H_
#define ROWFS_STORAGE_BASE_BYTES_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "storage/base/status.h"

namespace rowfs {

using ByteSpan = std::span<const std::byte>;
using MutableByteSpan = std::span<std::byte>;
using Bytes = std::vector<std::byte>;
// Immutable bytes with shared lifetime: cache blocks, decoded buffers.
using SharedBytes = std::shared_ptr<const Bytes>;

// The half-open interval [begin, end) of an object. Requires: begin <= end.
struct ByteRange {
  uint64_t begin = 0;
  uint64_t end = 0;

  uint64_t size() const { return end - begin; }
  bool empty() const { return begin == end; }
  bool Contains(const ByteRange& other) const {
    return begin <= other.begin && other.end <= end;
  }
  bool operator==(const ByteRange&) const = default;
};

ByteSpan AsBytes(std::string_view text);
std::string_view AsText(ByteSpan bytes);
Bytes ToBytes(std::string_view text);
// View `bytes` as the C plugin interface and C libraries want them.
const uint8_t* AsU8(ByteSpan bytes);
uint8_t* AsU8(MutableByteSpan bytes);
char* AsChars(MutableByteSpan bytes);
ByteSpan FromU8(const uint8_t* data, size_t size);

// Absent on overflow.
std::optional<uint64_t> CheckedAdd(uint64_t a, uint64_t b);
std::optional<uint64_t> CheckedMul(uint64_t a, uint64_t b);

// The part [offset, offset+size) of `bytes`; kCorruption, naming `what`, when
// it does not lie inside.
Result<ByteSpan> Slice(ByteSpan bytes, uint64_t offset, uint64_t size,
                       std::string_view what);

// Little-endian loads. Requires: `bytes` is long enough (asserted).
uint16_t LoadU16(ByteSpan bytes);
uint32_t LoadU32(ByteSpan bytes);
uint64_t LoadU64(ByteSpan bytes);
// The value of the first `width` (1..8) bytes, little-endian.
uint64_t LoadUint(ByteSpan bytes, size_t width);
uint32_t LoadU32BigEndian(ByteSpan bytes);
uint64_t LoadU64BigEndian(ByteSpan bytes);

// Append little-endian (or big-endian) values, varints (LEB128) and bytes.
void AppendU8(Bytes* out, uint8_t value);
void AppendU16(Bytes* out, uint16_t value);
void AppendU32(Bytes* out, uint32_t value);
void AppendU64(Bytes* out, uint64_t value);
void AppendU16BigEndian(Bytes* out, uint16_t value);
void AppendU32BigEndian(Bytes* out, uint32_t value);
void AppendU64BigEndian(Bytes* out, uint64_t value);
void AppendUint(Bytes* out, uint64_t value, size_t width);
void AppendVarint(Bytes* out, uint64_t value);
void AppendZigzag(Bytes* out, int64_t value);
void AppendBytes(Bytes* out, ByteSpan bytes);
void AppendText(Bytes* out, std::string_view text);

// Reads forward through bytes it does not own. Every read checks the bounds and
// fails with kCorruption that names `what` and the offset; after a failure the
// position is unspecified.
class Cursor {
 public:
  Cursor(ByteSpan bytes, std::string_view what) : bytes_(bytes), what_(what) {}

  size_t position() const { return position_; }
  size_t remaining() const { return bytes_.size() - position_; }
  bool AtEnd() const { return remaining() == 0; }

  Result<uint8_t> U8();
  Result<uint16_t> U16();
  Result<uint32_t> U32();
  Result<uint64_t> U64();
  Result<uint64_t> Varint();  // LEB128, at most 64 bits
  Result<int64_t> Zigzag();
  Result<ByteSpan> Take(uint64_t size);  // valid as long as the source
  Status Skip(uint64_t size);
  Status Seek(uint64_t position);
  // kCorruption "what: `message` at offset N".
  Status Error(std::string_view message) const;

 private:
  ByteSpan bytes_;
  std::string_view what_;
  size_t position_ = 0;
};

}  // namespace rowfs
#endif  // ROWFS_STORAGE_BASE_BYTES_H_
