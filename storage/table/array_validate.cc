#include <bit>
#include <cstring>
#include <string>

#include "storage/table/array_layout.h"

namespace rowfs {
namespace {

// Deeper than any table a person makes; bounds the recursion.
constexpr size_t kDepthMax = 64;

Status Bad(const std::string& what, std::string_view message) {
  return {Code::kCorruption, what + ": " + std::string(message)};
}

uint64_t BitBytes(uint64_t bits) { return bits / 8 + (bits % 8 != 0); }

uint64_t SizeOf(const SharedBytes& buffer) {
  return buffer == nullptr ? 0 : buffer->size();
}

Status CheckSize(const SharedBytes& buffer, std::optional<uint64_t> wanted,
                 std::string_view part, const std::string& what) {
  if (wanted && SizeOf(buffer) >= *wanted) return {};
  return Bad(what, "its " + std::string(part) + " have " +
                       std::to_string(SizeOf(buffer)) + " bytes, " +
                       (wanted ? std::to_string(*wanted) : "too many") +
                       " wanted");
}

uint64_t CountZeros(const Bytes& bits, uint64_t length) {
  uint64_t ones = 0;
  uint64_t i = 0;
  for (; i + 64 <= length; i += 64) {
    ones += static_cast<uint64_t>(
        std::popcount(LoadU64(ByteSpan(bits).subspan(i / 8))));
  }
  for (; i < length; ++i) {
    ones += (static_cast<unsigned>(bits[i / 8]) >> (i % 8)) & 1U;
  }
  return length - ones;
}

Status CheckValidity(const Array& array, const std::string& what) {
  if (array.type->id == TypeId::kNull) return {};
  if (array.validity == nullptr) {
    if (array.null_count == 0) return {};
    return Bad(what, "nulls without a validity bitmap");
  }
  ROWFS_RETURN_IF_ERROR(
      CheckSize(array.validity, BitBytes(array.length), "validity bits", what));
  if (CountZeros(*array.validity, array.length) != array.null_count) {
    return Bad(what, "null count and validity bits disagree");
  }
  return {};
}

// Offsets rise from >= 0 to at most `limit`.
// Whether the offsets rise and end at `limit` at most.
template <typename T>
bool AreOrdered(const Array& array, uint64_t limit) {
  const std::byte* at = array.offsets->data();
  T previous = 0;
  bool good = true;
  for (uint64_t i = 0; i <= array.length; ++i) {
    T offset;
    std::memcpy(&offset, at + i * sizeof(T), sizeof(T));
    good = good && offset >= previous;
    previous = offset;
  }
  return good && uint64_t{previous} <= limit;
}

Status CheckOffsets(const Array& array, uint64_t limit,
                    const std::string& what) {
  if (array.offsets == nullptr && array.length == 0) return {};
  const uint64_t width = HasLargeOffsets(array.type->id) ? 8 : 4;
  const auto count = CheckedAdd(array.length, 1);
  const auto wanted = count ? CheckedMul(*count, width) : std::nullopt;
  ROWFS_RETURN_IF_ERROR(CheckSize(array.offsets, wanted, "offsets", what));
  // Good ones are the rule; the loop below finds out what is wrong.
  const bool good = width == 8 ? AreOrdered<uint64_t>(array, limit)
                               : AreOrdered<uint32_t>(array, limit);
  if (good) return {};
  uint64_t previous = 0;
  for (uint64_t i = 0; i <= array.length; ++i) {
    // A negative offset reads as one above any limit.
    const uint64_t offset = array.OffsetAt(i);
    if (offset < previous || offset > limit) {
      return Bad(what, "offset " + std::to_string(i) + " is " +
                           std::to_string(offset) + ", outside " +
                           std::to_string(previous) + ".." +
                           std::to_string(limit));
    }
    previous = offset;
  }
  return {};
}

// The type itself makes sense: readers build types from untrusted bytes too.
Status CheckType(const DataType& type, const std::string& what) {
  size_t children = 0;
  if (type.id == TypeId::kDictionary) children = 2;
  if (IsListLike(type.id) || type.id == TypeId::kFixedSizeList) children = 1;
  if (type.id == TypeId::kStruct) children = type.children.size();
  if (type.children.size() != children) {
    return Bad(what, "a type with " + std::to_string(type.children.size()) +
                         " children");
  }
  for (const Field& field : type.children) {
    if (field.type == nullptr) return Bad(what, "a child without a type");
  }
  if (type.id == TypeId::kMap) {
    const DataType& entry = *type.children[0].type;
    if (entry.id != TypeId::kStruct || entry.children.size() != 2) {
      return Bad(what, "a map whose entries are not key and value");
    }
  }
  if (type.id == TypeId::kDictionary) {
    const TypeId index = type.children[0].type->id;
    if (index < TypeId::kInt8 || index > TypeId::kUint64) {
      return Bad(what, "a dictionary whose indices are not integers");
    }
  }
  return {};
}

Status ValidateAt(const Array& array, const std::string& what, size_t depth);

Status CheckChildren(const Array& array, const std::string& what,
                     size_t depth) {
  const bool nested = array.type->id != TypeId::kDictionary;
  const size_t wanted = nested ? array.type->children.size() : 0;
  if (array.children.size() != wanted) {
    return Bad(what, std::to_string(array.children.size()) + " child arrays, " +
                         std::to_string(wanted) + " wanted");
  }
  for (size_t i = 0; i < wanted; ++i) {
    const Field& field = array.type->children[i];
    const Array& child = array.children[i];
    const std::string child_what = what + "." + field.name;
    ROWFS_RETURN_IF_ERROR(ValidateAt(child, child_what, depth + 1));
    if (!SameType(*child.type, *field.type)) {
      return Bad(child_what, "an array of " + child.type->ToString() +
                                 " where " + field.type->ToString() +
                                 " belongs");
    }
  }
  return {};
}

Status CheckDictionary(const Array& array, const std::string& what,
                       size_t depth) {
  if (array.dictionary == nullptr) return Bad(what, "no dictionary");
  ROWFS_RETURN_IF_ERROR(
      ValidateAt(*array.dictionary, what + " dictionary", depth + 1));
  if (!SameType(*array.dictionary->type, *array.type->children[1].type)) {
    return Bad(what, "a dictionary of " + array.dictionary->type->ToString());
  }
  for (uint64_t i = 0; i < array.length; ++i) {
    if (array.IsNull(i)) continue;
    // A negative index reads as one past any dictionary.
    const auto index = static_cast<uint64_t>(array.IntAt(i));
    if (index >= array.dictionary->length) {
      return Bad(what, "value " + std::to_string(i) +
                           " is not in the dictionary of " +
                           std::to_string(array.dictionary->length));
    }
  }
  return {};
}

Status CheckNested(const Array& array, const std::string& what) {
  const TypeId id = array.type->id;
  if (id == TypeId::kStruct) {
    for (const Array& child : array.children) {
      if (child.length == array.length) continue;
      return Bad(what, "a field of " + std::to_string(child.length) +
                           " values in a struct of " +
                           std::to_string(array.length));
    }
  }
  if (id == TypeId::kFixedSizeList) {
    const auto items = CheckedMul(array.length, array.type->width);
    if (!items || array.children[0].length < *items) {
      return Bad(what, std::to_string(array.children[0].length) + " items in " +
                           std::to_string(array.length) + " lists of " +
                           std::to_string(array.type->width));
    }
  }
  if (IsListLike(id)) {
    return CheckOffsets(array, array.children[0].length, what);
  }
  return {};
}

Status ValidateAt(const Array& array, const std::string& what, size_t depth) {
  if (depth > kDepthMax) return Bad(what, "nested too deeply");
  if (array.type == nullptr) return Bad(what, "an array without a type");
  const DataType& type = *array.type;
  ROWFS_RETURN_IF_ERROR(CheckType(type, what));
  ROWFS_RETURN_IF_ERROR(CheckValidity(array, what));
  ROWFS_RETURN_IF_ERROR(CheckChildren(array, what, depth));
  ROWFS_RETURN_IF_ERROR(CheckNested(array, what));
  if (type.id == TypeId::kBool) {
    ROWFS_RETURN_IF_ERROR(
        CheckSize(array.data, BitBytes(array.length), "values", what));
  } else if (const uint32_t width = ValueWidth(type); width != 0) {
    ROWFS_RETURN_IF_ERROR(
        CheckSize(array.data, CheckedMul(array.length, width), "values", what));
  }
  if (IsByteLike(type.id)) {
    return CheckOffsets(array, SizeOf(array.data), what);
  }
  if (type.id == TypeId::kDictionary) {
    return CheckDictionary(array, what, depth);
  }
  if (type.id == TypeId::kBlob && array.blobs.size() != array.length) {
    return Bad(what, std::to_string(array.blobs.size()) + " blob cells, " +
                         std::to_string(array.length) + " wanted");
  }
  return {};
}

}  // namespace

Status Validate(const Array& array, std::string_view what) {
  return ValidateAt(array, std::string(what), 0);
}

}  // namespace rowfs
