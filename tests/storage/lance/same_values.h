// Whether two arrays hold the same values, whatever their buffers look like.
#ifndef ROWFS_TESTS_STORAGE_LANCE_SAME_VALUES_H_
#define ROWFS_TESTS_STORAGE_LANCE_SAME_VALUES_H_

#include <algorithm>
#include <string>

#include "storage/base/bytes.h"
#include "storage/table/array.h"
#include "storage/table/array_layout.h"

namespace rowfs {

inline bool SameValue(const Array& a, uint64_t i, const Array& b, uint64_t j);

inline bool SameItems(const Array& a, ByteRange from, const Array& b,
                      ByteRange with) {
  if (from.size() != with.size()) return false;
  for (uint64_t k = 0; k < from.size(); ++k) {
    if (!SameValue(a, from.begin + k, b, with.begin + k)) return false;
  }
  return true;
}

// The value a dictionary's index stands for.
inline uint64_t DictionaryIndex(const Array& array, uint64_t i) {
  const uint32_t width = ValueWidth(*array.type);
  return LoadUint(ByteSpan(*array.data).subspan(i * width), width);
}

inline bool SameValue(const Array& a, uint64_t i, const Array& b, uint64_t j) {
  if (a.type->id == TypeId::kNull)
    return b.IsNull(j) || b.null_count == b.length;
  if (a.IsNull(i) || b.IsNull(j)) return a.IsNull(i) && b.IsNull(j);
  if (a.dictionary != nullptr) {
    return SameValue(*a.dictionary, DictionaryIndex(a, i), b, j);
  }
  if (b.dictionary != nullptr) {
    return SameValue(a, i, *b.dictionary, DictionaryIndex(b, j));
  }
  if (a.type->id == TypeId::kBool) return a.BoolAt(i) == b.BoolAt(j);
  if (IsByteLike(a.type->id)) {
    return std::ranges::equal(a.BytesAt(i), b.BytesAt(j));
  }
  if (IsListLike(a.type->id)) {
    return SameItems(a.children[0], {a.OffsetAt(i), a.OffsetAt(i + 1)},
                     b.children[0], {b.OffsetAt(j), b.OffsetAt(j + 1)});
  }
  if (a.type->id == TypeId::kFixedSizeList) {
    const uint64_t n = a.type->width;
    return SameItems(a.children[0], {i * n, i * n + n}, b.children[0],
                     {j * n, j * n + n});
  }
  if (a.type->id == TypeId::kStruct) {
    for (size_t k = 0; k < a.children.size(); ++k) {
      if (!SameValue(a.children[k], i, b.children[k], j)) return false;
    }
    return true;
  }
  return std::ranges::equal(a.FixedAt(i), b.FixedAt(j));
}

// Equal to the last byte: quick to see for long arrays.
inline bool SameBuffers(const Array& a, const Array& b) {
  const auto same = [](const SharedBytes& x, const SharedBytes& y) {
    return x == y || (x != nullptr && y != nullptr && *x == *y);
  };
  if (a.type->id != b.type->id || a.length != b.length ||
      a.null_count != b.null_count || a.dictionary != nullptr ||
      a.children.size() != b.children.size() || !same(a.offsets, b.offsets) ||
      !same(a.data, b.data) ||
      (a.null_count > 0 && !same(a.validity, b.validity))) {
    return false;
  }
  for (size_t i = 0; i < a.children.size(); ++i) {
    if (!SameBuffers(a.children[i], b.children[i])) return false;
  }
  return true;
}

// The first row that differs, or -1; blobs are not looked into.
inline int64_t FirstDifference(const Array& a, const Array& b) {
  if (a.length != b.length) {
    return static_cast<int64_t>(std::min(a.length, b.length));
  }
  if (SameBuffers(a, b)) return -1;
  for (uint64_t i = 0; i < a.length; ++i) {
    if (!SameValue(a, i, b, i)) return static_cast<int64_t>(i);
  }
  return -1;
}

}  // namespace rowfs
#endif  // ROWFS_TESTS_STORAGE_LANCE_SAME_VALUES_H_
