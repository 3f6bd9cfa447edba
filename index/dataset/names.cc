#include "index/dataset/names.h"

#include <algorithm>

#include "storage/base/bytes.h"
#include "storage/base/hash.h"

namespace rowfs {
namespace {

void AppendPercent(std::string* out, unsigned char c) {
  static constexpr char kDigits[] = "0123456789ABCDEF";
  *out += '%';
  *out += kDigits[c >> 4];
  *out += kDigits[c & 15];
}

}  // namespace

std::string_view CutName(std::string_view text, size_t size) {
  if (text.size() <= size) return text;
  while (size > 0 && (static_cast<unsigned char>(text[size]) & 0xC0) == 0x80) {
    --size;
  }
  for (size_t back = 1; back <= 2 && back <= size; ++back) {
    if (text[size - back] == '%') return text.substr(0, size - back);
  }
  return text.substr(0, size);
}

std::string EscapeName(std::string_view value, size_t bytes_max) {
  if (value.empty()) return "%";
  if (value == ".") return "%2E";
  if (value == "..") return "%2E%2E";
  std::string name;
  for (const char ch : value) {
    const auto c = static_cast<unsigned char>(ch);
    if (c < 0x20 || c == 0x7f || c == '/' || c == '%') {
      AppendPercent(&name, c);
    } else {
      name += ch;
    }
  }
  if (name.size() <= bytes_max) return name;
  const std::string digest = ToHex(ByteSpan(Sha256(AsBytes(value))).first(4));
  return std::string(CutName(name, bytes_max - 9)) + "~" + digest;
}

std::string UniqueNames::Take(std::string_view name) {
  std::string unique(name);
  for (size_t n = 2; !taken_.insert(unique).second; ++n) {
    const std::string suffix = "~" + std::to_string(n);
    unique = std::string(CutName(name, kNameBytesMax - suffix.size())) + suffix;
  }
  return unique;
}

std::string UniqueNames::TakeStem(std::string_view stem,
                                  std::span<const std::string> suffixes) {
  size_t longest = 0;
  for (const std::string& suffix : suffixes) {
    longest = std::max(longest, suffix.size());
  }
  longest = std::min(longest, kNameBytesMax - 20);
  std::string unique(CutName(stem, kNameBytesMax - longest));
  const auto taken = [&](const std::string& suffix) {
    return taken_.contains(unique + suffix);
  };
  for (size_t n = 2; std::any_of(suffixes.begin(), suffixes.end(), taken);
       ++n) {
    const std::string mark = "~" + std::to_string(n);
    unique = std::string(CutName(stem, kNameBytesMax - longest - mark.size())) +
             mark;
  }
  for (const std::string& suffix : suffixes) taken_.insert(unique + suffix);
  return unique;
}

bool UniqueNames::Has(std::string_view name) const {
  return taken_.contains(name);
}

}  // namespace rowfs
