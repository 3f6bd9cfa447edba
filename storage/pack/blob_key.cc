#include "storage/pack/blob_key.h"

#include <algorithm>
#include <span>

#include "storage/base/hash.h"

namespace rowfs {
namespace {

// A name's length is 16 bits in every zip record.
constexpr size_t kKeyBytesMax = 65'535;

struct Span {
  int32_t first;
  int32_t last;
};

bool Within(std::span<const Span> spans, int32_t c) {
  return std::any_of(spans.begin(), spans.end(), [c](const Span& span) {
    return span.first <= c && c <= span.last;
  });
}

// White space as Unicode and Python's str.strip() have it.
constexpr std::array<Span, 10> kSpaces = {{{0x09, 0x0d},
                                           {0x1c, 0x20},
                                           {0x85, 0x85},
                                           {0xa0, 0xa0},
                                           {0x1680, 0x1680},
                                           {0x2000, 0x200a},
                                           {0x2028, 0x2029},
                                           {0x202f, 0x202f},
                                           {0x205f, 0x205f},
                                           {0x3000, 0x3000}}};

// Categories that do not print: control, format, private use, surrogates and
// separators other than the space.
constexpr std::array<Span, 25> kUnprintable = {
    {{0x00, 0x1f},       {0x7f, 0xa0},       {0xad, 0xad},
     {0x600, 0x605},     {0x61c, 0x61c},     {0x6dd, 0x6dd},
     {0x70f, 0x70f},     {0x890, 0x891},     {0x8e2, 0x8e2},
     {0x1680, 0x1680},   {0x180e, 0x180e},   {0x2000, 0x200f},
     {0x2028, 0x202f},   {0x205f, 0x206f},   {0x3000, 0x3000},
     {0xd800, 0xf8ff},   {0xfeff, 0xfeff},   {0xfff0, 0xfffb},
     {0xfffe, 0xffff},   {0x110bd, 0x110bd}, {0x110cd, 0x110cd},
     {0x1bca0, 0x1bca3}, {0x1d173, 0x1d17a}, {0xe0000, 0xe00ff},
     {0xe01f0, 0x10ffff}}};

void AppendEscape(std::string* out, int32_t c) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  const int width = c <= 0xff ? 2 : c <= 0xffff ? 4 : 8;
  *out += '\\';
  *out += width == 2 ? 'x' : width == 4 ? 'u' : 'U';
  for (int digit = width - 1; digit >= 0; --digit) {
    *out += kDigits[static_cast<size_t>(c >> (4 * digit)) & 0xf];
  }
}

bool HasSpaceAtAnEnd(std::string_view key) {
  size_t at = 0;
  bool first = true;
  int32_t last = 0;
  while (at < key.size()) {
    last = NextCodePoint(key, &at);
    if (first && Within(kSpaces, last)) return true;
    first = false;
  }
  return Within(kSpaces, last);
}

Status Refuse(std::string_view why, std::string_view key) {
  return {Code::kInvalidArgument, std::string(why) + ": " + QuoteText(key)};
}

bool HasBadSegment(std::string_view key) {
  for (size_t begin = 0; begin <= key.size();) {
    const size_t end = std::min(key.find('/', begin), key.size());
    const std::string_view part = key.substr(begin, end - begin);
    if (part.empty() || part == "." || part == "..") return true;
    begin = end + 1;
  }
  return false;
}

}  // namespace

int32_t NextCodePoint(std::string_view text, size_t* at) {
  const auto byte = [&](size_t i) {
    return i < text.size() ? static_cast<uint8_t>(text[i]) : uint8_t{0};
  };
  const uint8_t lead = byte((*at)++);
  if (lead < 0x80) return lead;
  const size_t more = lead >= 0xf0   ? 3
                      : lead >= 0xe0 ? 2
                      : lead >= 0xc2 ? 1
                                     : 0;
  if (more == 0 || lead > 0xf4) return -1;
  int32_t c = lead & (0x3f >> more);
  for (size_t i = 0; i < more; ++i) {
    const uint8_t next = byte(*at + i);
    if ((next & 0xc0) != 0x80) return -1;
    c = c << 6 | (next & 0x3f);
  }
  const int32_t least = more == 1 ? 0x80 : more == 2 ? 0x800 : 0x10000;
  if (c < least || c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff)) return -1;
  *at += more;
  return c;
}

