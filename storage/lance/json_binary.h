// The binary JSON that Lance stores in "json" columns, from and to text.
//
// Pure; thread-safe.
#ifndef ROWFS_STORAGE_LANCE_JSON_BINARY_H_
#define ROWFS_STORAGE_LANCE_JSON_BINARY_H_

#include <string>
#include <string_view>

#include "storage/base/bytes.h"
#include "storage/base/status.h"

namespace rowfs {

// The document as compact JSON text. kCorruption for bytes that are none.
Result<std::string> DecodeJsonBinary(ByteSpan bytes);

// JSON text in its binary form: keys sorted, whole numbers that fit as 64-bit
// integers, others as doubles. kInvalidArgument for text that is no JSON or has
// a string of 256 MiB and more.
Result<Bytes> EncodeJsonBinary(std::string_view text);

}  // namespace rowfs
#endif  // ROWFS_STORAGE_LANCE_JSON_BINARY_H_
