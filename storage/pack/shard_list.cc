#include "storage/pack/shard_list.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

namespace rowfs {
namespace {

constexpr size_t kShardsMax = 1'000'000;
constexpr size_t kDepthMax = 4;
constexpr size_t kFoldersMax = 1000;

std::string LowerCase(std::string_view text) {
  std::string lower(text);
  std::transform(lower.begin(), lower.end(), lower.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return lower;
}

// What people put beside shards: read-me files, manifests, indexes of tars.
bool IsNote(std::string_view name) {
  const std::string lower = LowerCase(name);
  for (const std::string_view start : {"readme", "license", "dataset_info"}) {
    if (lower.starts_with(start)) return true;
  }
  for (const std::string_view end : {".json", ".md", ".txt", ".idx", ".index",
                                     ".yaml", ".yml", ".sha256", ".md5"}) {
    if (lower.ends_with(end)) return true;
  }
  return false;
}

std::string_view BaseName(std::string_view path) {
  return path.substr(path.rfind('/') + 1);  // npos + 1 == 0
}

class Walker {
 public:
  Walker(const Location& root, bool strict, ShardList* list)
      : root_(root), strict_(strict), list_(*list) {}

  Status Walk(const std::string& below, size_t depth) {
    if (++folders_ > kFoldersMax || depth > kDepthMax) {
      list_.others = true;
      return {};
    }
    const Location here = below.empty() ? root_ : root_.Join(below);
    ROWFS_ASSIGN_OR_RETURN(const std::vector<ListEntry> entries,
                           here.store->List(here.path));
    // Files first: one that is no shard ends it without looking further.
    for (const ListEntry& entry : entries) {
      if (entry.is_directory || entry.name.starts_with('.')) continue;
      const std::string path =
          below.empty() ? entry.name : below + "/" + entry.name;
      const ShardKind kind = ShardKindOf(entry.name);
      if (kind == ShardKind::kNone) {
        if (!IsNote(entry.name)) list_.others = true;
        continue;
      }
      ++(kind == ShardKind::kZip ? list_.zips : list_.tars);
      list_.names.push_back(path);
      if (list_.names.size() > kShardsMax) {
        return {Code::kResourceExhausted, root_.uri() + ": too many shards"};
      }
    }
    for (const ListEntry& entry : entries) {
      if (list_.others && strict_) return {};
      if (!entry.is_directory || entry.name.starts_with('.')) continue;
      ROWFS_RETURN_IF_ERROR(Walk(
          below.empty() ? entry.name : below + "/" + entry.name, depth + 1));
    }
    return {};
  }

 private:
  const Location root_;
  const bool strict_;
  ShardList& list_;
  size_t folders_ = 0;
};

// "000..012" or "a,b,c"; absent for other text.
std::optional<std::vector<std::string>> Alternatives(std::string_view text) {
  std::vector<std::string> result;
  const size_t dots = text.find("..");
  if (dots == text.npos) {
    if (text.find(',') == text.npos) return {};
    for (;;) {
      const size_t comma = std::min(text.find(','), text.size());
      result.emplace_back(text.substr(0, comma));
      if (comma == text.size()) return result;
      text.remove_prefix(comma + 1);
    }
  }
  const std::string_view first = text.substr(0, dots);
  const std::string_view last = text.substr(dots + 2);
  uint64_t begin = 0;
  uint64_t end = 0;
  const auto number = [](std::string_view digits, uint64_t* value) {
    const char* stop = digits.data() + digits.size();
    const auto parsed = std::from_chars(digits.data(), stop, *value);
    return !digits.empty() && parsed.ec == std::errc() && parsed.ptr == stop;
  };
  if (!number(first, &begin) || !number(last, &end) || end < begin ||
      end - begin >= kShardsMax) {
    return {};
  }
  for (uint64_t i = begin; i <= end; ++i) {
    std::string digits = std::to_string(i);
    if (digits.size() < first.size()) {
      digits.insert(0, first.size() - digits.size(), '0');
    }
    result.push_back(std::move(digits));
  }
  return result;
}

}  // namespace

ShardKind ShardKindOf(std::string_view name) {
  const std::string lower = LowerCase(BaseName(name));
  const auto ends = [&](std::string_view ending) {
    return lower.size() > ending.size() && lower.ends_with(ending);
  };
  if (ends(".zip") || ends(".cbz")) return ShardKind::kZip;
  if (ends(".tar") || ends(".tgz") || ends(".tar.gz") || ends(".tar.zst")) {
    return ShardKind::kTar;
  }
  return ShardKind::kNone;
}

Result<std::vector<std::string>> ExpandBraces(std::string_view text) {
  size_t open = text.find('{');
  while (open != text.npos) {
    const size_t close = text.find('}', open);
    if (close == text.npos) break;
    const auto middle = Alternatives(text.substr(open + 1, close - open - 1));
    if (!middle) {
      open = text.find('{', open + 1);
      continue;
    }
    ROWFS_ASSIGN_OR_RETURN(const std::vector<std::string> rest,
                           ExpandBraces(text.substr(close + 1)));
    if (middle->size() > kShardsMax / rest.size()) {
      return Status(Code::kInvalidArgument,
                    std::string(text) + ": more than a million names");
    }
    std::vector<std::string> result;
    for (const std::string& part : *middle) {
      for (const std::string& end : rest) {
        result.push_back(std::string(text.substr(0, open)) + part + end);
      }
    }
    return result;
  }
  return std::vector<std::string>{std::string(text)};
}

Result<ShardList> ListShards(const Location& location, bool strict) {
  ShardList list;
  const auto add = [&](const std::string& path) {
    const ShardKind kind = ShardKindOf(path);
    if (kind == ShardKind::kZip) ++list.zips;
    if (kind == ShardKind::kTar) ++list.tars;
    if (kind == ShardKind::kNone) list.others = true;
    list.shards.push_back({location.store, path});
    list.names.emplace_back(BaseName(path));
  };
  // On a network the name is enough: opening tells whether it is there.
  const bool named = location.store->capabilities().remote &&
                     ShardKindOf(location.path) != ShardKind::kNone &&
                     location.path.find('{') == std::string::npos;
  if (named || location.store->Stat(location.path).ok()) {
    add(location.path);
    return list;
  }
  ROWFS_ASSIGN_OR_RETURN(const std::vector<std::string> paths,
                         ExpandBraces(location.path));
  if (paths.size() > 1) {
    for (const std::string& path : paths) add(path);
    return list;
  }
  if (!location.store->capabilities().list) {
    return Status(Code::kNotFound, location.uri() + ": there is nothing");
  }
  ROWFS_RETURN_IF_ERROR(Walker(location, strict, &list).Walk("", 0));
  std::sort(list.names.begin(), list.names.end());
  for (const std::string& name : list.names) {
    list.shards.push_back(location.Join(name));
  }
  return list;
}

}  // namespace rowfs
