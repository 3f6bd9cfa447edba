#include "storage/lance/value_block.h"

#include <bit>
#include <cassert>
#include <cstring>
#include <limits>
#include <memory>
#include <string>
#include <utility>

namespace rowfs {
namespace {

thread_local uint64_t decode_limit = kDecodedBytesMax;

SharedBytes Share(Bytes bytes) {
  return std::make_shared<const Bytes>(std::move(bytes));
}

bool BitAt(ByteSpan bits, uint64_t i) {
  return (static_cast<unsigned>(bits[i / 8]) >> (i % 8) & 1u) != 0;
}

void SetBit(Bytes* bits, uint64_t i) {
  (*bits)[i / 8] |= std::byte{1} << (i % 8);
}

// The offsets of a list or string array of `type`, 32 or 64 bits wide.
Result<SharedBytes> PackOffsets(const std::vector<uint64_t>& offsets,
                                bool large) {
  if (large) {
    Bytes packed(offsets.size() * 8);
    std::memcpy(packed.data(), offsets.data(), packed.size());
    return Share(std::move(packed));
  }
  if (offsets.back() > std::numeric_limits<int32_t>::max()) {
    return Status(Code::kResourceExhausted,
                  std::to_string(offsets.back()) +
                      " bytes of values at once; read fewer rows");
  }
  Bytes packed(offsets.size() * 4);
  for (size_t i = 0; i < offsets.size(); ++i) {
    const auto offset = static_cast<uint32_t>(offsets[i]);
    std::memcpy(packed.data() + i * 4, &offset, 4);
  }
  return Share(std::move(packed));
}

Status Mismatch(const ValueBlock& block, const DataType& type) {
  static constexpr std::string_view kShapes[] = {"fixed-width", "variable",
                                                 "list", "struct"};
  std::string what(kShapes[static_cast<size_t>(block.shape)]);
  if (block.shape == ValueBlock::Shape::kFixed) {
    what += " " + std::to_string(block.bits) + "-bit";
  }
  return {Code::kCorruption,
          "the page holds " + what + " values, not " + type.ToString()};
}

bool IsByteLike(TypeId id) {
  return id == TypeId::kString || id == TypeId::kBinary ||
         id == TypeId::kLargeString || id == TypeId::kLargeBinary;
}

Result<Array> FixedArray(ValueBlock block, const TypePtr& type) {
  Array array{.type = type, .length = block.count};
  if (type->id == TypeId::kBool && block.bits == 8) {
    // Zipped pages give a bool a byte.
    Bytes bits((block.count + 7) / 8);
    for (uint64_t i = 0; i < block.count; ++i) {
      if (block.data[i] != std::byte{0}) SetBit(&bits, i);
    }
    array.data = Share(std::move(bits));
    return array;
  }
  const auto width = FixedWidth(*type);
  const bool fits = type->id == TypeId::kBool
                        ? block.bits == 1
                        : width && block.bits == uint64_t{*width} * 8;
  if (!fits) return Mismatch(block, *type);
  array.data = Share(std::move(block.data));
  return array;
}

Result<Array> ListArray(ValueBlock block, const TypePtr& type) {
  if (type->id != TypeId::kFixedSizeList || type->width != block.dimension) {
    return Mismatch(block, *type);
  }
  Array array{.type = type, .length = block.count};
  const ValueBlock& inside = block.children[0];
  if (inside.shape == ValueBlock::Shape::kFixed && inside.bits == 0) {
    // Items that are all null are not stored.
    array.children.push_back(NullArray(type->children[0].type, inside.count));
    return array;
  }
  ROWFS_ASSIGN_OR_RETURN(Array items, ToArray(std::move(block.children[0]),
                                              type->children[0].type));
  if (block.has_item_validity) {
    uint64_t valid = 0;
    for (uint64_t i = 0; i < items.length; ++i) {
      valid += BitAt(block.item_validity, i) ? 1 : 0;
    }
    items.null_count = items.length - valid;
    if (items.null_count > 0) {
      items.validity = Share(std::move(block.item_validity));
    }
  }
  array.children.push_back(std::move(items));
  return array;
}

Result<Array> StructArray(ValueBlock block, const TypePtr& type) {
  if (type->id != TypeId::kStruct ||
      type->children.size() != block.children.size()) {
    return Mismatch(block, *type);
  }
  Array array{.type = type, .length = block.count};
  for (size_t i = 0; i < block.children.size(); ++i) {
    ROWFS_ASSIGN_OR_RETURN(Array child, ToArray(std::move(block.children[i]),
                                                type->children[i].type));
    array.children.push_back(std::move(child));
  }
  return array;
}

Status GatherFixed(const ValueBlock& from, std::span<const uint64_t> indices,
                   ValueBlock* to) {
  ROWFS_ASSIGN_OR_RETURN(
      [[maybe_unused]] const uint64_t bytes,
      DecodedBytes(to->count + indices.size(), from.bits, "dictionary values"));
  if (from.bits == 1) {
    to->data.resize((to->count + indices.size() + 7) / 8);
    for (size_t i = 0; i < indices.size(); ++i) {
      if (BitAt(from.data, indices[i])) SetBit(&to->data, to->count + i);
    }
    return {};
  }
  const size_t width = from.bits / 8;
  size_t at = to->data.size();
  to->data.resize(at + indices.size() * width);
  if (width == 0) return {};
  for (const uint64_t index : indices) {
    std::memcpy(to->data.data() + at, from.data.data() + index * width, width);
    at += width;
  }
  return {};
}

// Both by their widths. False where an index is too large.
template <typename Index, typename Value>
bool GatherTyped(const ValueBlock& from, const ValueBlock& indices,
                 std::byte* out) {
  bool inside = true;
  for (uint64_t i = 0; i < indices.count; ++i) {
    Index index;
    std::memcpy(&index, indices.data.data() + i * sizeof(Index), sizeof(Index));
    const bool here = index < from.count;
    inside = inside && here;
    std::memcpy(out + i * sizeof(Value),
                from.data.data() + (here ? index : 0) * sizeof(Value),
                sizeof(Value));
  }
  return inside;
}

template <typename Index>
bool GatherIndexed(const ValueBlock& from, const ValueBlock& indices,
                   std::byte* out) {
  switch (from.bits) {
    case 8:
      return GatherTyped<Index, uint8_t>(from, indices, out);
    case 16:
      return GatherTyped<Index, uint16_t>(from, indices, out);
    case 32:
      return GatherTyped<Index, uint32_t>(from, indices, out);
    default:
      return GatherTyped<Index, uint64_t>(from, indices, out);
  }
}

Status GatherVariable(const ValueBlock& from, std::span<const uint64_t> indices,
                      ValueBlock* to) {
  uint64_t total = to->data.size();
  for (const uint64_t index : indices) {
    total += from.offsets[index + 1] - from.offsets[index];
  }
  ROWFS_ASSIGN_OR_RETURN([[maybe_unused]] const uint64_t bytes,
                         DecodedBytes(total, 8, "dictionary values"));
  to->data.reserve(total);
  for (const uint64_t index : indices) {
    const uint64_t begin = from.offsets[index];
    AppendBytes(&to->data, ByteSpan(from.data).subspan(
                               begin, from.offsets[index + 1] - begin));
    to->offsets.push_back(to->data.size());
  }
  return {};
}

// `indices` of lists: their items lie behind one another.
Status GatherLists(const ValueBlock& from, std::span<const uint64_t> indices,
                   ValueBlock* to) {
  const uint64_t length = from.dimension;
  ROWFS_RETURN_IF_ERROR(
      DecodedBytes(to->count + indices.size(), length, "dictionary values")
          .status());  // at a bit an item
  const uint64_t count = indices.size() * length;
  if (from.has_item_validity) {
    uint64_t at = to->count * length;
    to->item_validity.resize((at + count + 7) / 8);
    for (const uint64_t index : indices) {
      for (uint64_t k = 0; k < length; ++k, ++at) {
        if (!BitAt(from.item_validity, index * length + k)) continue;
        SetBit(&to->item_validity, at);
      }
    }
  }
  const ValueBlock& items = from.children[0];
  ValueBlock& out = to->children[0];
  const auto needed = CheckedMul(from.count, length);
  if (items.shape == ValueBlock::Shape::kFixed && items.bits >= 8 && needed &&
      *needed <= items.count) {
    ROWFS_RETURN_IF_ERROR(
        DecodedBytes(out.count + count, items.bits, "dictionary values")
            .status());
    const size_t bytes = length * items.bits / 8;
    size_t at = out.data.size();
    out.data.resize(at + indices.size() * bytes);
    for (const uint64_t index : indices) {
      std::memcpy(out.data.data() + at, items.data.data() + index * bytes,
                  bytes);
      at += bytes;
    }
    out.count += count;
    return {};
  }
  std::vector<uint64_t> each;
  for (const uint64_t index : indices) {
    for (uint64_t k = 0; k < length; ++k) each.push_back(index * length + k);
  }
  return GatherValues(items, each, &out);
}

}  // namespace

void AppendBits(ByteSpan from, uint64_t begin, uint64_t count, Bytes* to,
                uint64_t at) {
  to->resize((at + count + 7) / 8);
  if (count == 0) return;
  if (begin % 8 == 0 && at % 8 == 0) {
    std::memcpy(to->data() + at / 8, from.data() + begin / 8, (count + 7) / 8);
    // Bits behind the last value are zero, so that appending can OR.
    if ((at + count) % 8 != 0) {
      to->back() &= std::byte{0xff} >> (8 - (at + count) % 8);
    }
    return;
  }
  for (uint64_t i = 0; i < count; ++i) {
    if (BitAt(from, begin + i)) SetBit(to, at + i);
  }
}

void AppendOnes(uint64_t count, Bytes* to, uint64_t at) {
  to->resize((at + count + 7) / 8);
  for (uint64_t i = at; i < at + count; ++i) SetBit(to, i);
}

DecodeLimit::DecodeLimit(uint64_t bytes) : before_(decode_limit) {
  decode_limit = bytes;  // also more: tables are not less for fewer rows
}

DecodeLimit::~DecodeLimit() { decode_limit = before_; }

uint64_t DecodeLimit::Bytes() { return decode_limit; }

Result<uint64_t> DecodedBytes(uint64_t count, uint64_t bits,
                              std::string_view what) {
  const auto total = CheckedMul(count, bits);
  if (!total || *total / 8 > DecodeLimit::Bytes()) {
    return Status(Code::kResourceExhausted,
                  std::string(what) + ": " + std::to_string(count) +
                      " values of " + std::to_string(bits) +
                      " bits are more than may be decoded at once");
  }
  return (*total + 7) / 8;
}

Status GatherValues(const ValueBlock& from, std::span<const uint64_t> indices,
                    ValueBlock* to) {
  for (const uint64_t index : indices) {
    if (index < from.count) continue;
    return {Code::kCorruption, "index " + std::to_string(index) +
                                   " into a dictionary of " +
                                   std::to_string(from.count)};
  }
  assert(from.shape == to->shape);
  switch (from.shape) {
    case ValueBlock::Shape::kFixed:
      ROWFS_RETURN_IF_ERROR(GatherFixed(from, indices, to));
      break;
    case ValueBlock::Shape::kVariable:
      ROWFS_RETURN_IF_ERROR(GatherVariable(from, indices, to));
      break;
    case ValueBlock::Shape::kList:
      ROWFS_RETURN_IF_ERROR(GatherLists(from, indices, to));
      break;
    case ValueBlock::Shape::kStruct:
      for (size_t i = 0; i < from.children.size(); ++i) {
        ROWFS_RETURN_IF_ERROR(
            GatherValues(from.children[i], indices, &to->children[i]));
      }
      break;
  }
  to->count += indices.size();
  return {};
}

Status GatherAt(const ValueBlock& from, const ValueBlock& indices,
                ValueBlock* to) {
  const bool whole =
      from.bits == 8 || from.bits == 16 || from.bits == 32 || from.bits == 64;
  if (from.shape != ValueBlock::Shape::kFixed || !whole || from.count == 0) {
    return GatherValues(from, ToIntegers(indices), to);
  }
  ROWFS_RETURN_IF_ERROR(
      DecodedBytes(to->count + indices.count, from.bits, "dictionary values")
          .status());
  const size_t at = to->data.size();
  to->data.resize(at + indices.count * from.bits / 8);
  std::byte* const out = to->data.data() + at;
  const bool inside =
      indices.bits == 8    ? GatherIndexed<uint8_t>(from, indices, out)
      : indices.bits == 16 ? GatherIndexed<uint16_t>(from, indices, out)
      : indices.bits == 32 ? GatherIndexed<uint32_t>(from, indices, out)
                           : GatherIndexed<uint64_t>(from, indices, out);
  if (!inside) {
    return {Code::kCorruption, "an index into a dictionary of " +
                                   std::to_string(from.count) +
                                   " is past its end"};
  }
  to->count += indices.count;
  return {};
}

void Reserve(uint64_t count, uint64_t bytes, ValueBlock* block) {
  const auto grown = [](uint64_t more, auto* buffer) {
    if (more <= kDecodedBytesMax) buffer->reserve(buffer->size() + more);
  };
  switch (block->shape) {
    case ValueBlock::Shape::kFixed:
      if (const auto bits = CheckedMul(count, block->bits)) {
        grown(*bits / 8 + 1, &block->data);
      }
      break;
    case ValueBlock::Shape::kVariable:
      grown(bytes, &block->data);
      grown(count, &block->offsets);
      break;
    case ValueBlock::Shape::kList:
      if (const auto items = CheckedMul(count, block->dimension)) {
        Reserve(*items, bytes, &block->children[0]);
      }
      break;
    case ValueBlock::Shape::kStruct:
      for (ValueBlock& child : block->children) Reserve(count, bytes, &child);
      break;
  }
}

void AppendBlank(uint64_t count, ValueBlock* to) {
  to->count += count;
  switch (to->shape) {
    case ValueBlock::Shape::kFixed:
      to->data.resize((to->count * to->bits + 7) / 8);
      break;
    case ValueBlock::Shape::kVariable:
      to->offsets.resize(to->count + 1, to->offsets.back());
      break;
    case ValueBlock::Shape::kList:
      AppendBlank(count * to->dimension, &to->children[0]);
      if (to->has_item_validity) {
        to->item_validity.resize((to->count * to->dimension + 7) / 8);
      }
      break;
    case ValueBlock::Shape::kStruct:
      for (ValueBlock& child : to->children) AppendBlank(count, &child);
      break;
  }
}

std::vector<uint64_t> ToIntegers(const ValueBlock& block) {
  assert(block.shape == ValueBlock::Shape::kFixed && block.bits % 8 == 0 &&
         block.bits / 8 >= 1 && block.bits / 8 <= 8);
  const size_t width = block.bits / 8;
  std::vector<uint64_t> values(block.count);
  for (size_t i = 0; i < values.size(); ++i) {
    std::memcpy(&values[i], block.data.data() + i * width, width);
  }
  return values;
}

Result<Array> ToArray(ValueBlock block, const TypePtr& type) {
  switch (block.shape) {
    case ValueBlock::Shape::kFixed:
      return FixedArray(std::move(block), type);
    case ValueBlock::Shape::kList:
      return ListArray(std::move(block), type);
    case ValueBlock::Shape::kStruct:
      return StructArray(std::move(block), type);
    case ValueBlock::Shape::kVariable:
      break;
  }
  if (!IsByteLike(type->id)) return Mismatch(block, *type);
  Array array{.type = type, .length = block.count};
  const bool large =
      type->id == TypeId::kLargeString || type->id == TypeId::kLargeBinary;
  ROWFS_ASSIGN_OR_RETURN(array.offsets, PackOffsets(block.offsets, large));
  array.data = Share(std::move(block.data));
  return array;
}

}  // namespace rowfs
