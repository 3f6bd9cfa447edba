// The Lance schema: fields with ids, as manifests and file footers store them
// (flattened depth first, tree by parent id), turned into our types and back.
//
// Values; thread-safe to read.
#ifndef ROWFS_STORAGE_LANCE_SCHEMA_H_
#define ROWFS_STORAGE_LANCE_SCHEMA_H_

#include <cstdint>
#include <string>
#include <vector>

#include "storage/base/status.h"
#include "storage/table/array.h"

namespace rowfs {

// How a field's values are laid out in data files, beyond its logical type.
enum class LanceFieldKind : uint8_t {
  kPlain,         // one column a leaf (2.1+), one column a field (2.0)
  kPackedStruct,  // one column under the struct's id
  kBlobV1,        // large_binary whose bytes lie out of line
  kBlobV2,        // descriptor, one column under the struct's id
};

struct LanceField {
  int32_t id = -1;
  Field field;  // our type; kBlob for both kinds of blobs
  LanceFieldKind kind = LanceFieldKind::kPlain;
  std::string logical_type;  // as stored: "list.struct", "decimal:128:10:2"
  // Children as stored. A list has one, a struct its members, a map one struct
  // "entries"; fixed-size lists of primitives and blobs have none.
  std::vector<LanceField> children;
};

struct LanceSchema {
  std::vector<LanceField> fields;  // top level
  Metadata metadata;

  Schema ToSchema() const;
};

// The stored form of one field; what the protobuf message lance Field holds.
struct StoredField {
  int32_t id = 0;
  int32_t parent_id = -1;
  std::string name;
  std::string logical_type;
  bool nullable = false;
  std::string extension_name;
  Metadata metadata;
};

// kCorruption for a tree that is none (unknown parent, cycle, repeated id),
// kUnsupported for a logical type we do not know; both name the field.
Result<LanceSchema> DecodeSchema(const std::vector<StoredField>& fields,
                                 Metadata metadata);
// Depth first; ids below 0 are assigned from `next_id` on.
Result<std::vector<StoredField>> EncodeSchema(const Schema& schema,
                                              int32_t next_id);

}  // namespace rowfs
#endif  // ROWFS_STORAGE_LANCE_SCHEMA_H_
