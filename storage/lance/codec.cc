#include "storage/lance/codec.h"

#include <lz4.h>
#include <zstd.h>

#include <algorithm>
#include <cassert>
#include <cstring>
#include <memory>
#include <string>
#include <type_traits>

namespace rowfs {
namespace {

constexpr uint64_t kLz4RatioMax = 255;  // the format cannot do better
constexpr uint32_t kZstdMagic = 0xFD2FB528;
constexpr size_t kSymbolHeaderBytes = 8;
constexpr uint64_t kFsstMagic = 0x46535354;

// The order of the eight groups of rows in a FastLanes block.
constexpr std::array<size_t, 8> kGroupOrder = {0, 4, 2, 6, 1, 5, 3, 7};

// Lanes are adjacent in memory, so that the inner loop runs over them in step
// and the compiler can use vector instructions.
template <typename T>
void Unpack(const T* words, size_t bits, T* out) {
  constexpr size_t kWordBits = sizeof(T) * 8;
  constexpr size_t kLanes = kPackedBlockValues / kWordBits;
  if (bits == 0) {
    std::fill_n(out, kPackedBlockValues, T{0});
    return;
  }
  const T mask = static_cast<T>(
      bits == kWordBits ? ~T{0} : static_cast<T>((T{1} << bits) - 1));
  for (size_t row = 0; row < kWordBits; ++row) {
    const size_t bit = row * bits;
    const size_t shift = bit % kWordBits;
    const T* low = words + bit / kWordBits * kLanes;
    T* to = out + kGroupOrder[row / 8] * 16 + row % 8 * 128;
    if (shift + bits <= kWordBits) {
      for (size_t lane = 0; lane < kLanes; ++lane) {
        to[lane] = static_cast<T>(low[lane] >> shift) & mask;
      }
      continue;
    }
    const T* high = low + kLanes;
    const size_t back = kWordBits - shift;
    for (size_t lane = 0; lane < kLanes; ++lane) {
      to[lane] = static_cast<T>(static_cast<T>(low[lane] >> shift) |
                                static_cast<T>(high[lane] << back)) &
                 mask;
    }
  }
}

template <typename T>
void UnpackAs(ByteSpan packed, size_t bits, std::byte* out) {
  // Aligned copies: file bytes start anywhere.
  std::array<T, kPackedBlockValues> words;
  const size_t bytes = kPackedBlockValues * bits / 8;
  if (bytes != 0) std::memcpy(words.data(), packed.data(), bytes);
  void* to = out;
  size_t space = kPackedBlockValues * sizeof(T);
  if (std::align(alignof(T), space, to, space) == out) {
    Unpack(words.data(), bits, static_cast<T*>(to));
    return;
  }
  std::array<T, kPackedBlockValues> values;
  Unpack(words.data(), bits, values.data());
  std::memcpy(out, values.data(), sizeof(values));
}

Status TooLarge(std::string_view codec, uint64_t size) {
  return {Code::kResourceExhausted, std::string(codec) + " data of " +
                                        std::to_string(size) +
                                        " bytes is more than may be decoded"};
}

Status BadData(std::string_view codec, std::string_view what) {
  return {Code::kCorruption,
          std::string(codec) + " data: " + std::string(what)};
}

// Decompress a frame whose size nobody declared, in steps, so that a small
// frame costs little and a bomb stops at `size_max`.
Status StreamZstd(ByteSpan frame, uint64_t size_max, Bytes* out) {
  const std::unique_ptr<ZSTD_DStream, size_t (*)(ZSTD_DStream*)> stream(
      ZSTD_createDStream(), ZSTD_freeDStream);
  if (stream == nullptr) return {Code::kResourceExhausted, "zstd: no memory"};
  ZSTD_inBuffer in{frame.data(), frame.size(), 0};
  size_t left = 1;
  while (left != 0) {
    const size_t at = out->size();
    const size_t step = std::max<size_t>(ZSTD_DStreamOutSize(), at / 2);
    if (at >= size_max) return TooLarge("zstd", at);
    out->resize(std::min<uint64_t>(at + step, size_max));
    ZSTD_outBuffer to{out->data() + at, out->size() - at, 0};
    left = ZSTD_decompressStream(stream.get(), &to, &in);
    if (ZSTD_isError(left)) return BadData("zstd", ZSTD_getErrorName(left));
    out->resize(at + to.pos);
    if (left != 0 && to.pos == 0 && in.pos == in.size) {
      return BadData("zstd", "the frame is cut short");
    }
  }
  return {};
}

}  // namespace

uint64_t PackedBlockBytes(uint64_t bits, uint64_t word_bits) {
  const uint64_t words =
      (kPackedBlockValues * bits + word_bits - 1) / word_bits;
  return words * word_bits / 8;
}

void UnpackBlock(ByteSpan packed, uint64_t bits, uint64_t word_bits,
                 std::byte* out) {
  assert(bits <= word_bits);
  assert(packed.size() >= PackedBlockBytes(bits, word_bits));
  if (word_bits == 8) return UnpackAs<uint8_t>(packed, bits, out);
  if (word_bits == 16) return UnpackAs<uint16_t>(packed, bits, out);
  if (word_bits == 32) return UnpackAs<uint32_t>(packed, bits, out);
  UnpackAs<uint64_t>(packed, bits, out);
}

Result<SymbolTable> SymbolTable::Decode(ByteSpan bytes) {
  SymbolTable table;
  if (bytes.size() < kSymbolHeaderBytes) {
    return BadData("fsst", "the symbol table is cut short");
  }
  const uint64_t header = LoadU64(bytes);
  if (header >> 32 != kFsstMagic) {
    return BadData("fsst", "the symbol table has the wrong magic");
  }
  table.passthrough_ = (header >> 24 & 0xff) == 0;
  table.count_ = header & 0xff;
  if (table.passthrough_) return table;
  if (table.count_ > 255 ||
      bytes.size() < kSymbolHeaderBytes + table.count_ * 9) {
    return BadData("fsst", "the symbol table is cut short");
  }
  const ByteSpan sizes = bytes.subspan(kSymbolHeaderBytes + table.count_ * 8);
  for (size_t i = 0; i < table.count_; ++i) {
    table.symbols_[i] = LoadU64(bytes.subspan(kSymbolHeaderBytes + i * 8));
    table.sizes_[i] = static_cast<uint8_t>(sizes[i]);
    if (table.sizes_[i] > 8) return BadData("fsst", "a symbol above 8 bytes");
  }
  return table;
}

Status SymbolTable::Expand(ByteSpan code, uint64_t size_max, Bytes* out) const {
  // A code byte becomes 8 bytes at most.
  const uint64_t worst = out->size() + (passthrough_ ? 1 : 8) * code.size();
  if (worst > size_max) return TooLarge("fsst", worst);
  if (passthrough_) {
    AppendBytes(out, code);
    return {};
  }
  size_t at = out->size();
  out->resize(worst + 8);  // symbols are stored eight bytes at a time
  std::byte* to = out->data();
  for (size_t i = 0; i < code.size(); ++i) {
    const auto symbol = static_cast<size_t>(code[i]);
    if (symbol == 255) {
      if (++i == code.size()) return BadData("fsst", "ends in an escape");
      to[at++] = code[i];
      continue;
    }
    if (symbol >= count_) return BadData("fsst", "an unknown symbol");
    std::memcpy(to + at, &symbols_[symbol], 8);
    at += sizes_[symbol];
  }
  out->resize(at);
  return {};
}

Status DecompressLz4(ByteSpan bytes, uint64_t size_max, Bytes* out) {
  if (bytes.size() < 4) return BadData("lz4", "no room for its size");
  const uint64_t size = LoadU32(bytes);
  const ByteSpan block = bytes.subspan(4);
  const size_t at = out->size();
  if (size > size_max || at > size_max - size) return TooLarge("lz4", size);
  if (size > block.size() * kLz4RatioMax + 16 ||
      block.size() > LZ4_MAX_INPUT_SIZE) {
    return BadData("lz4", "declares more than it can hold");
  }
  out->resize(at + size);
  const int got = LZ4_decompress_safe(
      AsText(block).data(), AsChars(MutableByteSpan(*out).subspan(at)),
      static_cast<int>(block.size()), static_cast<int>(size));
  if (got < 0 || static_cast<uint64_t>(got) != size) {
    return BadData("lz4", "does not decompress");
  }
  return {};
}

Status DecompressZstd(ByteSpan bytes, uint64_t size_max, Bytes* out) {
  if (bytes.empty()) return {};
  if (bytes.size() >= 4 && LoadU32(bytes) == kZstdMagic) {
    return StreamZstd(bytes, size_max, out);
  }
  if (bytes.size() < 8) return BadData("zstd", "no room for its size");
  const uint64_t size = LoadU64(bytes);
  const ByteSpan frame = bytes.subspan(8);
  const size_t at = out->size();
  if (size > size_max || at > size_max - size) return TooLarge("zstd", size);
  const uint64_t declared =
      ZSTD_getFrameContentSize(frame.data(), frame.size());
  if (declared == ZSTD_CONTENTSIZE_UNKNOWN) {
    ROWFS_RETURN_IF_ERROR(StreamZstd(frame, at + size, out));
  } else {
    if (declared != size) return BadData("zstd", "sizes contradict each other");
    out->resize(at + size);
    // A context is larger than most frames: one a thread.
    thread_local const std::unique_ptr<ZSTD_DCtx, size_t (*)(ZSTD_DCtx*)>
        context(ZSTD_createDCtx(), ZSTD_freeDCtx);
    if (context == nullptr) {
      return {Code::kResourceExhausted, "zstd: no memory"};
    }
    const size_t got = ZSTD_decompressDCtx(context.get(), out->data() + at,
                                           size, frame.data(), frame.size());
    if (ZSTD_isError(got)) return BadData("zstd", ZSTD_getErrorName(got));
    out->resize(at + got);
  }
  if (out->size() - at != size) {
    return BadData("zstd", "decompresses to another size");
  }
  return {};
}

}  // namespace rowfs
