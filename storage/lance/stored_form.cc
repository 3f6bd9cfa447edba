#include "storage/lance/stored_form.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "storage/lance/chunk_encoder.h"
#include "storage/lance/json_binary.h"

namespace rowfs {
namespace {

using lance::pb::CompressiveEncoding;

// One member of a packed struct.
struct Member {
  uint64_t bytes = 0;                // of its values; 0: they vary
  uint32_t offset_bits = 0;          // of those that vary
  std::vector<uint32_t> dimensions;  // of fixed-size lists, outermost first
  uint64_t items = 1;                // their product
  uint32_t item_bytes = 0;
};

Result<Member> FindMember(const Field& field) {
  Member member;
  const DataType* type = field.type.get();
  while (type->id == TypeId::kFixedSizeList) {
    member.dimensions.push_back(type->width);
    member.items *= type->width;
    type = type->children[0].type.get();
  }
  const auto width = FixedWidth(*type);
  if (width && *width > 0 && member.items > 0 &&
      type->id != TypeId::kDictionary) {
    member.item_bytes = *width;
    member.bytes = member.items * *width;
    return member;
  }
  const bool wide =
      type->id == TypeId::kLargeString || type->id == TypeId::kLargeBinary;
  if (member.dimensions.empty() &&
      (wide || type->id == TypeId::kString || type->id == TypeId::kBinary)) {
    member.offset_bits = wide ? 64 : 32;
    return member;
  }
  return Status(Code::kUnsupported, "a packed struct cannot hold \"" +
                                        field.name + "\", a " +
                                        field.type->ToString());
}

Result<std::vector<Member>> FindMembers(const LanceField& field) {
  std::vector<Member> members;
  for (const Field& child : field.field.type->children) {
    ROWFS_ASSIGN_OR_RETURN(members.emplace_back(), FindMember(child));
  }
  return members;
}

// The array of single elements below fixed-size lists.
const Array& Elements(const Array& array) {
  const Array* at = &array;
  while (at->type->id == TypeId::kFixedSizeList) at = &at->children[0];
  return *at;
}

// Whether value `i` is null, or has a null item.
bool HasNull(const Array& array, uint64_t i) {
  if (array.IsNull(i)) return true;
  uint64_t begin = i;
  uint64_t count = 1;
  for (const Array* at = &array; at->type->id == TypeId::kFixedSizeList;) {
    begin *= at->type->width;
    count *= at->type->width;
    at = &at->children[0];
    if (at->null_count == 0) continue;
    for (uint64_t k = begin; k < begin + count; ++k) {
      if (at->IsNull(k)) return true;
    }
  }
  return false;
}

Result<Array> PackRows(const LanceField& field, const Array& array) {
  ROWFS_ASSIGN_OR_RETURN(const PackedForm form, FindPackedForm(field));
  ROWFS_ASSIGN_OR_RETURN(const auto members, FindMembers(field));
  ArrayBuilder rows(
      form.row_bytes > 0
          ? MakeType(DataType{.id = TypeId::kFixedSizeBinary,
                              .width = static_cast<uint32_t>(form.row_bytes)})
          : MakeType(TypeId::kLargeBinary));
  Bytes row;
  for (uint64_t i = 0; i < array.length; ++i) {
    if (array.IsNull(i)) {
      rows.AppendNull();
      continue;
    }
    row.clear();
    for (size_t m = 0; m < members.size(); ++m) {
      const Member& member = members[m];
      const Array& child = array.children[m];
      if (HasNull(child, i)) {
        return Status(Code::kUnsupported,
                      "a packed struct has no place for a null in \"" +
                          field.children[m].field.name + "\"");
      }
      if (member.bytes > 0) {
        AppendBytes(&row, ByteSpan(*Elements(child).data)
                              .subspan(i * member.bytes, member.bytes));
        continue;
      }
      const ByteSpan value = child.BytesAt(i);
      AppendUint(&row, value.size(), member.offset_bits / 8);
      AppendBytes(&row, value);
    }
    if (form.row_bytes > 0) {
      rows.AppendFixed(row);
    } else {
      rows.AppendBytes(row);
    }
  }
  return rows.Finish();
}

Result<Array> EncodeJson(const Array& text) {
  ArrayBuilder out(MakeType(TypeId::kLargeBinary));
  for (uint64_t i = 0; i < text.length; ++i) {
    if (text.IsNull(i)) {
      out.AppendNull();
      continue;
    }
    ROWFS_ASSIGN_OR_RETURN(const Bytes binary,
                           EncodeJsonBinary(AsText(text.BytesAt(i))));
    out.AppendBytes(binary);
  }
  return out.Finish();
}

bool IsJson(const LanceField& field) { return field.logical_type == "json"; }

bool IsEmptyStruct(const LanceField& field) {
  return field.field.type->id == TypeId::kStruct && field.children.empty();
}

bool HasOtherForm(const LanceField& field) {
  return IsJson(field) || IsEmptyStruct(field) ||
         field.kind == LanceFieldKind::kPackedStruct ||
         std::any_of(field.children.begin(), field.children.end(),
                     HasOtherForm);
}

}  // namespace

Result<PackedForm> FindPackedForm(const LanceField& field) {
  ROWFS_ASSIGN_OR_RETURN(const auto members, FindMembers(field));
  PackedForm form;
  // Readers take fixed-size lists only in rows that may vary in size.
  const bool fixed =
      std::all_of(members.begin(), members.end(), [](const Member& member) {
        return member.bytes > 0 && member.dimensions.empty();
      });
  if (fixed) {
    auto* packed = form.encoding.mutable_packed_struct();
    for (const Member& member : members) {
      packed->add_bits_per_value(member.bytes * 8);
      form.row_bytes += member.bytes;
    }
    *packed->mutable_values() = FlatEncoding(form.row_bytes * 8);
    return form;
  }
  auto* row = form.encoding.mutable_variable_packed_struct();
  for (const Member& member : members) {
    auto* child = row->add_fields();
    if (member.bytes == 0) {
      *child->mutable_value() = VariableEncoding(member.offset_bits);
      child->set_bits_per_length(member.offset_bits);
      continue;
    }
    CompressiveEncoding value = FlatEncoding(uint64_t{member.item_bytes} * 8);
    for (size_t i = member.dimensions.size(); i > 0; --i) {
      CompressiveEncoding list;
      list.mutable_fixed_size_list()->set_items_per_value(
          member.dimensions[i - 1]);
      *list.mutable_fixed_size_list()->mutable_values() = std::move(value);
      value = std::move(list);
    }
    *child->mutable_value() = std::move(value);
    child->set_bits_per_value(member.bytes * 8);
  }
  return form;
}

Result<Array> StoredForm(const LanceField& field, const Array& array) {
  if (!HasOtherForm(field)) return array;
  const std::string what = "column \"" + field.field.name + "\"";
  if (IsEmptyStruct(field)) {
    if (array.null_count == 0) return array;
    return Status(Code::kUnsupported,
                  what + ": nulls of a struct without fields have no form");
  }
  if (IsJson(field) || field.kind == LanceFieldKind::kPackedStruct) {
    auto stored = IsJson(field) ? EncodeJson(array) : PackRows(field, array);
    if (!stored.ok()) return stored.status().With(what);
    return stored;
  }
  Array out = array;
  for (size_t i = 0; i < field.children.size(); ++i) {
    ROWFS_ASSIGN_OR_RETURN(out.children[i],
                           StoredForm(field.children[i], array.children[i]));
  }
  return out;
}

}  // namespace rowfs