void AppendCodePoint(std::string* out, uint32_t c) {
  const auto put = [out](uint32_t byte) { *out += static_cast<char>(byte); };
  if (c < 0x80) {
    put(c);
  } else if (c < 0x800) {
    put(0xc0 | c >> 6);
    put(0x80 | (c & 0x3f));
  } else if (c < 0x10000) {
    put(0xe0 | c >> 12);
    put(0x80 | (c >> 6 & 0x3f));
    put(0x80 | (c & 0x3f));
  } else {
    put(0xf0 | c >> 18);
    put(0x80 | (c >> 12 & 0x3f));
    put(0x80 | (c >> 6 & 0x3f));
    put(0x80 | (c & 0x3f));
  }
}

Status CheckPathKey(std::string_view key) {
  if (key.empty() || HasSpaceAtAnEnd(key)) {
    return Refuse("invalid blob key", key);
  }
  if (key.find('\\') != key.npos || key.starts_with('/')) {
    return Refuse("blob keys are relative POSIX paths", key);
  }
  if (key.find("::") != key.npos) {
    return Refuse("blob keys must not contain '::'", key);
  }
  if (HasBadSegment(key)) {
    return Refuse("blob keys must not contain empty, '.' or '..' segments",
                  key);
  }
  return {};
}

Status CheckBlobKey(std::string_view key) {
  ROWFS_RETURN_IF_ERROR(CheckPathKey(key));
  if (key.find('\0') != key.npos) {
    return Refuse("blob keys must not contain NUL", key);
  }
  if (key.ends_with(':')) {
    // `zip://a:::media/...` would read back as key "a".
    return Refuse("blob keys must not end in ':'", key);
  }
  size_t position = 0;
  for (size_t at = 0; at < key.size(); ++position) {
    const size_t begin = at;
    if (NextCodePoint(key, &at) >= 0) continue;
    return {Code::kInvalidArgument,
            "'utf-8' codec can't encode character " +
                QuoteText(key.substr(begin, 1)) + " in position " +
                std::to_string(position) + ": surrogates not allowed"};
  }
  if (key.size() > kKeyBytesMax) {
    return Refuse("blob keys have at most 65535 bytes",
                  std::string(key.substr(0, 40)) + "...");
  }
  return {};
}

KeyHash HashKey(std::string_view key) {
  const Sha256Digest digest = Sha256(AsBytes(key));
  return {LoadU64(digest), LoadU64(ByteSpan(digest).subspan(8))};
}

std::string MakeBlobReference(std::string_view key,
                              std::string_view pack_path) {
  std::string reference = "zip://";
  reference += key;
  reference += "::";
  reference += pack_path;
  return reference;
}

std::string QuoteText(std::string_view text) {
  const bool single = text.find('\'') == text.npos;
  const char quote = single || text.find('"') != text.npos ? '\'' : '"';
  std::string out(1, quote);
  for (size_t at = 0; at < text.size();) {
    const size_t begin = at;
    const int32_t c = NextCodePoint(text, &at);
    if (c < 0) {
      AppendEscape(&out, 0xdc00 | static_cast<uint8_t>(text[begin]));
    } else if (c == quote || c == '\\') {
      out += '\\';
      out += static_cast<char>(c);
    } else if (c == '\n' || c == '\r' || c == '\t') {
      out += c == '\n' ? "\\n" : c == '\r' ? "\\r" : "\\t";
    } else if (Within(kUnprintable, c)) {
      AppendEscape(&out, c);
    } else {
      out += text.substr(begin, at - begin);
    }
  }
  return out + quote;
}

}  // namespace rowfs
