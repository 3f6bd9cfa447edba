#include "tests/support/fake_plugin.h"

#include <algorithm>
#include <charconv>
#include <optional>

namespace rowfs {
namespace {

constexpr std::string_view kPlayable = "PLAYABLE";
constexpr std::string_view kInfoText = "{\"frames\": true}\n";
constexpr uint64_t kBrokenFrame = 3;

uint64_t FramesOf(const PluginIndex& index) {
  return LoadU32(ByteSpan(*index.stream_info).subspan(4));
}

std::string FrameName(uint64_t frame) {
  std::string name = std::to_string(frame);
  return std::string(6 - std::min<size_t>(6, name.size()), '0') + name + ".jpg";
}

std::optional<uint64_t> FrameOf(std::string_view path, std::string_view view,
                                uint64_t frames) {
  if (!path.starts_with(view) || !path.ends_with(".jpg")) return {};
  path.remove_prefix(view.size());
  path.remove_suffix(4);
  uint64_t frame = 0;
  const auto [end, error] =
      std::from_chars(path.data(), path.data() + path.size(), frame);
  if (error != std::errc() || end != path.data() + path.size()) return {};
  if (frame >= frames) return {};
  return frame;
}

ViewEntry Folder(std::string name, bool lookup_only) {
  ViewEntry entry;
  entry.name = std::move(name);
  entry.is_directory = true;
  entry.lookup_only = lookup_only;
  return entry;
}

ViewEntry Exact(std::string name, uint64_t size, std::string media_type) {
  ViewEntry entry;
  entry.name = std::move(name);
  entry.size_exact = true;
  entry.size = size;
  entry.media_type = std::move(media_type);
  return entry;
}

ViewEntry Frame(uint64_t frame) {
  ViewEntry entry;
  entry.name = FrameName(frame);
  entry.size = frame % 2 == 0 ? 5000 : 10;
  entry.media_type = "image/jpeg";
  entry.attributes = {{"pts", std::to_string(frame)},
                      {"key", frame % 4 == 0 ? "1" : "0"}};
  return entry;
}

}  // namespace

BlobInfo FakePlugin::MakeInfo(uint32_t frames) {
  Bytes stream_info = ToBytes("FAKE");
  AppendU32(&stream_info, frames);
  BlobInfo info;
  info.blob_type = 1;
  info.stream_info = std::make_shared<const Bytes>(std::move(stream_info));
  info.entries = std::make_shared<const Bytes>(ToBytes("entries"));
  return info;
}

std::string FakePlugin::FrameText(uint64_t frame) {
  return "frame " + std::to_string(frame) + " " +
         std::string(100 + frame * 7 % 300, 'x') + "\n";
}

Result<int> FakePlugin::Probe(ByteSpan, std::string_view) { return 0; }

Result<IngestOutput> FakePlugin::Ingest(
    const IngestInput&, const IngestOptions&,
    const std::function<Status(ByteSpan)>&) {
  return Status(Code::kUnsupported, "the fake does not ingest");
}

Result<std::vector<ViewEntry>> FakePlugin::List(const PluginIndex& index,
                                                std::string_view directory,
                                                uint64_t start,
                                                uint64_t limit) {
  ++lists_;
  const uint64_t frames = FramesOf(index);
  std::vector<ViewEntry> all;
  if (directory.empty()) {
    all = {Folder(".frames", false), Folder(".at", true),
           Folder(".broken", false),
           Exact(".mp4", kPlayable.size() + index.blob_size, "video/mp4"),
           Exact(".info.json", kInfoText.size(), "application/json")};
    all[3].is_whole = true;
    return all;
  }
  if (!index.entries) return Status(Code::kOutOfRange, "needs the entries");
  if (directory == ".broken") {
    return Status(Code::kCorruption, "this view is broken");
  }
  if (directory == ".at") return all;
  if (directory != ".frames") return Status(Code::kNotFound, "no such view");
  for (uint64_t i = start; i < frames && all.size() < limit; ++i) {
    all.push_back(Frame(i));
  }
  return all;
}

Result<ViewEntry> FakePlugin::Lookup(const PluginIndex& index,
                                     std::string_view path) {
  ROWFS_ASSIGN_OR_RETURN(const std::vector<ViewEntry> top,
                         List(index, "", 0, 100));
  for (const ViewEntry& entry : top) {
    if (entry.name == path) return entry;
  }
  const uint64_t frames = FramesOf(index);
  if (const auto frame = FrameOf(path, ".frames/", frames)) {
    return Frame(*frame);
  }
  if (const auto frame = FrameOf(path, ".at/", frames)) {
    ViewEntry entry = Frame(*frame);
    entry.name = path.substr(4);
    entry.canonical_path = ".frames/" + FrameName(*frame);
    return entry;
  }
  return Status(Code::kNotFound, std::string(path) + ": no such view");
}

Result<std::vector<ViewEntry>> FakePlugin::Select(const PluginIndex&,
                                                  std::string_view,
                                                  std::string_view,
                                                  std::string_view) {
  return Status(Code::kUnsupported, "the fake has no time");
}

Result<ViewPlan> FakePlugin::Plan(const PluginIndex& index,
                                  std::span<const std::string> paths) {
  ViewPlan plan;
  plan.segments.resize(paths.size());
  for (size_t i = 0; i < paths.size(); ++i) {
    const auto literal = [&](std::string_view text) {
      ViewSegment segment;
      segment.literal = std::make_shared<const Bytes>(ToBytes(text));
      plan.segments[i].push_back(std::move(segment));
    };
    if (paths[i] == ".mp4") {
      literal(kPlayable);
      plan.segments[i].push_back({nullptr, {0, index.blob_size}});
    } else if (paths[i] == ".info.json") {
      literal(kInfoText);
    } else if (const auto frame =
                   FrameOf(paths[i], ".frames/", FramesOf(index))) {
      DecodeGroup group;
      group.items = {i};
      group.ranges = {{0, std::min<uint64_t>(index.blob_size, 4)}};
      AppendU64(&group.recipe, *frame);
      plan.groups.push_back(std::move(group));
    } else {
      return Status(Code::kNotFound, paths[i] + ": cannot be planned");
    }
  }
  return plan;
}

Result<std::vector<Result<Bytes>>> FakePlugin::Decode(
    const PluginIndex&, const DecodeGroup& group, std::span<const ByteSpan>) {
  ++decodes_;
  const uint64_t frame = LoadU64(group.recipe);
  std::vector<Result<Bytes>> outputs;
  if (frame == kBrokenFrame) {
    outputs.emplace_back(Status(Code::kCorruption, "frame 3 is damaged"));
  } else {
    outputs.emplace_back(ToBytes(FrameText(frame)));
  }
  return outputs;
}

std::vector<ViewEntry> FakeRegistry::ForeseeViews(std::string_view extension) {
  if (extension != "mp4") return {};
  return {Folder(".frames", false), Folder(".at", true),
          Exact(".info.json", 0, "application/json"),
          // Not every such file has it, and no file of the fake.
          Folder(".sound", false)};
}

Result<std::vector<Result<Bytes>>> FakePlugin::DecodeFrom(
    const PluginIndex& index, const DecodeGroup& group, const IngestInput&) {
  return Decode(index, group, {});
}

}  // namespace rowfs
