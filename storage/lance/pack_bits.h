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

}  // namespace rowfs
#endif  // ROWFS_STORAGE_LANCE_PACK_BITS_H_
