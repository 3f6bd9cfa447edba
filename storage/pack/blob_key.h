// Keys of blobs in a pack and references to them: `zip://KEY::SHARD`. A key is
// a relative POSIX path without escapes of any kind, so what cannot be told
// apart again in a reference is refused here.
//
// Pure functions, thread-safe.
#ifndef ROWFS_STORAGE_PACK_BLOB_KEY_H_
#define ROWFS_STORAGE_PACK_BLOB_KEY_H_

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "storage/base/status.h"

namespace rowfs {

// kInvalidArgument, with the key quoted, unless `key` is a blob key: not empty,
// UTF-8, no white space at its ends, no backslash, no NUL, no leading "/", no
// "::", no ":" at its end, no segment that is empty, "." or "..", and at most
// 65,535 bytes.
Status CheckBlobKey(std::string_view key);

// What makes a key unsafe to extract: the rules above, but for NUL and a ":" at
// the end, which name files like any others.
Status CheckPathKey(std::string_view key);

// 128 bits of a key's SHA-256: 16 bytes a blob, however long its key.
using KeyHash = std::array<uint64_t, 2>;
KeyHash HashKey(std::string_view key);
struct HashOfKeyHash {
  size_t operator()(const KeyHash& hash) const { return hash[0]; }
};

// `zip://key::pack_path`.
std::string MakeBlobReference(std::string_view key, std::string_view pack_path);

// `text` in quotes, with control, format and other characters that do not print
// as escapes: the way Python shows a string. Bytes that are not UTF-8 show as
// \udcXX.
std::string QuoteText(std::string_view text);

// The code point at `*at`, which moves behind it; -1, one byte on, for bytes
// that are not UTF-8. Requires: *at < text.size().
int32_t NextCodePoint(std::string_view text, size_t* at);
void AppendCodePoint(std::string* out, uint32_t code_point);

}  // namespace rowfs
#endif  // ROWFS_STORAGE_PACK_BLOB_KEY_H_
