#include "index/plugins/common/json_text.h"

namespace rowfs::plugin {
namespace {

// Bytes of the UTF-8 character at the front of `text`; 0 when it is none
// (RFC 3629: no overlong forms, no surrogates, nothing above U+10FFFF).
size_t Utf8Length(std::string_view text) {
  const auto byte = [&](size_t i) -> unsigned {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u;
  };
  const auto tail = [&](size_t i) { return (byte(i) & 0xc0) == 0x80; };
  const unsigned lead = byte(0);
  if (lead < 0x80) return 1;
  if (lead >= 0xc2 && lead <= 0xdf) return tail(1) ? 2 : 0;
  if (lead >= 0xe0 && lead <= 0xef) {
    if (!tail(1) || !tail(2) || (lead == 0xe0 && byte(1) < 0xa0) ||
        (lead == 0xed && byte(1) > 0x9f)) {
      return 0;
    }
    return 3;
  }
  if (lead >= 0xf0 && lead <= 0xf4) {
    if (!tail(1) || !tail(2) || !tail(3) || (lead == 0xf0 && byte(1) < 0x90) ||
        (lead == 0xf4 && byte(1) > 0x8f)) {
      return 0;
    }
    return 4;
  }
  return 0;
}

}  // namespace

void PutQuoted(std::string_view text, std::string* out) {
  constexpr char kHex[] = "0123456789abcdef";
  *out += '"';
  while (!text.empty()) {
    const size_t length = Utf8Length(text);
    const auto c = static_cast<unsigned char>(text.front());
    if (length == 0) {
      *out += "\xef\xbf\xbd";  // U+FFFD
    } else if (c == '"' || c == '\\') {
      *out += {'\\', text.front()};
    } else if (c < 0x20 || c == 0x7f) {
      *out += "\\u00";
      *out += {kHex[c >> 4], kHex[c & 15]};
    } else {
      *out += text.substr(0, length);
    }
    text.remove_prefix(length == 0 ? 1 : length);
  }
  *out += '"';
}

}  // namespace rowfs::plugin
