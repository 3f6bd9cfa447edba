#include "storage/parquet/to_arrow.h"

#include <arrow/util/key_value_metadata.h>

#include <utility>
#include <vector>

#include "storage/parquet/arrow_glue.h"
#include "storage/table/array_layout.h"

namespace rowfs {
namespace {

using TypeResult = Result<std::shared_ptr<arrow::DataType>>;

arrow::TimeUnit::type UnitOf(TimeUnit unit) {
  switch (unit) {
    case TimeUnit::kSecond:
      return arrow::TimeUnit::SECOND;
    case TimeUnit::kMilli:
      return arrow::TimeUnit::MILLI;
    case TimeUnit::kMicro:
      return arrow::TimeUnit::MICRO;
    case TimeUnit::kNano:
      break;
  }
  return arrow::TimeUnit::NANO;
}

std::shared_ptr<const arrow::KeyValueMetadata> MetadataOf(
    const Metadata& metadata) {
  if (metadata.empty()) return nullptr;
  auto out = std::make_shared<arrow::KeyValueMetadata>();
  for (const auto& [key, value] : metadata) out->Append(key, value);
  return out;
}

TypeResult Nested(const DataType& type) {
  std::vector<std::shared_ptr<arrow::Field>> children;
  for (const Field& child : type.children) {
    ROWFS_ASSIGN_OR_RETURN(children.emplace_back(), ArrowFieldOf(child));
  }
  switch (type.id) {
    case TypeId::kStruct:
      return arrow::struct_(children);
    case TypeId::kList:
      return arrow::list(children[0]);
    case TypeId::kLargeList:
      return arrow::large_list(children[0]);
    case TypeId::kFixedSizeList:
      return arrow::fixed_size_list(children[0],
                                    static_cast<int32_t>(type.width));
    default: {
      ROWFS_ASSIGN_OR_ARROW_ERROR(auto map, arrow::MapType::Make(children[0]),
                                  "map");
      return map;
    }
  }
}

std::shared_ptr<arrow::DataType> Plain(TypeId id) {
  switch (id) {
    case TypeId::kNull:
      return arrow::null();
    case TypeId::kBool:
      return arrow::boolean();
    case TypeId::kInt8:
      return arrow::int8();
    case TypeId::kUint8:
      return arrow::uint8();
    case TypeId::kInt16:
      return arrow::int16();
    case TypeId::kUint16:
      return arrow::uint16();
    case TypeId::kInt32:
      return arrow::int32();
    case TypeId::kUint32:
      return arrow::uint32();
    case TypeId::kInt64:
      return arrow::int64();
    case TypeId::kUint64:
      return arrow::uint64();
    case TypeId::kHalfFloat:
      return arrow::float16();
    case TypeId::kFloat:
      return arrow::float32();
    case TypeId::kDouble:
      return arrow::float64();
    case TypeId::kString:
      return arrow::utf8();
    case TypeId::kLargeString:
      return arrow::large_utf8();
    case TypeId::kBinary:
      return arrow::binary();
    case TypeId::kLargeBinary:
      return arrow::large_binary();
    case TypeId::kDate32:
      return arrow::date32();
    case TypeId::kDate64:
      return arrow::date64();
    default:
      return nullptr;
  }
}

}  // namespace

TypeResult ArrowTypeOf(const DataType& type) {
  if (auto plain = Plain(type.id)) return plain;
  const arrow::TimeUnit::type unit = UnitOf(type.unit);
  switch (type.id) {
    case TypeId::kFixedSizeBinary:
      return arrow::fixed_size_binary(static_cast<int32_t>(type.width));
    case TypeId::kTime32:
      return arrow::time32(unit);
    case TypeId::kTime64:
      return arrow::time64(unit);
    case TypeId::kTimestamp:
      return arrow::timestamp(unit, type.zone);
    case TypeId::kDuration:
      return arrow::duration(unit);
    case TypeId::kDecimal128:
      return arrow::decimal128(type.precision, type.scale);
    case TypeId::kDecimal256:
      return arrow::decimal256(type.precision, type.scale);
    case TypeId::kStruct:
    case TypeId::kList:
    case TypeId::kLargeList:
    case TypeId::kFixedSizeList:
    case TypeId::kMap:
      return Nested(type);
    case TypeId::kDictionary: {
      ROWFS_ASSIGN_OR_RETURN(const auto index,
                             ArrowTypeOf(*type.children[0].type));
      ROWFS_ASSIGN_OR_RETURN(const auto value,
                             ArrowTypeOf(*type.children[1].type));
      return arrow::dictionary(index, value, type.ordered);
    }
    default:
      return Status(Code::kUnsupported,
                    "type " + type.ToString() + " has no Arrow form");
  }
}

Result<std::shared_ptr<arrow::Field>> ArrowFieldOf(const Field& field) {
  ROWFS_ASSIGN_OR_RETURN(auto type, ArrowTypeOf(*field.type));
  return arrow::field(field.name, std::move(type), field.nullable,
                      MetadataOf(field.metadata));
}

Result<std::shared_ptr<arrow::Schema>> ArrowSchemaOf(const Schema& schema) {
  std::vector<std::shared_ptr<arrow::Field>> fields;
  for (const Field& field : schema.fields) {
    Result<std::shared_ptr<arrow::Field>> made = ArrowFieldOf(field);
    if (!made.ok()) return made.status().With("column " + field.name);
    fields.push_back(std::move(made).value());
  }
  return arrow::schema(std::move(fields), MetadataOf(schema.metadata));
}

std::shared_ptr<arrow::ArrayData> ArrowDataOf(
    const Array& array, const std::shared_ptr<arrow::DataType>& type) {
  static const auto kNothing = std::make_shared<const Bytes>(8);
  const auto buffer = [](const SharedBytes& bytes) {
    return MakeArrowBuffer(bytes ? bytes : kNothing);
  };
  const TypeId id = array.type->id;
  const auto length = static_cast<int64_t>(array.length);
  std::vector<std::shared_ptr<arrow::Buffer>> buffers = {
      array.validity ? MakeArrowBuffer(array.validity) : nullptr};
  if (IsListLike(id) || IsByteLike(id)) {
    buffers.push_back(buffer(array.offsets));
  }
  const bool nested =
      id == TypeId::kStruct || IsListLike(id) || id == TypeId::kFixedSizeList;
  if (!nested && id != TypeId::kNull) buffers.push_back(buffer(array.data));
  auto data = arrow::ArrayData::Make(
      type, length, std::move(buffers),
      id == TypeId::kNull ? length : static_cast<int64_t>(array.null_count));
  for (size_t i = 0; i < array.children.size(); ++i) {
    data->child_data.push_back(ArrowDataOf(
        array.children[i], type->field(static_cast<int>(i))->type()));
  }
  if (array.dictionary) {
    data->dictionary = ArrowDataOf(
        *array.dictionary,
        dynamic_cast<const arrow::DictionaryType&>(*type).value_type());
  }
  return data;
}

}  // namespace rowfs
