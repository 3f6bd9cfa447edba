// Cuts nested columns into leaf columns: the values of each leaf, and the
// levels that put the nesting back together.
//
// Values; thread-safe to read.
#ifndef ROWFS_STORAGE_LANCE_SHRED_H_
#define ROWFS_STORAGE_LANCE_SHRED_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "storage/lance/encodings.pb.h"
#include "storage/lance/leaf_page.h"
#include "storage/lance/schema.h"

namespace rowfs {

// One layer above a leaf, outermost first.
struct ShredStep {
  LayerKind kind = LayerKind::kItem;
  size_t child = 0;  // which child of the struct the leaf is below
};

struct LeafColumn {
  int32_t field_id = -1;
  std::string name;  // "column.child", for messages
  LeafLayout layout;
  std::vector<ShredStep> steps;
  std::vector<LayerKind> layers;  // innermost first: the leaf's own, then steps
  Metadata metadata;              // of the field: how to encode
  uint16_t lists = 0;             // list layers
  // Level entries of one row that holds fixed-size lists of structs; pages
  // count entries as rows.
  uint64_t entries_per_row = 1;
  // How a packed struct's rows lie in values.
  std::optional<lance::pb::CompressiveEncoding> packed;
};

// The leaves below one top-level field, depth first: the columns a data file
// has for it. kUnsupported names a field that cannot be stored.
Result<std::vector<LeafColumn>> FindLeaves(const LanceField& field);

// Append the rows of `column`, an array of the top-level field, to `page`.
// kBlob arrays must have been turned into rows of descriptors (binary) before,
// JSON and packed structs into their StoredForm.
// Requires: the array has the shape of the field's type.
void Shred(const Array& column, const LeafColumn& leaf, LeafPage* page);

}  // namespace rowfs
#endif  // ROWFS_STORAGE_LANCE_SHRED_H_
