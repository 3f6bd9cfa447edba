// What pages hold in place of values as readers see them: JSON text in its
// binary form, packed structs as rows of bytes.
//
// Pure functions; thread-safe.
#ifndef ROWFS_STORAGE_LANCE_STORED_FORM_H_
#define ROWFS_STORAGE_LANCE_STORED_FORM_H_

#include "storage/lance/encodings.pb.h"
#include "storage/lance/schema.h"

namespace rowfs {

// The rows of a packed struct: its members one behind the other.
struct PackedForm {
  uint64_t row_bytes = 0;  // 0: rows vary in size
  lance::pb::CompressiveEncoding encoding;
};

// The form of a kPackedStruct field. kUnsupported names a member that has no
// place in a row.
Result<PackedForm> FindPackedForm(const LanceField& field);

// `array`, an array of `field`, with every column below it in the form that
// pages hold. kInvalidArgument for text that is no JSON, kUnsupported for a
// null inside a packed struct or of a struct without members, which have no
// place for it.
Result<Array> StoredForm(const LanceField& field, const Array& array);

}  // namespace rowfs
#endif  // ROWFS_STORAGE_LANCE_STORED_FORM_H_
