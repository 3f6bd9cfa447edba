// Which buffers a type has and how wide its values are: what the parts of the
// array model share among themselves. Users of arrays need only array.h.
//
// Pure functions, thread-safe.
#ifndef ROWFS_STORAGE_TABLE_ARRAY_LAYOUT_H_
#define ROWFS_STORAGE_TABLE_ARRAY_LAYOUT_H_

#include <cstdint>
#include <limits>

#include "storage/table/array.h"

namespace rowfs {

// The largest offset a string, binary, list or map without "large" can hold.
inline constexpr uint64_t kSmallOffsetMax = std::numeric_limits<int32_t>::max();

// Strings and binaries: values are bytes between two offsets.
bool IsByteLike(TypeId id);
// Lists and maps: values are items of children[0] between two offsets.
bool IsListLike(TypeId id);
// Offsets are 64 bits wide.
bool HasLargeOffsets(TypeId id);
// The type with 64-bit offsets that holds the same values; `id` itself when it
// has them already. A map becomes a list of its entries.
TypeId LargeForm(TypeId id);
bool IsUnsigned(TypeId id);

// Bytes per value in `data`: FixedWidth, or the width of a dictionary's
// indices; 0 for types whose values are not there.
uint32_t ValueWidth(const DataType& type);

// Whether values of the two are laid out and meant alike: every parameter and
// child agrees, field metadata and nullability aside.
bool SameType(const DataType& a, const DataType& b);

// Make the type of a struct or list say what its children have become, where a
// child took its large form.
void AdoptChildTypes(Array* array);

}  // namespace rowfs
#endif  // ROWFS_STORAGE_TABLE_ARRAY_LAYOUT_H_
