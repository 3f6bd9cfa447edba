#include "storage/parquet/schema_union.h"

#include <algorithm>
#include <cstring>

#include "storage/table/array_layout.h"

namespace rowfs {
namespace {

bool IsInteger(TypeId id) {
  return id >= TypeId::kInt8 && id <= TypeId::kUint64;
}

bool IsFloat(TypeId id) {
  return id == TypeId::kFloat || id == TypeId::kDouble;
}

double DoubleAt(const Array& array, uint64_t i) {
  float value = 0;
  std::memcpy(&value, array.FixedAt(i).data(), sizeof value);
  return static_cast<double>(value);
}

}  // namespace

TypePtr CommonType(const TypePtr& a, const TypePtr& b) {
  if (SameType(*a, *b) || b->id == TypeId::kNull) return a;
  if (a->id == TypeId::kNull) return b;
  const bool integers = IsInteger(a->id) && IsInteger(b->id) &&
                        IsUnsigned(a->id) == IsUnsigned(b->id);
  if (integers || (IsFloat(a->id) && IsFloat(b->id))) {
    return ValueWidth(*a) > ValueWidth(*b) ? a : b;
  }
  const bool bytes = IsByteLike(a->id) && IsByteLike(b->id);
  if (bytes && LargeForm(a->id) == LargeForm(b->id)) {
    return HasLargeOffsets(a->id) ? a : b;
  }
  return nullptr;
}

Status AddSchema(const Schema& file, Schema* schema) {
  for (const Field& field : file.fields) {
    const auto known = schema->Find(field.name);
    if (!known) {
      schema->fields.push_back(field);
      continue;
    }
    Field& kept = schema->fields[*known];
    const TypePtr type = CommonType(kept.type, field.type);
    if (type == nullptr) {
      return {Code::kInvalidArgument,
              "column " + field.name + " is " + field.type->ToString() +
                  ", but " + kept.type->ToString() + " in the files before"};
    }
    kept.type = type;
    kept.nullable = kept.nullable || field.nullable;
  }
  return {};
}

Array WidenArray(const Array& array, const TypePtr& type) {
  if (SameType(*array.type, *type)) return array;
  if (array.type->id == TypeId::kNull) return NullArray(type, array.length);
  ArrayBuilder builder(type);
  for (uint64_t i = 0; i < array.length; ++i) {
    if (array.IsNull(i)) {
      builder.AppendNull();
    } else if (IsByteLike(type->id)) {
      builder.AppendBytes(array.BytesAt(i));
    } else if (type->id == TypeId::kDouble) {
      builder.AppendDouble(DoubleAt(array, i));
    } else {
      builder.AppendInt(array.IntAt(i));
    }
  }
  return builder.Finish();
}

}  // namespace rowfs
