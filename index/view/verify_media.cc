#include "index/view/verify_media.h"

#include <charconv>
#include <optional>

namespace rowfs {
namespace {

constexpr uint64_t kListed = 512;  // entries at a time
constexpr int kDepthMax = 4;
// What one call renders: a group of pictures and more.
constexpr size_t kDecodedTogether = 16;

std::optional<std::string_view> FindAttribute(const ViewEntry& entry,
                                              std::string_view key) {
  for (const auto& [name, value] : entry.attributes) {
    if (name == key) return value;
  }
  return std::nullopt;
}

std::optional<double> TimeOf(const ViewEntry& entry) {
  const auto text = FindAttribute(entry, "pts");
  double value = 0;
  if (!text ||
      std::from_chars(text->data(), text->data() + text->size(), value).ec !=
          std::errc()) {
    return std::nullopt;
  }
  return value;
}

class MediaVerifier {
 public:
  MediaVerifier(const Media& media, bool decode)
      : media_(media), decode_(decode) {}

  Status CheckView(const std::string& directory, int depth) {
    std::vector<std::string> decoded;
    std::optional<double> before;
    bool first = true;
    for (uint64_t start = 0;; start += kListed) {
      ROWFS_ASSIGN_OR_RETURN(const std::vector<ViewEntry> entries,
                             media_.List(directory, start, kListed));
      ROWFS_RETURN_IF_ERROR(CheckFiles(directory, entries));
      for (const ViewEntry& entry : entries) {
        const std::string path = Join(directory, entry.name);
        const auto time = TimeOf(entry);
        if (time && before && *time < *before) {
          return {Code::kCorruption, path + " comes before what it follows"};
        }
        if (time) before = time;
        if (entry.is_directory) {
          if (!entry.lookup_only && depth < kDepthMax) {
            ROWFS_RETURN_IF_ERROR(CheckView(path, depth + 1));
          }
        } else if (decode_ && IsDecoded(entry, first && decoded.empty())) {
          decoded.push_back(path);
        }
        if (decoded.size() == kDecodedTogether) {
          ROWFS_RETURN_IF_ERROR(Decode(decoded));
          decoded.clear();
          first = false;
        }
      }
      if (entries.size() < kListed) break;
    }
    return Decode(decoded);
  }

 private:
  static std::string Join(const std::string& directory,
                          const std::string& name) {
    return directory.empty() ? name : directory + "/" + name;
  }

  static bool IsDecoded(const ViewEntry& entry, bool first) {
    // Aliases are decoded under their own name.
    if (entry.is_whole || !entry.canonical_path.empty()) return false;
    const auto key = FindAttribute(entry, "key");
    return key ? *key == "1" : first;
  }

  Status CheckFiles(const std::string& directory,
                    const std::vector<ViewEntry>& entries) const {
    std::vector<std::string> paths;
    std::vector<uint64_t> sizes;
    for (const ViewEntry& entry : entries) {
      if (entry.is_directory) continue;
      paths.push_back(Join(directory, entry.name));
      sizes.push_back(entry.size_exact ? entry.size : UINT64_MAX);
    }
    if (paths.empty()) return {};
    const Result<ViewPlan> plan = media_.Plan(paths);
    if (!plan.ok()) return plan.status().With(NameOf(directory));
    for (size_t i = 0; i < paths.size(); ++i) {
      const auto& segments = plan.value().segments[i];
      uint64_t size = 0;
      for (const ViewSegment& segment : segments) size += segment.size();
      if (!segments.empty() && sizes[i] != UINT64_MAX && size != sizes[i]) {
        return {Code::kCorruption, paths[i] + " has " + std::to_string(size) +
                                       " bytes, not the " +
                                       std::to_string(sizes[i]) + " it tells"};
      }
    }
    return {};
  }

  Status Decode(const std::vector<std::string>& paths) const {
    const auto files = media_.OpenFiles(paths, nullptr);
    for (size_t i = 0; i < files.size(); ++i) {
      if (!files[i].ok()) return files[i].status().With(paths[i]);
    }
    return {};
  }

  static std::string NameOf(const std::string& directory) {
    return directory.empty() ? "views" : directory;
  }

  const Media& media_;
  const bool decode_;
};

}  // namespace

Status VerifyMedia(const Media& media, bool decode) {
  return MediaVerifier(media, decode).CheckView("", 0);
}

}  // namespace rowfs
