#include "storage/object/xml.h"

#include <charconv>

namespace rowfs {
namespace {

constexpr size_t kDepthMax = 16;

Status Bad(std::string_view what) {
  return {Code::kCorruption, "XML: " + std::string(what)};
}

void AppendUtf8(std::string* out, uint32_t code) {
  const auto append = [out](uint32_t byte) {
    out->push_back(static_cast<char>(byte));
  };
  if (code < 0x80) {
    append(code);
  } else if (code < 0x800) {
    append(0xc0 | (code >> 6));
    append(0x80 | (code & 0x3f));
  } else if (code < 0x10000) {
    append(0xe0 | (code >> 12));
    append(0x80 | ((code >> 6) & 0x3f));
    append(0x80 | (code & 0x3f));
  } else {
    append(0xf0 | (code >> 18));
    append(0x80 | ((code >> 12) & 0x3f));
    append(0x80 | ((code >> 6) & 0x3f));
    append(0x80 | (code & 0x3f));
  }
}

Status AppendEntity(std::string_view entity, std::string* out) {
  constexpr std::pair<std::string_view, char> kNamed[] = {
      {"amp", '&'}, {"lt", '<'}, {"gt", '>'}, {"quot", '"'}, {"apos", '\''}};
  for (const auto& [name, c] : kNamed) {
    if (entity != name) continue;
    out->push_back(c);
    return {};
  }
  if (!entity.starts_with('#')) return Bad("an unknown entity");
  entity.remove_prefix(1);
  const bool hex = entity.starts_with('x');
  if (hex) entity.remove_prefix(1);
  uint32_t code = 0;
  const auto [end, error] = std::from_chars(
      entity.data(), entity.data() + entity.size(), code, hex ? 16 : 10);
  if (error != std::errc() || end != entity.data() + entity.size() ||
      code > 0x10ffff || code == 0) {
    return Bad("a malformed character reference");
  }
  AppendUtf8(out, code);
  return {};
}

class Parser {
 public:
  explicit Parser(std::string_view text) : rest_(text) {}

  Result<XmlElement> Document() {
    ROWFS_RETURN_IF_ERROR(SkipMisc());
    XmlElement root;
    ROWFS_RETURN_IF_ERROR(Element(&root, 1));
    return root;
  }

 private:
  // White space, comments, the declaration.
  Status SkipMisc() {
    for (;;) {
      const size_t begin = rest_.find_first_not_of(" \t\r\n");
      if (begin == std::string_view::npos) return Bad("no element");
      rest_.remove_prefix(begin);
      if (rest_.starts_with("<?")) {
        ROWFS_RETURN_IF_ERROR(SkipPast("?>"));
      } else if (rest_.starts_with("<!--")) {
        ROWFS_RETURN_IF_ERROR(SkipPast("-->"));
      } else if (rest_.starts_with("<!")) {
        return Bad("a document type is not accepted");
      } else {
        return {};
      }
    }
  }

  Status SkipPast(std::string_view end) {
    const size_t at = rest_.find(end);
    if (at == std::string_view::npos) return Bad("ends early");
    rest_.remove_prefix(at + end.size());
    return {};
  }

  Status Element(XmlElement* element, size_t depth) {
    if (depth > kDepthMax) return Bad("nested too deeply");
    if (!rest_.starts_with('<')) return Bad("an element was expected");
    const size_t close = rest_.find('>');
    if (close == std::string_view::npos) return Bad("ends early");
    std::string_view tag = rest_.substr(1, close - 1);
    rest_.remove_prefix(close + 1);
    const bool empty = tag.ends_with('/');
    tag = tag.substr(0, tag.find_first_of(" \t\r\n/"));
    if (tag.empty() || tag.front() == '!' || tag.front() == '?') {
      return Bad("a malformed tag");
    }
    const std::string full(tag);
    element->name = full.substr(full.find(':') + 1);
    return empty ? Status() : Content(element, full, depth);
  }

  Status Content(XmlElement* element, const std::string& tag, size_t depth) {
    for (;;) {
      const size_t open = rest_.find('<');
      if (open == std::string_view::npos) return Bad("ends early");
      ROWFS_RETURN_IF_ERROR(Text(rest_.substr(0, open), &element->text));
      rest_.remove_prefix(open);
      if (rest_.starts_with("</")) {
        rest_.remove_prefix(2);
        if (!rest_.starts_with(tag)) return Bad("an end tag of another name");
        return SkipPast(">");
      }
      if (rest_.starts_with("<!--")) {
        ROWFS_RETURN_IF_ERROR(SkipPast("-->"));
        continue;
      }
      if (rest_.starts_with("<![CDATA[")) {
        rest_.remove_prefix(9);
        const size_t end = rest_.find("]]>");
        if (end == std::string_view::npos) return Bad("ends early");
        element->text += rest_.substr(0, end);
        rest_.remove_prefix(end + 3);
        continue;
      }
      ROWFS_RETURN_IF_ERROR(
          Element(&element->children.emplace_back(), depth + 1));
    }
  }

  static Status Text(std::string_view raw, std::string* out) {
    while (!raw.empty()) {
      const size_t amp = raw.find('&');
      *out += raw.substr(0, amp);
      if (amp == std::string_view::npos) break;
      const size_t end = raw.find(';', amp);
      if (end == std::string_view::npos) return Bad("an unfinished entity");
      ROWFS_RETURN_IF_ERROR(
          AppendEntity(raw.substr(amp + 1, end - amp - 1), out));
      raw.remove_prefix(end + 1);
    }
    return {};
  }

  std::string_view rest_;
};

}  // namespace

const XmlElement* XmlElement::Find(std::string_view child) const {
  for (const XmlElement& element : children) {
    if (element.name == child) return &element;
  }
  return nullptr;
}

std::string XmlElement::TextOf(std::string_view child) const {
  const XmlElement* element = Find(child);
  return element == nullptr ? "" : element->text;
}

Result<XmlElement> ParseXml(std::string_view text) {
  return Parser(text).Document();
}

}  // namespace rowfs
