#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "storage/lance/column_reader.h"
#include "storage/lance/json_binary.h"

namespace rowfs {
namespace {

bool IsJson(const LanceField& field) { return field.logical_type == "json"; }

// What tells two values apart: their bytes.
std::string_view KeyOf(const Array& values, uint64_t i) {
  if (values.offsets != nullptr) return AsText(values.BytesAt(i));
  if (values.type->id == TypeId::kBool) return values.BoolAt(i) ? "1" : "0";
  return AsText(values.FixedAt(i));
}

uint64_t IndexMax(TypeId id) {
  if (id == TypeId::kInt8) return std::numeric_limits<int8_t>::max();
  if (id == TypeId::kUint8) return std::numeric_limits<uint8_t>::max();
  if (id == TypeId::kInt16) return std::numeric_limits<int16_t>::max();
  if (id == TypeId::kUint16) return std::numeric_limits<uint16_t>::max();
  return std::numeric_limits<int32_t>::max();
}

// Pages hold the values, or a dictionary each; an array has one dictionary, in
// order of first occurrence.
Result<Array> EncodeDictionary(const TypePtr& type, const Array& values) {
  const DataType& index_type = *type->children[0].type;
  const bool keyed = values.offsets != nullptr ||
                     values.type->id == TypeId::kBool ||
                     FixedWidth(*values.type).has_value();
  if (!keyed) {
    return Status(Code::kUnsupported, "a " + type->ToString());
  }
  const size_t width = *FixedWidth(index_type);
  Array array{.type = type,
              .length = values.length,
              .null_count = values.null_count,
              .validity = values.validity};
  std::unordered_map<std::string_view, uint64_t> index_of;
  std::vector<uint64_t> distinct;
  Bytes indices;
  indices.reserve(values.length * width);
  for (uint64_t i = 0; i < values.length; ++i) {
    if (values.IsNull(i)) {
      AppendUint(&indices, 0, width);
      continue;
    }
    const auto [found, inserted] =
        index_of.try_emplace(KeyOf(values, i), distinct.size());
    if (inserted) distinct.push_back(i);
    AppendUint(&indices, found->second, width);
  }
  if (!distinct.empty() && distinct.size() - 1 > IndexMax(index_type.id)) {
    return Status(Code::kUnsupported, std::to_string(distinct.size()) +
                                          " distinct values at once in a " +
                                          type->ToString());
  }
  array.data = std::make_shared<const Bytes>(std::move(indices));
  array.dictionary = std::make_shared<const Array>(TakeArray(values, distinct));
  return array;
}

Result<Array> JsonText(const Array& values) {
  ArrayBuilder text(MakeType(TypeId::kString));
  for (uint64_t i = 0; i < values.length; ++i) {
    if (values.IsNull(i)) {
      text.AppendNull();
      continue;
    }
    ROWFS_ASSIGN_OR_RETURN(const std::string json,
                           DecodeJsonBinary(values.BytesAt(i)));
    text.AppendBytes(AsBytes(json));
  }
  return text.Finish();
}

}  // namespace

TypePtr StoredLeafType(const LanceField& field) {
  if (IsJson(field)) return MakeType(TypeId::kLargeBinary);
  const TypePtr& type = field.field.type;
  return type->id == TypeId::kDictionary ? type->children[1].type : type;
}

Result<Array> FinishLeaf(const LanceField& field, Array values) {
  if (IsJson(field)) return JsonText(values);
  if (field.field.type->id == TypeId::kDictionary) {
    return EncodeDictionary(field.field.type, values);
  }
  return values;
}

}  // namespace rowfs
