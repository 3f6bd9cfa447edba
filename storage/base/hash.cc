#include "storage/base/hash.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <zlib.h>

#include <limits>

namespace rowfs {

struct Sha256Stream::Context {
  EVP_MD_CTX* md = EVP_MD_CTX_new();
  ~Context() { EVP_MD_CTX_free(md); }
};

Sha256Stream::Sha256Stream() : context_(std::make_unique<Context>()) {
  // Fetched once: EVP_sha256() is looked up by name at every use.
  static const EVP_MD* const kSha256 =
      ::EVP_MD_fetch(nullptr, "SHA256", nullptr);
  EVP_DigestInit_ex(context_->md, kSha256 != nullptr ? kSha256 : EVP_sha256(),
                    nullptr);
}

Sha256Stream::~Sha256Stream() = default;

void Sha256Stream::Update(ByteSpan bytes) {
  EVP_DigestUpdate(context_->md, bytes.data(), bytes.size());
}

Sha256Digest Sha256Stream::Finish() {
  Sha256Digest digest;
  EVP_DigestFinal_ex(context_->md, AsU8(MutableByteSpan(digest)), nullptr);
  return digest;
}

Sha256Digest Sha256(ByteSpan bytes) {
  Sha256Stream stream;
  stream.Update(bytes);
  return stream.Finish();
}

Sha256Digest HmacSha256(ByteSpan key, ByteSpan message) {
  Sha256Digest digest;
  HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()), AsU8(message),
       message.size(), AsU8(MutableByteSpan(digest)), nullptr);
  return digest;
}

uint32_t Crc32(ByteSpan bytes, uint32_t crc) {
  uLong value = crc;
  constexpr size_t kStep = std::numeric_limits<uInt>::max();
  while (!bytes.empty()) {
    const ByteSpan step = bytes.first(std::min(bytes.size(), kStep));
    value = crc32(value, AsU8(step), static_cast<uInt>(step.size()));
    bytes = bytes.subspan(step.size());
  }
  return static_cast<uint32_t>(value);
}

uint64_t Hash64(ByteSpan bytes, uint64_t seed) {
  uint64_t hash = 0xcbf29ce484222325 ^ seed;
  for (const std::byte byte : bytes) {
    hash = (hash ^ static_cast<uint64_t>(byte)) * 0x100000001b3;
  }
  // The finalizer of MurmurHash3, so that every input bit reaches every output.
  hash = (hash ^ (hash >> 33)) * 0xff51afd7ed558ccd;
  hash = (hash ^ (hash >> 33)) * 0xc4ceb9fe1a85ec53;
  return hash ^ (hash >> 33);
}

std::string ToHex(ByteSpan bytes) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  text.reserve(bytes.size() * 2);
  for (const std::byte byte : bytes) {
    text += kDigits[static_cast<unsigned>(byte) >> 4];
    text += kDigits[static_cast<unsigned>(byte) & 15];
  }
  return text;
}

std::string ToBase64(ByteSpan bytes) {
  std::string text((bytes.size() + 2) / 3 * 4 + 1, '\0');
  // EVP_EncodeBlock takes an int; encode in steps that are multiples of 3.
  constexpr size_t kStep = 3 << 20;
  size_t at = 0;
  for (size_t i = 0; i < bytes.size(); i += kStep) {
    const ByteSpan step = bytes.subspan(i, std::min(kStep, bytes.size() - i));
    at += static_cast<size_t>(
        EVP_EncodeBlock(AsU8(std::as_writable_bytes(std::span(text))) + at,
                        AsU8(step), static_cast<int>(step.size())));
  }
  text.resize(at);
  return text;
}

Result<Bytes> FromBase64(std::string_view text) {
  if (text.size() % 4 != 0 || text.size() > (size_t{1} << 30)) {
    return Status(Code::kInvalidArgument, "not base64");
  }
  Bytes bytes(text.size() / 4 * 3);
  const int size =
      EVP_DecodeBlock(AsU8(MutableByteSpan(bytes)), AsU8(AsBytes(text)),
                      static_cast<int>(text.size()));
  if (size < 0) return Status(Code::kInvalidArgument, "not base64");
  size_t padding = 0;
  while (padding < 2 && padding < text.size() &&
         text[text.size() - 1 - padding] == '=') {
    ++padding;
  }
  bytes.resize(static_cast<size_t>(size) - padding);
  return bytes;
}

}  // namespace rowfs
