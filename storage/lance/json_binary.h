// The binary JSON that Lance stores in "json" columns, as text.
//
// Pure; thread-safe.
#ifndef ROWFS_STORAGE_LANCE_JSON_BINARY_H_
#define ROWFS_STORAGE_LANCE_JSON_BINARY_H_

#include <string>

#include "storage/base/bytes.h"
#include "storage/base/status.h"

namespace rowfs {

// The document as compact JSON text. kCorruption for bytes that are none.
Result<std::string> DecodeJsonBinary(ByteSpan bytes);

}  // namespace rowfs
#endif  // ROWFS_STORAGE_LANCE_JSON_BINARY_H_
