#include "storage/pack/posix_path.h"

#include <algorithm>
#include <vector>

namespace rowfs {
namespace {

std::string Rebuild(std::string_view text, bool resolve_parents) {
  // Exactly two leading slashes mean something of their own in POSIX.
  const size_t slashes = std::min(text.find_first_not_of('/'), text.size());
  std::string out(slashes == 2 ? 2 : slashes > 0 ? 1 : 0, '/');
  const bool absolute = slashes > 0;
  std::vector<std::string_view> parts;
  for (size_t begin = slashes; begin < text.size();) {
    const size_t end = std::min(text.find('/', begin), text.size());
    const std::string_view part = text.substr(begin, end - begin);
    begin = end + 1;
    if (part.empty() || part == ".") continue;
    if (resolve_parents && part == "..") {
      if (parts.empty() && absolute) continue;
      if (!parts.empty() && parts.back() != "..") {
        parts.pop_back();
        continue;
      }
    }
    parts.push_back(part);
  }
  for (size_t i = 0; i < parts.size(); ++i) {
    if (i > 0) out += '/';
    out += parts[i];
  }
  return out.empty() ? "." : out;
}

}  // namespace

std::string CleanPath(std::string_view text) { return Rebuild(text, false); }

std::string NormalizePath(std::string_view text) { return Rebuild(text, true); }

std::string LastPart(std::string_view text) {
  const std::string clean = CleanPath(text);
  if (clean == ".") return "";
  return clean.substr(clean.rfind('/') + 1);
}

std::string JoinPath(std::string_view base, std::string_view name) {
  std::string joined(base);
  if (!joined.empty() && !joined.ends_with('/')) joined += '/';
  return joined += name;
}

std::string ChildPath(std::string_view folder, std::string_view name) {
  return folder == "." ? std::string(name) : JoinPath(folder, name);
}

}  // namespace rowfs
