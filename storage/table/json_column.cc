#include "storage/table/json_column.h"

#include <algorithm>

namespace rowfs {
namespace {

using Kind = Json::Kind;

TypePtr InferList(const std::vector<const Json*>& lists) {
  std::vector<const Json*> items;
  for (const Json* list : lists) {
    for (const Json& item : list->items) items.push_back(&item);
  }
  DataType type;
  type.id = TypeId::kList;
  type.children.push_back({.name = "item", .type = InferType(items)});
  return MakeType(std::move(type));
}

TypePtr InferStruct(const std::vector<const Json*>& objects) {
  DataType type;
  type.id = TypeId::kStruct;
  for (const Json* object : objects) {
    for (const auto& member : object->members) {
      const std::string& name = member.first;
      const bool known =
          std::any_of(type.children.begin(), type.children.end(),
                      [&](const Field& field) { return field.name == name; });
      if (known) continue;
      std::vector<const Json*> values;
      for (const Json* other : objects) values.push_back(other->Find(name));
      type.children.push_back({.name = name, .type = InferType(values)});
    }
  }
  // A struct needs a field to have a stored form.
  if (type.children.empty()) return MakeType(TypeId::kString);
  return MakeType(std::move(type));
}

void Append(const DataType& type, const Json* value, ArrayBuilder* builder) {
  if (value == nullptr || value->kind == Kind::kNull) {
    builder->AppendNull();
  } else if (type.id == TypeId::kBool) {
    builder->AppendBool(value->boolean);
  } else if (type.id == TypeId::kInt64) {
    builder->AppendInt(value->AsInt().value_or(0));
  } else if (type.id == TypeId::kDouble) {
    builder->AppendDouble(value->AsDouble().value_or(0));
  } else if (type.id == TypeId::kList) {
    for (const Json& item : value->items) {
      Append(*type.children[0].type, &item, &builder->child(0));
    }
    builder->AppendValid();
  } else if (type.id == TypeId::kStruct) {
    for (size_t i = 0; i < type.children.size(); ++i) {
      Append(*type.children[i].type, value->Find(type.children[i].name),
             &builder->child(i));
    }
    builder->AppendValid();
  } else {
    const std::string text =
        value->kind == Kind::kString ? value->text : WriteJson(*value);
    builder->AppendBytes(AsBytes(text));
  }
}

}  // namespace

TypePtr InferType(std::span<const Json* const> values) {
  std::vector<const Json*> present;
  for (const Json* value : values) {
    if (value != nullptr && value->kind != Kind::kNull) {
      present.push_back(value);
    }
  }
  if (present.empty()) return MakeType(TypeId::kString);
  const Kind kind = present[0]->kind;
  const auto all = [&](auto&& test) {
    return std::all_of(present.begin(), present.end(), test);
  };
  if (!all([&](const Json* value) { return value->kind == kind; })) {
    return MakeType(TypeId::kString);
  }
  switch (kind) {
    case Kind::kBool:
      return MakeType(TypeId::kBool);
    case Kind::kNumber: {
      const bool integers =
          all([](const Json* value) { return value->AsInt().has_value(); });
      const bool floats =
          all([](const Json* value) { return value->AsDouble().has_value(); });
      return MakeType(integers ? TypeId::kInt64
                      : floats ? TypeId::kDouble
                               : TypeId::kString);
    }
    case Kind::kArray:
      return InferList(present);
    case Kind::kObject:
      return InferStruct(present);
    case Kind::kNull:
    case Kind::kString:
      return MakeType(TypeId::kString);
  }
  return MakeType(TypeId::kString);
}

Array JsonArray(const TypePtr& type, std::span<const Json* const> values) {
  ArrayBuilder builder(type);
  for (const Json* value : values) Append(*type, value, &builder);
  return builder.Finish();
}

}  // namespace rowfs
