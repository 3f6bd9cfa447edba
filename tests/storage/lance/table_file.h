// Reads the tables that tables.py makes, and runs the scripts of this folder.
#ifndef ROWFS_TESTS_STORAGE_LANCE_TABLE_FILE_H_
#define ROWFS_TESTS_STORAGE_LANCE_TABLE_FILE_H_

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>

#include "storage/base/json.h"
#include "storage/base/status.h"
#include "storage/table/array.h"

namespace rowfs {

inline const std::map<std::string, TypeId>& TypeNames() {
  static const auto* names = new std::map<std::string, TypeId>{
      {"null", TypeId::kNull},
      {"bool", TypeId::kBool},
      {"int8", TypeId::kInt8},
      {"uint8", TypeId::kUint8},
      {"int16", TypeId::kInt16},
      {"uint16", TypeId::kUint16},
      {"int32", TypeId::kInt32},
      {"uint32", TypeId::kUint32},
      {"int64", TypeId::kInt64},
      {"uint64", TypeId::kUint64},
      {"half_float", TypeId::kHalfFloat},
      {"float", TypeId::kFloat},
      {"double", TypeId::kDouble},
      {"string", TypeId::kString},
      {"large_string", TypeId::kLargeString},
      {"binary", TypeId::kBinary},
      {"large_binary", TypeId::kLargeBinary},
      {"fixed_size_binary", TypeId::kFixedSizeBinary},
      {"date32", TypeId::kDate32},
      {"date64", TypeId::kDate64},
      {"time32", TypeId::kTime32},
      {"time64", TypeId::kTime64},
      {"timestamp", TypeId::kTimestamp},
      {"duration", TypeId::kDuration},
      {"decimal128", TypeId::kDecimal128},
      {"decimal256", TypeId::kDecimal256},
      {"struct", TypeId::kStruct},
      {"list", TypeId::kList},
      {"large_list", TypeId::kLargeList},
      {"fixed_size_list", TypeId::kFixedSizeList},
      {"map", TypeId::kMap},
      {"dictionary", TypeId::kDictionary},
      {"blob", TypeId::kBlob},
  };
  return *names;
}

inline uint64_t Number(const Json& json, std::string_view key) {
  const Json* found = json.Find(key);
  return found == nullptr ? 0 : found->AsUint().value_or(0);
}

inline Field MakeField(const Json& json);

inline TypePtr MakeTypeFrom(const Json& json) {
  DataType type;
  type.id = TypeNames().at(json.Find("id")->text);
  type.width = static_cast<uint32_t>(Number(json, "width"));
  type.precision = static_cast<int32_t>(Number(json, "precision"));
  type.scale = static_cast<int32_t>(Number(json, "scale"));
  if (type.id == TypeId::kDate64) type.unit = TimeUnit::kMilli;
  if (const Json* unit = json.Find("unit")) {
    const std::map<std::string, TimeUnit> units = {{"s", TimeUnit::kSecond},
                                                   {"ms", TimeUnit::kMilli},
                                                   {"us", TimeUnit::kMicro},
                                                   {"ns", TimeUnit::kNano}};
    type.unit = units.at(unit->text);
  }
  if (const Json* zone = json.Find("zone")) type.zone = zone->text;
  if (const Json* ordered = json.Find("ordered")) {
    type.ordered = ordered->boolean;
  }
  if (const Json* children = json.Find("children")) {
    for (const Json& child : children->items) {
      type.children.push_back(MakeField(child));
    }
  }
  return MakeType(std::move(type));
}

inline Field MakeField(const Json& json) {
  Field field{.name = json.Find("name")->text,
              .type = MakeTypeFrom(*json.Find("type")),
              .nullable = json.Find("nullable")->boolean};
  if (const Json* metadata = json.Find("metadata")) {
    for (const auto& [key, value] : metadata->members) {
      field.metadata.emplace_back(key, value.text);
    }
  }
  return field;
}

inline SharedBytes TakeBuffer(const Json& json, std::string_view key,
                              ByteSpan blob) {
  const Json* place = json.Find(key);
  if (place == nullptr) return nullptr;
  const ByteSpan part =
      blob.subspan(*place->items[0].AsUint(), *place->items[1].AsUint());
  return std::make_shared<const Bytes>(part.begin(), part.end());
}

inline Array MakeArray(const Json& json, TypePtr type, ByteSpan blob) {
  Array out{.type = type,
            .length = Number(json, "length"),
            .null_count = Number(json, "null_count"),
            .validity = TakeBuffer(json, "validity", blob),
            .offsets = TakeBuffer(json, "offsets", blob),
            .data = TakeBuffer(json, "data", blob)};
  if (type->id == TypeId::kBlob) {
    Array bytes = out;
    bytes.type = MakeType(TypeId::kLargeBinary);
    out.offsets = out.data = nullptr;
    for (uint64_t i = 0; i < out.length; ++i) {
      BlobCell& cell = out.blobs.emplace_back();
      if (bytes.IsNull(i)) continue;
      const ByteSpan value = bytes.BytesAt(i);
      cell.bytes = std::make_shared<const Bytes>(value.begin(), value.end());
    }
    return out;
  }
  if (const Json* children = json.Find("children")) {
    for (size_t i = 0; i < children->items.size(); ++i) {
      out.children.push_back(
          MakeArray(children->items[i], type->children[i].type, blob));
    }
  }
  if (const Json* dictionary = json.Find("dictionary")) {
    out.dictionary = std::make_shared<const Array>(
        MakeArray(*dictionary, type->children[1].type, blob));
  }
  return out;
}

// The one batch of DIR/SEED.table.
inline Result<RecordBatch> ReadTableFile(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) return Status(Code::kNotFound, path);
  const std::string all{std::istreambuf_iterator<char>(in), {}};
  const ByteSpan bytes = AsBytes(all);
  const uint64_t head = LoadU64(bytes);
  ROWFS_ASSIGN_OR_RETURN(const Json json,
                         ParseJson(std::string_view(all).substr(8, head)));
  const ByteSpan blob = bytes.subspan(8 + head);
  RecordBatch batch;
  batch.row_count = Number(json, "rows");
  const Json& columns = *json.Find("columns");
  for (size_t i = 0; i < columns.items.size(); ++i) {
    batch.schema.fields.push_back(MakeField(json.Find("fields")->items[i]));
    batch.columns.push_back(
        MakeArray(columns.items[i], batch.schema.fields.back().type, blob));
  }
  return batch;
}

// The interpreter with pylance, $ROWFS_PYTHON; empty when there is none: the
// test is to be skipped.
inline std::string FindPython() {
  const char* python = std::getenv("ROWFS_PYTHON");
  return python != nullptr && std::filesystem::exists(python) ? python : "";
}

// Runs a script of this folder with it; false when that fails.
inline bool RunScript(const std::string& script, const std::string& arguments) {
  const std::string command = FindPython() + " " + ROWFS_SOURCE_DIR +
                              "/tests/storage/lance/" + script + " " +
                              arguments;
  return std::system(command.c_str()) == 0;
}

}  // namespace rowfs
#endif  // ROWFS_TESTS_STORAGE_LANCE_TABLE_FILE_H_
