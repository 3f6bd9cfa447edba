#include "index/dataset/blob_columns.h"

#include <map>
#include <optional>
#include <vector>

namespace rowfs {
namespace {

// Columns that a person takes for blobs although their type says bytes.
bool IsBlob(const DataType& type, bool top) {
  if (top && type.id == TypeId::kDictionary) {
    return IsBlob(*type.children[1].type, top);
  }
  return type.id == TypeId::kBlob || (top && (type.id == TypeId::kBinary ||
                                              type.id == TypeId::kLargeBinary));
}

using Paths = std::map<const Array*, std::vector<std::optional<std::string>>>;

// Note the path of every blob in value `index`, which JSON has as `value`.
void CollectPaths(const Array& array, uint64_t index, const Json* value,
                  const std::string& folder, bool top, Paths* paths) {
  if (value == nullptr || index >= array.length || array.IsNull(index)) return;
  const DataType& type = *array.type;
  if (IsBlob(type, top)) {
    const Json* path = value->Find("path");
    if (path == nullptr) return;
    auto& texts = (*paths)[&array];
    texts.resize(array.length);
    texts[index] = folder + "/" + path->text;
    return;
  }
  if (type.id == TypeId::kStruct) {
    for (size_t i = 0; i < array.children.size(); ++i) {
      CollectPaths(array.children[i], index, value->Find(type.children[i].name),
                   folder, false, paths);
    }
    return;
  }
  if (array.children.empty() || type.id == TypeId::kDictionary) return;
  const bool fixed = type.id == TypeId::kFixedSizeList;
  const uint64_t begin = fixed ? index * type.width : array.OffsetAt(index);
  for (size_t i = 0; i < value->items.size(); ++i) {
    const Json& item = value->items[i];
    if (type.id != TypeId::kMap) {
      CollectPaths(array.children[0], begin + i, &item, folder, false, paths);
    } else if (item.items.size() == 2) {  // [key, value]
      CollectPaths(array.children[0].children[1], begin + i, &item.items[1],
                   folder, false, paths);
    }
  }
}

Array PathArray(const Array& array, bool top, const Paths& paths) {
  if (IsBlob(*array.type, top)) {
    const auto found = paths.find(&array);
    ArrayBuilder builder(MakeType(TypeId::kString));
    for (uint64_t i = 0; i < array.length; ++i) {
      if (found != paths.end() && found->second[i]) {
        builder.AppendBytes(AsBytes(*found->second[i]));
      } else {
        builder.AppendNull();
      }
    }
    return builder.Finish();
  }
  Array out = array;
  out.type = ReplaceBlobType(array.type, TypeId::kString);
  for (size_t i = 0; i < out.children.size(); ++i) {
    out.children[i] = PathArray(array.children[i], false, paths);
  }
  return out;
}

}  // namespace

TypePtr ReplaceBlobType(const TypePtr& type, TypeId instead) {
  if (type->id == TypeId::kBlob) return MakeType(instead);
  DataType out = *type;
  bool changed = false;
  for (Field& child : out.children) {
    const TypePtr replaced = ReplaceBlobType(child.type, instead);
    if (replaced == child.type) continue;
    changed = true;
    child.type = replaced;
    child.nullable = true;
    child.metadata.clear();  // about the stored form
  }
  return changed ? MakeType(std::move(out)) : type;
}

Result<Array> BlobsAsBytes(const Array& array, const BlobBytes& bytes_of) {
  if (array.type->id == TypeId::kBlob) {
    ArrayBuilder builder(MakeType(TypeId::kLargeBinary));
    for (uint64_t i = 0; i < array.length; ++i) {
      if (array.IsNull(i)) {
        builder.AppendNull();
        continue;
      }
      ROWFS_ASSIGN_OR_RETURN(const Bytes bytes, bytes_of(array, i));
      builder.AppendBytes(bytes);
    }
    return builder.Finish();
  }
  Array out = array;
  out.type = ReplaceBlobType(array.type, TypeId::kLargeBinary);
  for (Array& child : out.children) {
    ROWFS_ASSIGN_OR_RETURN(child, BlobsAsBytes(child, bytes_of));
  }
  return out;
}

Array BlobsAsPaths(const Array& array, const std::vector<Json>& values,
                   const std::vector<std::string>& folders) {
  Paths paths;
  for (uint64_t i = 0; i < array.length; ++i) {
    CollectPaths(array, i, &values[i], folders[i], true, &paths);
  }
  return PathArray(array, true, paths);
}

}  // namespace rowfs
