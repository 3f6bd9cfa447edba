#include "storage/table/array.h"

#include <cassert>

#include "storage/table/array_layout.h"

namespace rowfs {
namespace {

bool BitAt(const SharedBytes& bits, uint64_t i) {
  return ((static_cast<unsigned>((*bits)[i / 8]) >> (i % 8)) & 1U) != 0;
}

}  // namespace

std::optional<std::string> Field::FindMetadata(std::string_view key) const {
  for (const auto& [name_in, value] : metadata) {
    if (name_in == key) return value;
  }
  return std::nullopt;
}

std::optional<size_t> Schema::Find(std::string_view name) const {
  for (size_t i = 0; i < fields.size(); ++i) {
    if (fields[i].name == name) return i;
  }
  return std::nullopt;
}

bool Array::IsNull(uint64_t i) const {
  assert(i < length);
  if (type->id == TypeId::kNull) return true;
  return validity != nullptr && !BitAt(validity, i);
}

uint64_t Array::OffsetAt(uint64_t i) const {
  assert(i <= length);
  if (offsets == nullptr) return 0;  // no values
  if (HasLargeOffsets(type->id)) {
    return LoadU64(ByteSpan(*offsets).subspan(i * 8));
  }
  return LoadU32(ByteSpan(*offsets).subspan(i * 4));
}

ByteSpan Array::BytesAt(uint64_t i) const {
  const uint64_t begin = OffsetAt(i);
  const uint64_t end = OffsetAt(i + 1);
  if (begin == end) return {};
  return ByteSpan(*data).subspan(begin, end - begin);
}

ByteSpan Array::FixedAt(uint64_t i) const {
  assert(i < length);
  const uint32_t width = ValueWidth(*type);
  if (width == 0) return {};
  return ByteSpan(*data).subspan(i * width, width);
}

bool Array::BoolAt(uint64_t i) const {
  assert(i < length && type->id == TypeId::kBool);
  return BitAt(data, i);
}

int64_t Array::IntAt(uint64_t i) const {
  const ByteSpan bytes = FixedAt(i);
  const uint64_t value = LoadUint(bytes, bytes.size());
  const TypeId id =
      type->id == TypeId::kDictionary ? type->children[0].type->id : type->id;
  if (IsUnsigned(id) || bytes.size() == 8) return static_cast<int64_t>(value);
  const unsigned unused_bits = 64 - static_cast<unsigned>(bytes.size()) * 8;
  return static_cast<int64_t>(value << unused_bits) >> unused_bits;
}

Array NullArray(TypePtr type, uint64_t length) {
  const auto zeros = [](uint64_t size) {
    return std::make_shared<const Bytes>(Bytes(size));
  };
  Array array{.type = std::move(type), .length = length, .null_count = length};
  const DataType& of = *array.type;
  if (of.id == TypeId::kNull) return array;
  if (length > 0) array.validity = zeros((length + 7) / 8);
  if (of.id == TypeId::kBool) array.data = zeros((length + 7) / 8);
  if (IsByteLike(of.id)) array.data = zeros(0);
  if (const uint64_t width = ValueWidth(of)) array.data = zeros(length * width);
  if (IsByteLike(of.id) || IsListLike(of.id)) {
    array.offsets = zeros((length + 1) * (HasLargeOffsets(of.id) ? 8 : 4));
  }
  if (of.id == TypeId::kBlob) array.blobs.resize(length);
  if (of.id == TypeId::kDictionary) {
    array.dictionary =
        std::make_shared<const Array>(NullArray(of.children[1].type, 0));
    return array;
  }
  // A null still takes its place in children that count along with it.
  const uint64_t items = of.id == TypeId::kStruct          ? 1
                         : of.id == TypeId::kFixedSizeList ? of.width
                                                           : 0;
  for (const Field& child : of.children) {
    array.children.push_back(NullArray(child.type, length * items));
  }
  return array;
}

}  // namespace rowfs
