#include "index/runtime/plugin_checks.h"

#include <algorithm>

#include "index/abi/rowfs_plugin.h"

namespace rowfs {
namespace {

bool IsControl(char c) {
  return static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
}

bool HasControl(std::string_view text) {
  return std::ranges::any_of(text, IsControl);
}

bool IsPathPart(std::string_view name) {
  return !name.empty() && name.size() <= kEntryNameBytesMax && name != "." &&
         name != ".." && name.find('/') == std::string_view::npos &&
         !HasControl(name);
}

Status Wrong(std::string_view what) {
  return Status(Code::kInternal, std::string(what));
}

Status CheckRange(const ByteRange& range, uint64_t blob_size) {
  if (range.begin <= range.end && range.end <= blob_size) return Status();
  return Status(Code::kCorruption,
                "plan asks for bytes [" + std::to_string(range.begin) + ", " +
                    std::to_string(range.end) + ") of a blob of " +
                    std::to_string(blob_size));
}

Status CheckGroup(const DecodeGroup& group, uint64_t blob_size) {
  if (group.items.empty()) return Wrong("plan has a decode without items");
  if (group.ranges.size() > kRangesMax ||
      group.recipe.size() > kRecipeBytesMax) {
    return Status(Code::kResourceExhausted, "plan is too large");
  }
  uint64_t end = 0;
  for (const ByteRange& range : group.ranges) {
    ROWFS_RETURN_IF_ERROR(CheckRange(range, blob_size));
    if (range.begin < end) return Wrong("plan's ranges are not in order");
    end = range.end;
  }
  return Status();
}

Code CodeFromPlugin(int32_t code) {
  switch (code) {
    case ROWFS_E_INVALID:
      return Code::kInvalidArgument;
    case ROWFS_E_CORRUPT:
      return Code::kCorruption;
    case ROWFS_E_UNSUPPORTED:
      return Code::kUnsupported;
    case ROWFS_E_NOT_FOUND:
      return Code::kNotFound;
    case ROWFS_E_LIMIT:
      return Code::kResourceExhausted;
    case ROWFS_E_NEED_ENTRIES:
      return Code::kOutOfRange;
    default:
      return Code::kInternal;
  }
}

}  // namespace

std::string OneLine(std::string_view text) {
  std::string line(text.substr(0, sizeof(rowfs_error::message)));
  std::ranges::replace_if(line, IsControl, '?');
  return line;
}

Status StatusFromPlugin(int32_t code, std::string_view message) {
  if (code == ROWFS_OK) return Status();
  std::string text = OneLine(message);
  if (text.empty()) text = "failed without a reason";
  if (code < ROWFS_OK || code > ROWFS_E_NEED_ENTRIES) {
    text += " (unknown code " + std::to_string(code) + ")";
  }
  return Status(CodeFromPlugin(code), std::move(text));
}

Status CheckDescription(std::string_view name, std::string_view version,
                        std::string_view magic) {
  const auto is_name_char = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-';
  };
  if (name.empty() || name.size() > kPluginNameBytesMax ||
      !std::ranges::all_of(name, is_name_char)) {
    return Wrong("plugin has an unusable name");
  }
  if (version.size() > kPluginVersionBytesMax || HasControl(version)) {
    return Wrong("plugin has an unusable version");
  }
  if (magic.size() != 4) return Wrong("plugin has an unusable magic");
  return Status();
}

Status CheckEntry(const ViewEntry& entry) {
  if (!IsPathPart(entry.name)) return Wrong("entry has an unusable name");
  if (!entry.is_directory && !entry.size_exact && entry.size == 0) {
    return Wrong("entry has neither a size nor an estimate");
  }
  if (entry.media_type.size() > kEntryTextBytesMax ||
      HasControl(entry.media_type)) {
    return Wrong("entry has an unusable media type");
  }
  if (entry.canonical_path.size() > kEntryTextBytesMax ||
      HasControl(entry.canonical_path)) {
    return Wrong("entry has an unusable canonical path");
  }
  if (entry.attributes.size() > kEntryAttributesMax) {
    return Wrong("entry has too many attributes");
  }
  for (const auto& [key, value] : entry.attributes) {
    if (!IsPathPart(key) || value.size() > kEntryTextBytesMax) {
      return Wrong("entry has an unusable attribute");
    }
  }
  return Status();
}

uint64_t EntryBytes(const ViewEntry& entry) {
  uint64_t bytes = sizeof(entry) + entry.name.size() + entry.media_type.size() +
                   entry.canonical_path.size();
  for (const auto& [key, value] : entry.attributes) {
    bytes += sizeof(key) + sizeof(value) + key.size() + value.size();
  }
  return bytes;
}

Status CheckPlan(const ViewPlan& plan, size_t path_count, uint64_t blob_size) {
  if (plan.segments.size() != path_count) {
    return Wrong("plan has another number of items than was asked for");
  }
  std::vector<uint8_t> answers(path_count, 0);
  uint64_t literal_bytes = 0;
  for (size_t i = 0; i < path_count; ++i) {
    if (!plan.segments[i].empty()) ++answers[i];
    for (const ViewSegment& segment : plan.segments[i]) {
      if (segment.literal) {
        literal_bytes += segment.literal->size();
      } else {
        ROWFS_RETURN_IF_ERROR(CheckRange(segment.range, blob_size));
      }
    }
  }
  if (literal_bytes > kIndexBytesMax) {
    return Status(Code::kResourceExhausted, "plan has too many literal bytes");
  }
  for (const DecodeGroup& group : plan.groups) {
    ROWFS_RETURN_IF_ERROR(CheckGroup(group, blob_size));
    for (const size_t item : group.items) {
      if (item >= path_count || answers[item]++ != 0) {
        return Wrong("plan answers an item twice, or one not asked for");
      }
    }
  }
  if (std::ranges::find(answers, 0) != answers.end()) {
    return Wrong("plan leaves an item unanswered");
  }
  return Status();
}

Status CheckIngestOutput(const IngestOutput& output, std::string_view magic) {
  if (output.blob_type < 1 || output.blob_type > 3) {
    return Wrong("ingest gave blob type " + std::to_string(output.blob_type));
  }
  if (!AsText(output.stream_info).starts_with(magic)) {
    return Wrong("ingest gave a stream_info without the plugin's magic");
  }
  return Status();
}

}  // namespace rowfs
