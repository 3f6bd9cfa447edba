// Digests and text codings of bytes: SHA-256, HMAC-SHA-256, CRC-32, 64-bit
// non-cryptographic hash, hex, base64.
//
// Pure functions, thread-safe.
#ifndef ROWFS_STORAGE_BASE_HASH_H_
#define ROWFS_STORAGE_BASE_HASH_H_

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "storage/base/bytes.h"

namespace rowfs {

using Sha256Digest = std::array<std::byte, 32>;

Sha256Digest Sha256(ByteSpan bytes);
Sha256Digest HmacSha256(ByteSpan key, ByteSpan message);

// SHA-256 of bytes that arrive in pieces.
class Sha256Stream {
 public:
  Sha256Stream();
  ~Sha256Stream();
  void Update(ByteSpan bytes);
  Sha256Digest Finish();  // once, last

 private:
  struct Context;
  std::unique_ptr<Context> context_;
};

// CRC-32 as zip and PNG use it. `crc` is the value of the bytes before.
uint32_t Crc32(ByteSpan bytes, uint32_t crc = 0);

// Stable across processes, machines and releases (FNV-1a with a final mix):
// node and cache keys are made of it.
uint64_t Hash64(ByteSpan bytes, uint64_t seed = 0);

std::string ToHex(ByteSpan bytes);  // lower case
std::string ToBase64(ByteSpan bytes);
Result<Bytes> FromBase64(std::string_view text);

}  // namespace rowfs
#endif  // ROWFS_STORAGE_BASE_HASH_H_
