// Bit-packing in the FastLanes order: 1024 values of `T` with `bits` bits each.
// The inverse is in the page reader; the order is drawn in storage/README.md.
//
// Pure functions; thread-safe.
#ifndef ROWFS_STORAGE_LANCE_PACK_BITS_H_
#define ROWFS_STORAGE_LANCE_PACK_BITS_H_

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <span>
#include <vector>

#include "storage/base/bytes.h"

namespace rowfs {

inline constexpr uint64_t kPackedValues = 1024;

// Bits of the widest value.
template <typename T>
unsigned BitWidth(std::span<const T> values) {
  T all = 0;
  for (const T value : values) all = static_cast<T>(all | value);
  return static_cast<unsigned>(std::bit_width(all));
}

// Words that 1024 packed values take.
template <typename T>
constexpr uint64_t PackedWords(unsigned bits) {
  return kPackedValues * bits / (sizeof(T) * 8);
}

// Pack `values`, at most 1024 (the rest counts as 0), into `out`, which has
// PackedWords<T>(bits) words, all 0. Requires: no value is wider than `bits`.
template <typename T>
void PackBits(std::span<const T> values, unsigned bits, std::span<T> out) {
  constexpr unsigned kWidth = sizeof(T) * 8;
  constexpr unsigned kLanes = kPackedValues / kWidth;
  constexpr std::array<unsigned, 8> kOrder = {0, 4, 2, 6, 1, 5, 3, 7};
  if (bits == 0) return;
  std::array<T, kPackedValues> all{};
  std::copy(values.begin(), values.end(), all.begin());
  for (unsigned row = 0; row < kWidth; ++row) {
    const T* from = &all[kOrder[row / 8] * 16 + row % 8 * 128];
    const unsigned word = row * bits / kWidth;
    const unsigned shift = row * bits % kWidth;
    T* to = &out[word * kLanes];
    for (unsigned lane = 0; lane < kLanes; ++lane) {
      to[lane] = static_cast<T>(to[lane] | static_cast<T>(from[lane] << shift));
    }
    if (shift + bits <= kWidth) continue;
    for (unsigned lane = 0; lane < kLanes; ++lane) {
      to[kLanes + lane] =
          static_cast<T>(to[kLanes + lane] | (from[lane] >> (kWidth - shift)));
    }
  }
}

// Append `values` as blocks of 1024 packed ones; a short rest is packed too
// when that is smaller, else raw: readers tell by the length. Requires: 0 <
// bits < the width of T, no value is wider.
template <typename T>
void AppendPacked(std::span<const T> values, unsigned bits, Bytes* out) {
  constexpr unsigned kWidth = sizeof(T) * 8;
  std::vector<T> words;
  while (!values.empty()) {
    const auto block =
        values.first(std::min(values.size(), size_t{kPackedValues}));
    values = values.subspan(block.size());
    if (bits * (kPackedValues - block.size()) >=
        (kWidth - bits) * block.size()) {
      AppendBytes(out, std::as_bytes(block));
      break;
    }
    words.assign(PackedWords<T>(bits), 0);
    PackBits(block, bits, std::span(words));
    AppendBytes(out, std::as_bytes(std::span<const T>(words)));
  }
}

// The bytes AppendPacked appends.
template <typename T>
uint64_t PackedSize(uint64_t count, unsigned bits) {
  constexpr unsigned kWidth = sizeof(T) * 8;
  const uint64_t rest = count % kPackedValues;
  const uint64_t block = PackedWords<T>(bits) * sizeof(T);
  const bool raw = bits * (kPackedValues - rest) >= (kWidth - bits) * rest;
  return count / kPackedValues * block + (raw ? rest * sizeof(T) : block);
}

}  // namespace rowfs
#endif  // ROWFS_STORAGE_LANCE_PACK_BITS_H_
