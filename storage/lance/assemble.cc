#include "storage/lance/assemble.h"

#include <algorithm>

namespace rowfs {
namespace {

// Whether the field is stored under its own id: leaves, packed structs, blobs.
bool IsStoredWhole(const LanceField& field) {
  return field.kind != LanceFieldKind::kPlain || field.children.empty();
}

// `field`'s type with the types its remaining children have.
TypePtr TypeWithChildren(const LanceField& field) {
  DataType type = *field.field.type;
  type.children.clear();
  for (const LanceField& child : field.children) {
    type.children.push_back(child.field);
  }
  return MakeType(std::move(type));
}

// The number of values of a list's child.
uint64_t ChildLength(const Array& array) {
  return array.children.empty() ? 0 : array.children.front().length;
}

Status CheckSameShape(const LanceField& field, const Array& a, const Array& b) {
  const auto bytes = [](const SharedBytes& buffer) {
    return buffer ? ByteSpan(*buffer) : ByteSpan();
  };
  const bool same = a.length == b.length && ChildLength(a) == ChildLength(b) &&
                    std::ranges::equal(bytes(a.offsets), bytes(b.offsets));
  if (same) return {};
  return Status(Code::kCorruption,
                "column \"" + field.field.name +
                    "\": its data files disagree about list lengths");
}

Result<Array> AssembleChildren(const LanceField& field,
                               std::vector<FieldPart> parts) {
  Array out = std::move(parts.front().array);
  std::vector<Array> first_children = std::move(out.children);
  out.children.clear();
  const bool is_struct = field.field.type->id == TypeId::kStruct;
  const uint64_t child_length = is_struct || first_children.empty()
                                    ? out.length
                                    : first_children.front().length;
  for (const LanceField& child : field.children) {
    std::vector<FieldPart> child_parts;
    for (size_t i = 0; i < parts.size(); ++i) {
      std::vector<Array>& arrays =
          i == 0 ? first_children : parts[i].array.children;
      const auto& fields = parts[i].field.children;
      for (size_t j = 0; j < fields.size() && j < arrays.size(); ++j) {
        if (fields[j].id != child.id) continue;
        child_parts.push_back({fields[j], std::move(arrays[j])});
      }
    }
    ROWFS_ASSIGN_OR_RETURN(
        Array array, Assemble(child, std::move(child_parts), child_length));
    out.children.push_back(std::move(array));
  }
  out.type = field.field.type;
  return out;
}

}  // namespace

Coverage FindCoverage(const LanceField& field, const ColumnMap& columns) {
  if (IsStoredWhole(field)) {
    return columns.contains(field.id) ? Coverage::kAll : Coverage::kNone;
  }
  bool any = false;
  bool all = true;
  for (const LanceField& child : field.children) {
    const Coverage coverage = FindCoverage(child, columns);
    any |= coverage != Coverage::kNone;
    all &= coverage == Coverage::kAll;
  }
  if (!any) return Coverage::kNone;
  return all ? Coverage::kAll : Coverage::kSome;
}

LanceField Prune(const LanceField& field, const ColumnMap& columns) {
  if (FindCoverage(field, columns) == Coverage::kAll) return field;
  LanceField out = field;
  out.children.clear();
  for (const LanceField& child : field.children) {
    if (FindCoverage(child, columns) == Coverage::kNone) continue;
    out.children.push_back(Prune(child, columns));
  }
  out.field.type = TypeWithChildren(out);
  return out;
}

Result<Array> Assemble(const LanceField& field, std::vector<FieldPart> parts,
                       uint64_t length) {
  if (parts.empty()) return NullArray(field.field.type, length);
  if (parts.size() == 1 &&
      parts[0].field.children.size() == field.children.size()) {
    // Complete at this level; a struct further in may still lack a child.
    bool complete = true;
    for (size_t i = 0; i < field.children.size(); ++i) {
      complete &=
          parts[0].field.children[i].field.type == field.children[i].field.type;
    }
    if (complete) return std::move(parts[0].array);
  }
  for (const FieldPart& part : parts) {
    ROWFS_RETURN_IF_ERROR(
        CheckSameShape(field, parts.front().array, part.array));
  }
  return AssembleChildren(field, std::move(parts));
}

}  // namespace rowfs
