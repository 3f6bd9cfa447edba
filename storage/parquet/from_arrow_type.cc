#include <arrow/extension_type.h>
#include <arrow/util/key_value_metadata.h>

#include <string>

#include "storage/parquet/from_arrow.h"

namespace rowfs {
namespace {

constexpr size_t kDepthMax = 64;

Result<TypePtr> Convert(const arrow::DataType& type, size_t depth);

Result<Field> ConvertField(const arrow::Field& field, size_t depth) {
  Field out;
  out.name = field.name();
  out.nullable = field.nullable();
  ROWFS_ASSIGN_OR_RETURN(out.type, Convert(*field.type(), depth));
  if (field.metadata() != nullptr) {
    out.metadata = field.metadata()->sorted_pairs();
  }
  if (field.type()->id() == arrow::Type::EXTENSION) {
    const auto& extension =
        dynamic_cast<const arrow::ExtensionType&>(*field.type());
    out.metadata.emplace_back("ARROW:extension:name",
                              extension.extension_name());
    out.metadata.emplace_back("ARROW:extension:metadata",
                              extension.Serialize());
  }
  return out;
}

TimeUnit UnitOf(arrow::TimeUnit::type unit) {
  switch (unit) {
    case arrow::TimeUnit::SECOND:
      return TimeUnit::kSecond;
    case arrow::TimeUnit::MILLI:
      return TimeUnit::kMilli;
    case arrow::TimeUnit::MICRO:
      return TimeUnit::kMicro;
    case arrow::TimeUnit::NANO:
      return TimeUnit::kNano;
  }
  return TimeUnit::kNano;
}

template <typename T>
const T& As(const arrow::DataType& type) {
  return dynamic_cast<const T&>(type);
}

Result<TypePtr> WithChildren(TypeId id, const arrow::DataType& type,
                             size_t depth) {
  DataType out{.id = id};
  for (const auto& field : type.fields()) {
    ROWFS_ASSIGN_OR_RETURN(out.children.emplace_back(),
                           ConvertField(*field, depth + 1));
  }
  // Of a union's members all but one are null.
  if (arrow::is_union(type.id())) {
    for (Field& child : out.children) child.nullable = true;
  }
  return MakeType(std::move(out));
}

TypePtr Parts(std::initializer_list<std::pair<const char*, TypeId>> parts) {
  DataType out{.id = TypeId::kStruct};
  for (const auto& [name, id] : parts) {
    out.children.push_back({.name = name, .type = MakeType(id)});
  }
  return MakeType(std::move(out));
}

TypePtr Decimal(TypeId id, const arrow::DataType& type) {
  const auto& decimal = As<arrow::DecimalType>(type);
  return MakeType(DataType{
      .id = id, .precision = decimal.precision(), .scale = decimal.scale()});
}

TypePtr Temporal(TypeId id, arrow::TimeUnit::type unit, std::string zone = {}) {
  return MakeType(
      DataType{.id = id, .unit = UnitOf(unit), .zone = std::move(zone)});
}

Result<TypePtr> ConvertDictionary(const arrow::DictionaryType& type,
                                  size_t depth) {
  DataType out{.id = TypeId::kDictionary, .ordered = type.ordered()};
  Field index{.name = "index", .type = nullptr};
  Field value{.name = "value", .type = nullptr};
  ROWFS_ASSIGN_OR_RETURN(index.type, Convert(*type.index_type(), depth + 1));
  ROWFS_ASSIGN_OR_RETURN(value.type, Convert(*type.value_type(), depth + 1));
  out.children = {std::move(index), std::move(value)};
  return MakeType(std::move(out));
}

// The types that are one of ours but for parameters.
Result<TypePtr> ConvertSpecial(const arrow::DataType& type, size_t depth) {
  switch (type.id()) {
    case arrow::Type::FIXED_SIZE_BINARY:
      return MakeType(
          DataType{.id = TypeId::kFixedSizeBinary,
                   .width = static_cast<uint32_t>(
                       As<arrow::FixedSizeBinaryType>(type).byte_width())});
    case arrow::Type::TIME32:
      return Temporal(TypeId::kTime32, As<arrow::TimeType>(type).unit());
    case arrow::Type::TIME64:
      return Temporal(TypeId::kTime64, As<arrow::TimeType>(type).unit());
    case arrow::Type::DURATION:
      return Temporal(TypeId::kDuration, As<arrow::DurationType>(type).unit());
    case arrow::Type::TIMESTAMP: {
      const auto& timestamp = As<arrow::TimestampType>(type);
      return Temporal(TypeId::kTimestamp, timestamp.unit(),
                      timestamp.timezone());
    }
    case arrow::Type::DECIMAL32:
    case arrow::Type::DECIMAL64:
    case arrow::Type::DECIMAL128:
      return Decimal(TypeId::kDecimal128, type);
    case arrow::Type::DECIMAL256:
      return Decimal(TypeId::kDecimal256, type);
    case arrow::Type::INTERVAL_DAY_TIME:
      return Parts(
          {{"days", TypeId::kInt32}, {"milliseconds", TypeId::kInt32}});
    case arrow::Type::INTERVAL_MONTH_DAY_NANO:
      return Parts({{"months", TypeId::kInt32},
                    {"days", TypeId::kInt32},
                    {"nanoseconds", TypeId::kInt64}});
    case arrow::Type::FIXED_SIZE_LIST: {
      ROWFS_ASSIGN_OR_RETURN(const TypePtr list,
                             WithChildren(TypeId::kFixedSizeList, type, depth));
      DataType out = *list;
      out.width =
          static_cast<uint32_t>(As<arrow::FixedSizeListType>(type).list_size());
      return MakeType(std::move(out));
    }
    case arrow::Type::DICTIONARY:
      return ConvertDictionary(As<arrow::DictionaryType>(type), depth);
    case arrow::Type::RUN_END_ENCODED:
      return Convert(*As<arrow::RunEndEncodedType>(type).value_type(),
                     depth + 1);
    case arrow::Type::EXTENSION:
      return Convert(*As<arrow::ExtensionType>(type).storage_type(), depth + 1);
    default:
      return Status(Code::kUnsupported,
                    "Arrow type " + type.ToString() + " is not known");
  }
}

Result<TypePtr> Convert(const arrow::DataType& type, size_t depth) {
  if (depth > kDepthMax) {
    return Status(Code::kCorruption, "a type nested too deeply");
  }
  switch (type.id()) {
    case arrow::Type::NA:
      return MakeType(TypeId::kNull);
    case arrow::Type::BOOL:
      return MakeType(TypeId::kBool);
    case arrow::Type::INT8:
      return MakeType(TypeId::kInt8);
    case arrow::Type::UINT8:
      return MakeType(TypeId::kUint8);
    case arrow::Type::INT16:
      return MakeType(TypeId::kInt16);
    case arrow::Type::UINT16:
      return MakeType(TypeId::kUint16);
    case arrow::Type::INT32:
    case arrow::Type::INTERVAL_MONTHS:
      return MakeType(TypeId::kInt32);
    case arrow::Type::UINT32:
      return MakeType(TypeId::kUint32);
    case arrow::Type::INT64:
      return MakeType(TypeId::kInt64);
    case arrow::Type::UINT64:
      return MakeType(TypeId::kUint64);
    case arrow::Type::HALF_FLOAT:
      return MakeType(TypeId::kHalfFloat);
    case arrow::Type::FLOAT:
      return MakeType(TypeId::kFloat);
    case arrow::Type::DOUBLE:
      return MakeType(TypeId::kDouble);
    case arrow::Type::STRING:
    case arrow::Type::STRING_VIEW:
      return MakeType(TypeId::kString);
    case arrow::Type::LARGE_STRING:
      return MakeType(TypeId::kLargeString);
    case arrow::Type::BINARY:
    case arrow::Type::BINARY_VIEW:
      return MakeType(TypeId::kBinary);
    case arrow::Type::LARGE_BINARY:
      return MakeType(TypeId::kLargeBinary);
    case arrow::Type::DATE32:
      return MakeType(TypeId::kDate32);
    case arrow::Type::DATE64:
      return MakeType(TypeId::kDate64);
    case arrow::Type::STRUCT:
    case arrow::Type::SPARSE_UNION:
    case arrow::Type::DENSE_UNION:
      return WithChildren(TypeId::kStruct, type, depth);
    case arrow::Type::LIST:
    case arrow::Type::LIST_VIEW:
      return WithChildren(TypeId::kList, type, depth);
    case arrow::Type::LARGE_LIST:
    case arrow::Type::LARGE_LIST_VIEW:
      return WithChildren(TypeId::kLargeList, type, depth);
    case arrow::Type::MAP:
      return WithChildren(TypeId::kMap, type, depth);
    default:
      return ConvertSpecial(type, depth);
  }
}

}  // namespace

Result<TypePtr> TypeFromArrow(const arrow::DataType& type) {
  return Convert(type, 0);
}

Result<Field> FieldFromArrow(const arrow::Field& field) {
  return ConvertField(field, 0);
}

Result<Schema> SchemaFromArrow(const arrow::Schema& schema) {
  Schema out;
  for (const auto& field : schema.fields()) {
    Result<Field> converted = FieldFromArrow(*field);
    if (!converted.ok()) {
      return converted.status().With("column " + field->name());
    }
    out.fields.push_back(std::move(converted).value());
  }
  if (schema.metadata() != nullptr) {
    out.metadata = schema.metadata()->sorted_pairs();
  }
  return out;
}

}  // namespace rowfs
