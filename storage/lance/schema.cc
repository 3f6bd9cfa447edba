#include "storage/lance/schema.h"

#include <algorithm>
#include <map>
#include <utility>

#include "storage/lance/logical_type.h"

namespace rowfs {
namespace {

constexpr size_t kFieldCountMax = 1u << 20;
constexpr int kDepthMax = 64;
constexpr std::string_view kBlobV2Extension = "lance.blob.v2";
constexpr std::string_view kBlobKey = "lance-encoding:blob";
constexpr std::string_view kPackedKey = "lance-encoding:packed";
constexpr std::string_view kOldPackedKey = "packed";
constexpr std::string_view kArrowJson = "arrow.json";

std::string FindValue(const Metadata& metadata, std::string_view key) {
  for (const auto& [name, value] : metadata) {
    if (name == key) return value;
  }
  return {};
}

Status FieldError(Code code, const StoredField& field, std::string_view what) {
  return {code, "field \"" + field.name + "\" (id " + std::to_string(field.id) +
                    "): " + std::string(what)};
}

// Builds the tree from the flat list; one use.
class TreeBuilder {
 public:
  explicit TreeBuilder(const std::vector<StoredField>& fields)
      : fields_(fields) {}

  Result<LanceSchema> Build() {
    ROWFS_RETURN_IF_ERROR(Link());
    LanceSchema schema;
    for (const size_t root : roots_) {
      ROWFS_ASSIGN_OR_RETURN(LanceField field, BuildField(root, 0));
      schema.fields.push_back(std::move(field));
    }
    // Every parent exists, so what no root leads to hangs in a cycle.
    if (built_ != fields_.size()) {
      return Status(Code::kCorruption, "the schema's fields form a cycle");
    }
    return schema;
  }

 private:
  Status Link() {
    if (fields_.size() > kFieldCountMax) {
      return {Code::kResourceExhausted,
              "schema of " + std::to_string(fields_.size()) + " fields"};
    }
    std::map<int32_t, size_t> index;
    for (size_t i = 0; i < fields_.size(); ++i) {
      if (!index.emplace(fields_[i].id, i).second) {
        return FieldError(Code::kCorruption, fields_[i], "its id occurs twice");
      }
    }
    children_.resize(fields_.size());
    for (size_t i = 0; i < fields_.size(); ++i) {
      const int32_t parent = fields_[i].parent_id;
      if (parent == -1) {
        roots_.push_back(i);
        continue;
      }
      const auto found = index.find(parent);
      if (found == index.end()) {
        return FieldError(Code::kCorruption, fields_[i],
                          "there is no parent " + std::to_string(parent));
      }
      children_[found->second].push_back(i);
    }
    return {};
  }

  Result<LanceField> BuildField(size_t at, int depth) {
    const StoredField& stored = fields_[at];
    if (depth > kDepthMax) {
      return FieldError(Code::kCorruption, stored, "nested too deeply");
    }
    ++built_;
    LanceField field{.id = stored.id,
                     .field = {.name = stored.name,
                               .nullable = stored.nullable,
                               .metadata = stored.metadata},
                     .logical_type = stored.logical_type};
    for (const size_t child : children_[at]) {
      ROWFS_ASSIGN_OR_RETURN(LanceField built, BuildField(child, depth + 1));
      field.children.push_back(std::move(built));
    }
    ROWFS_ASSIGN_OR_RETURN(field.field.type, TypeOf(stored, &field));
    return field;
  }

  Result<TypePtr> TypeOf(const StoredField& stored, LanceField* field) {
    const std::string& name = stored.logical_type;
    if (name == "struct") return StructType(stored, field);
    if (name == "list" || name == "list.struct") {
      return NestedType(stored, *field, TypeId::kList);
    }
    if (name == "large_list" || name == "large_list.struct") {
      return NestedType(stored, *field, TypeId::kLargeList);
    }
    if (name == "map") return MapType(stored, *field);
    if (name.starts_with("fixed_size_list:") && !field->children.empty()) {
      return FixedSizeListType(stored, *field);
    }
    if (!field->children.empty()) {
      return FieldError(Code::kCorruption, stored,
                        "a " + name + " has no children");
    }
    auto type = DecodeLogicalType(name);
    if (!type.ok()) {
      return FieldError(type.status().code(), stored, type.status().message());
    }
    if (name == "json") {
      // What readers see is the document's text, as Arrow tags it.
      std::erase_if(field->field.metadata, [](const auto& entry) {
        return entry.first == kExtensionName;
      });
      field->field.metadata.emplace_back(kExtensionName, kArrowJson);
    }
    const bool binary = type.value()->id == TypeId::kLargeBinary ||
                        type.value()->id == TypeId::kBinary;
    if (name == "blob" ||
        (binary && FindValue(stored.metadata, kBlobKey) == "true")) {
      field->kind = LanceFieldKind::kBlobV1;
      return MakeType(TypeId::kBlob);
    }
    return type;
  }

  Result<TypePtr> StructType(const StoredField& stored, LanceField* field) {
    // Manifests name the extension; a data file's own schema says "blob".
    if (stored.extension_name == kBlobV2Extension ||
        FindValue(stored.metadata, kExtensionName) == kBlobV2Extension ||
        FindValue(stored.metadata, kBlobKey) == "true") {
      field->kind = LanceFieldKind::kBlobV2;
      return MakeType(TypeId::kBlob);
    }
    if (FindValue(stored.metadata, kPackedKey) == "true" ||
        FindValue(stored.metadata, kOldPackedKey) == "true") {
      field->kind = LanceFieldKind::kPackedStruct;
    }
    DataType type{.id = TypeId::kStruct};
    for (const LanceField& child : field->children) {
      type.children.push_back(child.field);
    }
    return MakeType(std::move(type));
  }

