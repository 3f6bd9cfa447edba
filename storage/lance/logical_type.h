// The strings Lance names types by ("timestamp:us:UTC", "decimal:128:10:2"),
// for the types that are one field: everything but structs, lists and maps.
//
// Pure; thread-safe.
#ifndef ROWFS_STORAGE_LANCE_LOGICAL_TYPE_H_
#define ROWFS_STORAGE_LANCE_LOGICAL_TYPE_H_

#include <string>
#include <string_view>

#include "storage/base/status.h"
#include "storage/table/array.h"

namespace rowfs {

inline constexpr std::string_view kExtensionName = "ARROW:extension:name";
inline constexpr std::string_view kBfloat16Extension = "lance.bfloat16";
inline constexpr std::string_view kJsonExtension = "lance.json";

// kUnsupported for a string we do not know, kCorruption for a bad number in
// one; both quote it. "json" gives kString: the text of the document.
Result<TypePtr> DecodeLogicalType(std::string_view logical_type);
// kUnsupported for types that are a tree of fields, or that Lance has no name
// for.
Result<std::string> EncodeLogicalType(const DataType& type);

// Tag a "json" field as it is stored; readers see the tag of JSON text.
void SetJsonExtension(Metadata* metadata);

}  // namespace rowfs
#endif  // ROWFS_STORAGE_LANCE_LOGICAL_TYPE_H_
