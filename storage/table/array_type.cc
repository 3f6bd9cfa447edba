#include <cassert>
#include <string>

#include "storage/table/array_layout.h"

namespace rowfs {
namespace {

std::string_view UnitName(TimeUnit unit) {
  switch (unit) {
    case TimeUnit::kSecond:
      return "s";
    case TimeUnit::kMilli:
      return "ms";
    case TimeUnit::kMicro:
      return "us";
    case TimeUnit::kNano:
      return "ns";
  }
  return "?";
}

std::string_view BaseName(TypeId id) {
  switch (id) {
    case TypeId::kNull:
      return "null";
    case TypeId::kBool:
      return "bool";
    case TypeId::kInt8:
      return "int8";
    case TypeId::kUint8:
      return "uint8";
    case TypeId::kInt16:
      return "int16";
    case TypeId::kUint16:
      return "uint16";
    case TypeId::kInt32:
      return "int32";
    case TypeId::kUint32:
      return "uint32";
    case TypeId::kInt64:
      return "int64";
    case TypeId::kUint64:
      return "uint64";
    case TypeId::kHalfFloat:
      return "halffloat";
    case TypeId::kFloat:
      return "float";
    case TypeId::kDouble:
      return "double";
    case TypeId::kString:
      return "string";
    case TypeId::kLargeString:
      return "large_string";
    case TypeId::kBinary:
      return "binary";
    case TypeId::kLargeBinary:
      return "large_binary";
    case TypeId::kFixedSizeBinary:
      return "fixed_size_binary";
    case TypeId::kDate32:
      return "date32[day]";
    case TypeId::kDate64:
      return "date64[ms]";
    case TypeId::kTime32:
      return "time32";
    case TypeId::kTime64:
      return "time64";
    case TypeId::kTimestamp:
      return "timestamp";
    case TypeId::kDuration:
      return "duration";
    case TypeId::kDecimal128:
      return "decimal128";
    case TypeId::kDecimal256:
      return "decimal256";
    case TypeId::kStruct:
      return "struct";
    case TypeId::kList:
      return "list";
    case TypeId::kLargeList:
      return "large_list";
    case TypeId::kFixedSizeList:
      return "fixed_size_list";
    case TypeId::kMap:
      return "map";
    case TypeId::kDictionary:
      return "dictionary";
    case TypeId::kBlob:
      return "blob";
  }
  return "?";
}

std::string ChildrenToString(const std::vector<Field>& fields) {
  std::string text = "<";
  for (const Field& field : fields) {
    if (text.size() > 1) text += ", ";
    text += field.name + ": " + field.type->ToString();
    if (!field.nullable) text += " not null";
  }
  return text + ">";
}

}  // namespace

std::string DataType::ToString() const {
  std::string text(BaseName(id));
  // The switch names the types whose name alone does not say it all.
  if (id == TypeId::kFixedSizeBinary) {
    text += "[" + std::to_string(width) + "]";
  } else if (id == TypeId::kTime32 || id == TypeId::kTime64 ||
             id == TypeId::kTimestamp || id == TypeId::kDuration) {
    text += "[" + std::string(UnitName(unit));
    text += zone.empty() ? "]" : ", tz=" + zone + "]";
  } else if (id == TypeId::kDecimal128 || id == TypeId::kDecimal256) {
    text +=
        "(" + std::to_string(precision) + ", " + std::to_string(scale) + ")";
  } else if (id == TypeId::kFixedSizeList) {
    text += ChildrenToString(children) + "[" + std::to_string(width) + "]";
  } else if (id == TypeId::kMap && children.size() == 1 &&
             children[0].type->children.size() == 2) {
    const std::vector<Field>& entry = children[0].type->children;
    text += "<" + entry[0].type->ToString() + ", " + entry[1].type->ToString() +
            ">";
  } else if (id == TypeId::kDictionary && children.size() == 2) {
    text += "<values=" + children[1].type->ToString() +
            ", indices=" + children[0].type->ToString() +
            ", ordered=" + (ordered ? "1>" : "0>");
  } else if (id == TypeId::kStruct || IsListLike(id)) {
    text += ChildrenToString(children);
  }
  return text;
}

TypePtr MakeType(TypeId id) {
  DataType type;
  type.id = id;
  return MakeType(std::move(type));
}

TypePtr MakeType(DataType type) {
  return std::make_shared<const DataType>(std::move(type));
}

std::optional<uint32_t> FixedWidth(const DataType& type) {
  switch (type.id) {
    case TypeId::kBool:
      return 0;
    case TypeId::kInt8:
    case TypeId::kUint8:
      return 1;
    case TypeId::kInt16:
    case TypeId::kUint16:
    case TypeId::kHalfFloat:
      return 2;
    case TypeId::kInt32:
    case TypeId::kUint32:
    case TypeId::kFloat:
    case TypeId::kDate32:
    case TypeId::kTime32:
      return 4;
    case TypeId::kInt64:
    case TypeId::kUint64:
    case TypeId::kDouble:
    case TypeId::kDate64:
    case TypeId::kTime64:
    case TypeId::kTimestamp:
    case TypeId::kDuration:
      return 8;
    case TypeId::kDecimal128:
      return 16;
    case TypeId::kDecimal256:
      return 32;
    case TypeId::kFixedSizeBinary:
      return type.width;
    case TypeId::kNull:
    case TypeId::kString:
    case TypeId::kLargeString:
    case TypeId::kBinary:
    case TypeId::kLargeBinary:
    case TypeId::kStruct:
    case TypeId::kList:
    case TypeId::kLargeList:
    case TypeId::kFixedSizeList:
    case TypeId::kMap:
    case TypeId::kDictionary:
    case TypeId::kBlob:
      return std::nullopt;
  }
  return std::nullopt;
}

bool IsByteLike(TypeId id) {
  return id == TypeId::kString || id == TypeId::kLargeString ||
         id == TypeId::kBinary || id == TypeId::kLargeBinary;
}

bool IsListLike(TypeId id) {
  return id == TypeId::kList || id == TypeId::kLargeList || id == TypeId::kMap;
}

bool HasLargeOffsets(TypeId id) {
  return id == TypeId::kLargeString || id == TypeId::kLargeBinary ||
         id == TypeId::kLargeList;
}

TypeId LargeForm(TypeId id) {
  if (id == TypeId::kString) return TypeId::kLargeString;
  if (id == TypeId::kBinary) return TypeId::kLargeBinary;
  return IsListLike(id) ? TypeId::kLargeList : id;
}

bool IsUnsigned(TypeId id) {
  return id == TypeId::kUint8 || id == TypeId::kUint16 ||
         id == TypeId::kUint32 || id == TypeId::kUint64;
}

uint32_t ValueWidth(const DataType& type) {
  if (type.id == TypeId::kDictionary) {
    return FixedWidth(*type.children[0].type).value_or(0);
  }
  return FixedWidth(type).value_or(0);
}

bool SameType(const DataType& a, const DataType& b) {
  if (&a == &b) return true;
  if (a.id != b.id || a.width != b.width || a.unit != b.unit ||
      a.zone != b.zone || a.precision != b.precision || a.scale != b.scale ||
      a.children.size() != b.children.size()) {
    return false;
  }
  for (size_t i = 0; i < a.children.size(); ++i) {
    if (a.children[i].name != b.children[i].name ||
        !SameType(*a.children[i].type, *b.children[i].type)) {
      return false;
    }
  }
  return true;
}

}  // namespace rowfs
