#include "storage/object/uri.h"

namespace rowfs {
namespace {

bool IsAlpha(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

int HexValue(char c) {
  if (IsDigit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

}  // namespace

std::optional<Uri> FindUri(std::string_view text) {
  const size_t colon = text.find("://");
  if (colon == std::string_view::npos || colon == 0) return std::nullopt;
  Uri uri;
  for (const char c : text.substr(0, colon)) {
    const bool first = uri.scheme.empty();
    const bool allowed =
        IsAlpha(c) ||
        (!first && (IsDigit(c) || c == '+' || c == '-' || c == '.'));
    if (!allowed) return std::nullopt;
    uri.scheme += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  }
  const std::string_view rest = text.substr(colon + 3);
  const size_t slash = rest.find('/');
  uri.authority = rest.substr(0, slash);
  if (slash != std::string_view::npos) uri.path = rest.substr(slash);
  return uri;
}

Result<std::string> PercentDecode(std::string_view text) {
  std::string decoded;
  decoded.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      decoded += text[i];
      continue;
    }
    const int high = i + 2 < text.size() ? HexValue(text[i + 1]) : -1;
    const int low = i + 2 < text.size() ? HexValue(text[i + 2]) : -1;
    if (high < 0 || low < 0 || (high == 0 && low == 0)) {
      return Status(Code::kInvalidArgument,
                    std::string(text) + ": '%' that is not a coded character");
    }
    decoded += static_cast<char>(high * 16 + low);
    i += 2;
  }
  return decoded;
}

std::string PercentEncode(std::string_view text, std::string_view keep) {
  constexpr std::string_view kHex = "0123456789ABCDEF";
  std::string encoded;
  for (const char c : text) {
    const bool plain = IsAlpha(c) || IsDigit(c) || c == '-' || c == '.' ||
                       c == '_' || c == '~' ||
                       keep.find(c) != std::string_view::npos;
    if (plain) {
      encoded += c;
      continue;
    }
    const auto byte = static_cast<unsigned char>(c);
    encoded += '%';
    encoded += kHex[byte >> 4];
    encoded += kHex[byte & 0xf];
  }
  return encoded;
}

}  // namespace rowfs
