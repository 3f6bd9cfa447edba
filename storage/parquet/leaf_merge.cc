#include "storage/parquet/leaf_merge.h"

#include <vector>

namespace rowfs {
namespace {

// Levels of a type that have children of their own in Parquet.
bool IsInner(const DataType& type) {
  return !type.children.empty() && type.id != TypeId::kDictionary;
}

bool SameOffsets(const Array& a, const Array& b) {
  if (a.offsets == b.offsets) return true;
  return a.offsets && b.offsets && *a.offsets == *b.offsets;
}

}  // namespace

size_t CountLeaves(const DataType& type) {
  if (!IsInner(type)) return 1;
  size_t count = 0;
  for (const Field& child : type.children) count += CountLeaves(*child.type);
  return count;
}

Result<Array> MergeLeaves(const TypePtr& type, std::span<const Array> leaves) {
  if (!IsInner(*type)) return leaves[0];
  Array merged = leaves[0];
  merged.type = type;
  merged.children.clear();
  std::vector<Array> below;
  for (const Array& leaf : leaves) {
    if (leaf.length != merged.length || leaf.children.size() != 1 ||
        !SameOffsets(leaf, merged)) {
      return Status(Code::kCorruption,
                    "the parts of a nested column do not fit together");
    }
    below.push_back(leaf.children[0]);
  }
  size_t next = 0;
  for (const Field& child : type->children) {
    const size_t count = CountLeaves(*child.type);
    ROWFS_ASSIGN_OR_RETURN(
        merged.children.emplace_back(),
        MergeLeaves(child.type, std::span(below).subspan(next, count)));
    next += count;
  }
  return merged;
}

}  // namespace rowfs
