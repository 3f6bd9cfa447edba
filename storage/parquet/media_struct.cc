#include "storage/parquet/media_struct.h"

#include <optional>
#include <utility>

#include "storage/table/array_layout.h"

namespace rowfs {
namespace {

bool IsBytes(TypeId id) {
  return id == TypeId::kBinary || id == TypeId::kLargeBinary;
}

bool IsText(TypeId id) {
  return id == TypeId::kString || id == TypeId::kLargeString;
}

// Where bytes and path stand in a media struct; absent when `type` is none.
std::optional<std::pair<size_t, size_t>> MediaFields(const DataType& type) {
  if (type.id != TypeId::kStruct || type.children.size() != 2) return {};
  const size_t bytes = type.children[0].name == "bytes" ? 0 : 1;
  const Field& content = type.children[bytes];
  const Field& path = type.children[1 - bytes];
  // All of one kind null: writers then leave its type out.
  const bool both =
      (IsBytes(content.type->id) && IsText(path.type->id)) ||
      (IsBytes(content.type->id) && path.type->id == TypeId::kNull) ||
      (content.type->id == TypeId::kNull && IsText(path.type->id));
  if (content.name != "bytes" || path.name != "path" || !both) return {};
  return std::pair(bytes, 1 - bytes);
}

TypePtr Shown(const Field& field, bool in_list) {
  const DataType& type = *field.type;
  if (field.FindMetadata("ARROW:extension:name")) return field.type;
  if (MediaFields(type) || (in_list && IsBytes(type.id))) {
    return MakeType(TypeId::kBlob);
  }
  if (type.id == TypeId::kDictionary) return field.type;
  DataType shown = type;
  bool changed = false;
  const bool list = IsListLike(type.id) || type.id == TypeId::kFixedSizeList;
  for (size_t i = 0; i < type.children.size(); ++i) {
    TypePtr& child = shown.children[i].type;
    if (type.id == TypeId::kMap) {
      // The entry keeps its form, its value is what the map holds.
      DataType entry = *child;
      entry.children[1].type = Shown(entry.children[1], true);
      changed |= entry.children[1].type != child->children[1].type;
      child = MakeType(std::move(entry));
    } else {
      child = Shown(type.children[i], list);
      changed |= child != type.children[i].type;
    }
  }
  return changed ? MakeType(std::move(shown)) : field.type;
}

BlobCell CellOf(ByteSpan bytes) {
  BlobCell cell;
  cell.bytes = std::make_shared<const Bytes>(bytes.begin(), bytes.end());
  cell.size = bytes.size();
  return cell;
}

Array MediaCells(const Array& array, size_t bytes, size_t path) {
  ArrayBuilder builder(MakeType(TypeId::kBlob));
  for (uint64_t i = 0; i < array.length; ++i) {
    if (array.IsNull(i)) {
      builder.AppendNull();
    } else if (!array.children[bytes].IsNull(i)) {
      builder.AppendBlob(CellOf(array.children[bytes].BytesAt(i)));
    } else if (!array.children[path].IsNull(i)) {
      BlobCell cell;
      cell.kind = BlobKind::kExternal;
      cell.object = AsText(array.children[path].BytesAt(i));
      builder.AppendBlob(std::move(cell));
    } else {
      builder.AppendNull();
    }
  }
  return builder.Finish();
}

Array ByteCells(const Array& array) {
  ArrayBuilder builder(MakeType(TypeId::kBlob));
  for (uint64_t i = 0; i < array.length; ++i) {
    if (array.IsNull(i)) {
      builder.AppendNull();
    } else {
      builder.AppendBlob(CellOf(array.type->id == TypeId::kFixedSizeBinary
                                    ? array.FixedAt(i)
                                    : array.BytesAt(i)));
    }
  }
  return builder.Finish();
}

}  // namespace

TypePtr ShownType(const Field& field) {
  const bool fixed = field.type->id == TypeId::kFixedSizeBinary &&
                     !field.FindMetadata("ARROW:extension:name");
  return fixed ? MakeType(TypeId::kBlob) : Shown(field, false);
}

Array ShowArray(const Array& array, const TypePtr& shown) {
  if (array.type == shown || SameType(*array.type, *shown)) return array;
  if (shown->id == TypeId::kBlob) {
    const auto fields = MediaFields(*array.type);
    return fields ? MediaCells(array, fields->first, fields->second)
                  : ByteCells(array);
  }
  Array out = array;
  out.type = shown;
  for (size_t i = 0; i < out.children.size(); ++i) {
    out.children[i] = ShowArray(array.children[i], shown->children[i].type);
  }
  return out;
}

}  // namespace rowfs