  Result<TypePtr> NestedType(const StoredField& stored, const LanceField& field,
                             TypeId id) {
    if (field.children.size() != 1) {
      return FieldError(
          Code::kCorruption, stored,
          "a list has one child, not " + std::to_string(field.children.size()));
    }
    return MakeType(DataType{.id = id, .children = {field.children[0].field}});
  }

  Result<TypePtr> MapType(const StoredField& stored, const LanceField& field) {
    if (field.children.size() != 1 ||
        field.children[0].field.type->id != TypeId::kStruct ||
        field.children[0].children.size() != 2) {
      return FieldError(Code::kCorruption, stored,
                        "a map has one child, a struct of key and value");
    }
    return MakeType(
        DataType{.id = TypeId::kMap, .children = {field.children[0].field}});
  }

  Result<TypePtr> FixedSizeListType(const StoredField& stored,
                                    const LanceField& field) {
    // "fixed_size_list:struct:2": what the items are is in the child, how many
    // is the last number.
    const size_t colon = stored.logical_type.rfind(':');
    auto like = DecodeLogicalType("fixed_size_list:int8" +
                                  stored.logical_type.substr(colon));
    if (!like.ok() || field.children.size() != 1) {
      return FieldError(Code::kCorruption, stored,
                        "logical type \"" + stored.logical_type + "\" with " +
                            std::to_string(field.children.size()) +
                            " children");
    }
    return MakeType(DataType{.id = TypeId::kFixedSizeList,
                             .width = like.value()->width,
                             .children = {field.children[0].field}});
  }

  const std::vector<StoredField>& fields_;
  std::vector<std::vector<size_t>> children_;
  std::vector<size_t> roots_;
  size_t built_ = 0;
};

// Flattens our schema; one use.
class Flattener {
 public:
  explicit Flattener(int32_t next_id) : next_id_(next_id) {}

  Status Add(const Field& field, int32_t parent_id) {
    StoredField stored{.id = next_id_++,
                       .parent_id = parent_id,
                       .name = field.name,
                       .nullable = field.nullable,
                       .metadata = field.metadata};
    const int32_t id = stored.id;
    ROWFS_ASSIGN_OR_RETURN(stored.logical_type, LogicalType(field));
    if (stored.logical_type == "json") SetJsonExtension(&stored.metadata);
    const TypeId type = field.type->id;
    if (type == TypeId::kBlob) {
      stored.extension_name = kBlobV2Extension;
      if (FindValue(stored.metadata, kExtensionName).empty()) {
        stored.metadata.emplace_back(kExtensionName, kBlobV2Extension);
      }
    }
    fields_.push_back(std::move(stored));
    if (type == TypeId::kBlob) {
      ROWFS_RETURN_IF_ERROR(Add({"data", MakeType(TypeId::kLargeBinary)}, id));
      return Add({"uri", MakeType(TypeId::kString)}, id);
    }
    if (!IsTree(*field.type)) return {};
    for (const Field& child : field.type->children) {
      ROWFS_RETURN_IF_ERROR(Add(child, id));
    }
    return {};
  }

  std::vector<StoredField> Finish() { return std::move(fields_); }

 private:
  static bool IsTree(const DataType& type) {
    const TypeId id = type.id;
    return id == TypeId::kStruct || id == TypeId::kList ||
           id == TypeId::kLargeList || id == TypeId::kMap ||
           (id == TypeId::kFixedSizeList && IsStruct(type.children[0]));
  }
  static bool IsStruct(const Field& field) {
    return field.type->id == TypeId::kStruct || field.type->id == TypeId::kBlob;
  }

  static Result<std::string> LogicalType(const Field& field) {
    const DataType& type = *field.type;
    const TypeId id = type.id;
    if (id == TypeId::kStruct || id == TypeId::kBlob) {
      return std::string("struct");
    }
    if (id == TypeId::kMap) return std::string("map");
    if (id == TypeId::kList || id == TypeId::kLargeList) {
      return std::string(id == TypeId::kList ? "list" : "large_list") +
             (IsStruct(type.children[0]) ? ".struct" : "");
    }
    if (IsTree(type)) {
      return "fixed_size_list:struct:" + std::to_string(type.width);
    }
    const std::string extension = FindValue(field.metadata, kExtensionName);
    const bool text = id == TypeId::kString || id == TypeId::kLargeString;
    if (text && (extension == kArrowJson || extension == kJsonExtension)) {
      return std::string("json");
    }
    auto name = EncodeLogicalType(type);
    if (name.ok()) return name;
    return name.status().With("field \"" + field.name + "\"");
  }

  int32_t next_id_;
  std::vector<StoredField> fields_;
};

}  // namespace

Schema LanceSchema::ToSchema() const {
  Schema schema{.metadata = metadata};
  for (const LanceField& field : fields) schema.fields.push_back(field.field);
  return schema;
}

Result<LanceSchema> DecodeSchema(const std::vector<StoredField>& fields,
                                 Metadata metadata) {
  ROWFS_ASSIGN_OR_RETURN(LanceSchema schema, TreeBuilder(fields).Build());
  schema.metadata = std::move(metadata);
  return schema;
}

Result<std::vector<StoredField>> EncodeSchema(const Schema& schema,
                                              int32_t next_id) {
  Flattener flattener(next_id);
  for (const Field& field : schema.fields) {
    ROWFS_RETURN_IF_ERROR(flattener.Add(field, -1));
  }
  return flattener.Finish();
}

}  // namespace rowfs
