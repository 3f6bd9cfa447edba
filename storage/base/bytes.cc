#include "storage/base/bytes.h"

#include <bit>
#include <cassert>
#include <cstring>

namespace rowfs {
namespace {

static_assert(std::endian::native == std::endian::little,
              "loads and stores below copy little-endian values as they are");

template <typename T>
T Load(ByteSpan bytes) {
  assert(bytes.size() >= sizeof(T));
  T value;
  std::memcpy(&value, bytes.data(), sizeof(T));
  return value;
}

template <typename T>
void Append(Bytes* out, T value) {
  const auto at = out->size();
  out->resize(at + sizeof(T));
  std::memcpy(out->data() + at, &value, sizeof(T));
}

}  // namespace

ByteSpan AsBytes(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

std::string_view AsText(ByteSpan bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

Bytes ToBytes(std::string_view text) {
  const ByteSpan bytes = AsBytes(text);
  return {bytes.begin(), bytes.end()};
}

const uint8_t* AsU8(ByteSpan bytes) {
  return reinterpret_cast<const uint8_t*>(bytes.data());
}

uint8_t* AsU8(MutableByteSpan bytes) {
  return reinterpret_cast<uint8_t*>(bytes.data());
}

char* AsChars(MutableByteSpan bytes) {
  return reinterpret_cast<char*>(bytes.data());
}

ByteSpan FromU8(const uint8_t* data, size_t size) {
  return {reinterpret_cast<const std::byte*>(data), size};
}

std::optional<uint64_t> CheckedAdd(uint64_t a, uint64_t b) {
  uint64_t sum = 0;
  if (__builtin_add_overflow(a, b, &sum)) return std::nullopt;
  return sum;
}

std::optional<uint64_t> CheckedMul(uint64_t a, uint64_t b) {
  uint64_t product = 0;
  if (__builtin_mul_overflow(a, b, &product)) return std::nullopt;
  return product;
}

Result<ByteSpan> Slice(ByteSpan bytes, uint64_t offset, uint64_t size,
                       std::string_view what) {
  if (offset > bytes.size() || size > bytes.size() - offset) {
    return Status(Code::kCorruption,
                  std::string(what) + ": bytes " + std::to_string(offset) +
                      "+" + std::to_string(size) + " are past the end at " +
                      std::to_string(bytes.size()));
  }
  return bytes.subspan(offset, size);
}

uint16_t LoadU16(ByteSpan bytes) { return Load<uint16_t>(bytes); }
uint32_t LoadU32(ByteSpan bytes) { return Load<uint32_t>(bytes); }
uint64_t LoadU64(ByteSpan bytes) { return Load<uint64_t>(bytes); }

uint64_t LoadUint(ByteSpan bytes, size_t width) {
  assert(width >= 1 && width <= 8 && bytes.size() >= width);
  uint64_t value = 0;
  std::memcpy(&value, bytes.data(), width);
  return value;
}

uint32_t LoadU32BigEndian(ByteSpan bytes) {
  return __builtin_bswap32(LoadU32(bytes));
}

uint64_t LoadU64BigEndian(ByteSpan bytes) {
  return __builtin_bswap64(LoadU64(bytes));
}

void AppendU8(Bytes* out, uint8_t value) { Append(out, value); }
void AppendU16(Bytes* out, uint16_t value) { Append(out, value); }
void AppendU32(Bytes* out, uint32_t value) { Append(out, value); }
void AppendU64(Bytes* out, uint64_t value) { Append(out, value); }

void AppendU16BigEndian(Bytes* out, uint16_t value) {
  Append(out, __builtin_bswap16(value));
}

void AppendU32BigEndian(Bytes* out, uint32_t value) {
  Append(out, __builtin_bswap32(value));
}

void AppendU64BigEndian(Bytes* out, uint64_t value) {
  Append(out, __builtin_bswap64(value));
}

void AppendUint(Bytes* out, uint64_t value, size_t width) {
  assert(width >= 1 && width <= 8);
  const auto at = out->size();
  out->resize(at + width);
  std::memcpy(out->data() + at, &value, width);
}

void AppendVarint(Bytes* out, uint64_t value) {
  while (value >= 0x80) {
    AppendU8(out, static_cast<uint8_t>(value | 0x80));
    value >>= 7;
  }
  AppendU8(out, static_cast<uint8_t>(value));
}

void AppendZigzag(Bytes* out, int64_t value) {
  const auto bits = static_cast<uint64_t>(value);
  AppendVarint(out, (bits << 1) ^ (value < 0 ? ~uint64_t{0} : 0));
}

void AppendBytes(Bytes* out, ByteSpan bytes) {
  out->insert(out->end(), bytes.begin(), bytes.end());
}

void AppendText(Bytes* out, std::string_view text) {
  AppendBytes(out, AsBytes(text));
}

Result<ByteSpan> Cursor::Take(uint64_t size) {
  if (size > remaining()) {
    return Error("ends early, " + std::to_string(size) + " bytes wanted");
  }
  const ByteSpan taken = bytes_.subspan(position_, size);
  position_ += size;
  return taken;
}

Result<uint8_t> Cursor::U8() {
  ROWFS_ASSIGN_OR_RETURN(const ByteSpan bytes, Take(1));
  return static_cast<uint8_t>(bytes[0]);
}

Result<uint16_t> Cursor::U16() {
  ROWFS_ASSIGN_OR_RETURN(const ByteSpan bytes, Take(2));
  return LoadU16(bytes);
}

Result<uint32_t> Cursor::U32() {
  ROWFS_ASSIGN_OR_RETURN(const ByteSpan bytes, Take(4));
  return LoadU32(bytes);
}

Result<uint64_t> Cursor::U64() {
  ROWFS_ASSIGN_OR_RETURN(const ByteSpan bytes, Take(8));
  return LoadU64(bytes);
}

Result<uint64_t> Cursor::Varint() {
  uint64_t value = 0;
  for (unsigned shift = 0; shift < 64; shift += 7) {
    ROWFS_ASSIGN_OR_RETURN(const uint8_t byte, U8());
    const uint64_t low = byte & 0x7f;
    if (shift == 63 && low > 1) return Error("varint above 64 bits");
    value |= low << shift;
    if ((byte & 0x80) == 0) return value;
  }
  return Error("varint above 64 bits");
}

Result<int64_t> Cursor::Zigzag() {
  ROWFS_ASSIGN_OR_RETURN(const uint64_t bits, Varint());
  return static_cast<int64_t>((bits >> 1) ^ (~(bits & 1) + 1));
}

Status Cursor::Skip(uint64_t size) {
  ROWFS_ASSIGN_OR_RETURN([[maybe_unused]] const ByteSpan skipped, Take(size));
  return {};
}

Status Cursor::Seek(uint64_t position) {
  if (position > bytes_.size()) return Error("seek past the end");
  position_ = position;
  return {};
}

Status Cursor::Error(std::string_view message) const {
  return {Code::kCorruption, std::string(what_) + ": " + std::string(message) +
                                 " at offset " + std::to_string(position_)};
}

}  // namespace rowfs
