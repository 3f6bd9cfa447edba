// The compression algorithms below page encodings: FastLanes bit packing, FSST
// symbol tables, LZ4 and Zstandard. Bytes in, bytes out; nothing of protobuf.
//
// Pure; thread-safe.
#ifndef ROWFS_STORAGE_LANCE_CODEC_H_
#define ROWFS_STORAGE_LANCE_CODEC_H_

#include <array>
#include <cstdint>
#include <string_view>

#include "storage/base/bytes.h"
#include "storage/base/status.h"

namespace rowfs {

inline constexpr uint64_t kPackedBlockValues = 1024;

// Bytes of one block of 1,024 values packed to `bits` each, in words of
// `word_bits` (8, 16, 32, 64).
uint64_t PackedBlockBytes(uint64_t bits, uint64_t word_bits);

// Unpack one block into 1,024 values of `word_bits` each at `out`. Requires:
// bits <= word_bits, `packed` holds PackedBlockBytes, `out` 128 * word_bits
// bytes.
void UnpackBlock(ByteSpan packed, uint64_t bits, uint64_t word_bits,
                 std::byte* out);

// Up to 255 strings of up to 8 bytes that one byte stands for.
class SymbolTable {
 public:
  // kCorruption for a table that contradicts itself.
  static Result<SymbolTable> Decode(ByteSpan bytes);
  // Append what `code` stands for. kCorruption for a symbol that is not there,
  // kResourceExhausted when `*out` would pass `size_max`.
  Status Expand(ByteSpan code, uint64_t size_max, Bytes* out) const;

 private:
  bool passthrough_ = false;
  size_t count_ = 0;
  std::array<uint64_t, 255> symbols_{};
  std::array<uint8_t, 255> sizes_{};
};

// LZ4: a u32 with the raw size, then one block. Appends to `*out`.
// kCorruption for bytes that do not decompress to that size,
// kResourceExhausted when `*out` would pass `size_max`.
Status DecompressLz4(ByteSpan bytes, uint64_t size_max, Bytes* out);
// Zstandard: a u64 with the raw size, then one frame; or a bare frame.
Status DecompressZstd(ByteSpan bytes, uint64_t size_max, Bytes* out);

}  // namespace rowfs
#endif  // ROWFS_STORAGE_LANCE_CODEC_H_
