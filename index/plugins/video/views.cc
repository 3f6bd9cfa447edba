#include "index/plugins/video/views.h"

#include <algorithm>

#include "index/plugins/audio/sound_config.h"
#include "index/plugins/common/config.h"
#include "index/plugins/video/container.h"
#include "index/plugins/video/planner.h"
#include "index/plugins/video/render.h"

namespace rowfs::plugin {
namespace {

constexpr std::string_view kFrames = ".frames";
constexpr std::string_view kKeyFrames = ".keyframes";
constexpr std::string_view kGops = ".gops";
constexpr std::string_view kAt = ".at";
constexpr std::string_view kClips = ".clips";
constexpr std::string_view kSegments = ".segments";
constexpr std::string_view kWav = ".wav";
constexpr std::string_view kInfo = ".info.json";
constexpr std::string_view kCover = ".cover";
constexpr std::string_view kOriginal = ".original.";
constexpr size_t kDigits = 6;

using Kind = ViewItem::Kind;

// As many digits as the last number has, at least kDigits.
size_t DigitsFor(uint64_t count) {
  return std::max(kDigits, std::to_string(count == 0 ? 0 : count - 1).size());
}

Entry Directory(std::string_view name, uint32_t flags = 0) {
  Entry e;
  e.name = name;
  e.directory = true;
  e.flags = flags;
  return e;
}

Entry File(std::string name, uint64_t size, std::string media_type,
           uint32_t flags = ROWFS_ENTRY_SIZE_EXACT) {
  Entry e;
  e.name = std::move(name);
  e.size = size;
  e.media_type = std::move(media_type);
  e.flags = flags;
  return e;
}

std::string MediaTypeOfExtension(std::string_view extension) {
  for (FileType type : {FileType::kMp4, FileType::kMatroska, FileType::kWebm}) {
    if (extension == ExtensionOf(type)) return MediaTypeOf(type);
  }
  if (extension == "mov") return "video/quicktime";
  if (extension == "avi") return "video/x-msvideo";
  if (extension == "ts") return "video/mp2t";
  return "application/octet-stream";
}

std::pair<std::string_view, std::string_view> SplitExtension(
    std::string_view name) {
  const size_t point = name.rfind('.');
  if (point == std::string_view::npos) return {name, {}};
  return {name.substr(0, point), name.substr(point + 1)};
}

Status NoSuch(std::string_view path) {
  return NotFound("no view \"" + std::string(path.substr(0, 100)) + "\"");
}

bool IsTimeView(std::string_view directory) {
  return directory == kFrames || directory == kKeyFrames;
}

}  // namespace

Result<ViewConfig> ParseViewConfig(std::string_view text) {
  ViewConfig config;
  PLUGIN_ASSIGN_OR_RETURN(const auto pairs, ParseConfig(text));
  for (const auto& [key, value] : pairs) {
    if (key == "frames") {
      const auto format = ImageFormatOf(value);
      if (!format) {
        return Invalid("frames=" + value +
                       " is not one of jpg, png, webp, bmp, ppm, npy");
      }
      config.frames = *format;
    } else if (key == "quality") {
      PLUGIN_ASSIGN_OR_RETURN(const int64_t q, ParseNumber(key, value, 1, 100));
      config.options.quality = static_cast<int>(q);
    } else if (key == "ppm") {
      if (value != "8" && value != "16") {
        return Invalid("ppm=" + value + " is not 8 or 16 (bits a sample)");
      }
      config.options.ppm_16bit = value == "16";
    } else if (key != "segment" && key != "sample" && key != "dpi") {
      return Invalid("unknown configuration key \"" + key +
                     "\"; video knows frames, quality, ppm, segment, sample");
    }
  }
  PLUGIN_ASSIGN_OR_RETURN(const SoundConfig sound,
                          ParseSoundConfig(text, false));
  config.segment_ns = sound.segment_ns;
  config.sample = sound.type;
  return config;
}

Views::Views(const MediaIndex& index, const ViewConfig& config)
    : index_(index), config_(config) {
  if (!index.sound) return;
  const SoundIndex& sound = index.sound->index;
  sound_.emplace(sound, config.segment_ns.value_or(sound.segment_ns),
                 index.SoundLate());
}

std::vector<Entry> Views::ListTop(const IndexHead& head) {
  std::vector<Entry> entries;
  const bool files = head.file_type != FileType::kNone;
  if (files && head.layout == Layout::kStored) {
    entries.push_back(File(std::string(".") + ExtensionOf(head.file_type),
                           head.whole_size, MediaTypeOf(head.file_type),
                           ROWFS_ENTRY_SIZE_EXACT | ROWFS_ENTRY_WHOLE));
  }
  entries.push_back(Directory(kFrames));
  entries.push_back(Directory(kKeyFrames));
  if (files) entries.push_back(Directory(kGops));
  entries.push_back(Directory(kAt, ROWFS_ENTRY_LOOKUP_ONLY));
  if (files) entries.push_back(Directory(kClips, ROWFS_ENTRY_LOOKUP_ONLY));
  if (head.has_sound) entries.push_back(Directory(kSegments));
  entries.push_back(
      File(std::string(kInfo), head.info_size, "application/json"));
  if (head.cover_size > 0) {
    entries.push_back(
        File(std::string(kCover) + (head.cover_is_png ? ".png" : ".jpg"),
             head.cover_size, head.cover_is_png ? "image/png" : "image/jpeg"));
  }
  if (head.original_size > 0) {
    entries.push_back(File(std::string(kOriginal) + head.source_extension,
                           head.original_size,
                           MediaTypeOfExtension(head.source_extension)));
  }
  return entries;
}

const std::vector<uint32_t>& Views::KeyFrames() const {
  if (key_frames_.empty()) {
    for (uint32_t k = 0; k < index_.shown.size(); ++k) {
      if (index_.packet(k).key()) key_frames_.push_back(k);
    }
  }
  return key_frames_;
}

std::string Views::FrameName(uint32_t frame, ImageFormat format) const {
  return Padded(frame, DigitsFor(index_.shown.size())) + "." +
         ImageExtension(format);
}

Entry Views::FrameEntry(uint32_t frame, ImageFormat format) const {
  const ImageShape shape = UprightShape(index_.video(), index_.ShapeOf(frame));
  const auto exact = ExactImageSize(format, shape, config_.options);
  Entry e = File(FrameName(frame, format),
                 exact.value_or(GuessImageSize(format, shape)),
                 ImageMediaType(format), exact ? ROWFS_ENTRY_SIZE_EXACT : 0);
  const uint32_t ordinal = index_.shown[frame];
  const uint32_t start = PlanStart(index_.gops, index_.video().packets,
                                   index_.GopOfPacket(ordinal), ordinal);
  std::string ranges;
  for (const BlobRange& r : PlanRanges(index_, start, ordinal)) {
    if (ranges.size() > 1000) break;  // scattered packets: the first do
    if (!ranges.empty()) ranges += ' ';
    ranges += std::to_string(r.begin) + "-" + std::to_string(r.end);
  }
  e.attributes = {{"pts", index_.FrameTime(frame).ToDecimal()},
                  {"key", index_.packet(frame).key() ? "1" : "0"},
                  {"range", ranges}};
  return e;
}

Status Views::List(std::string_view directory, uint64_t start, uint64_t limit,
                   const rowfs_entry_sink& out) const {
  if (directory.empty()) {
    const std::vector<Entry> top = ListTop(index_.head);
    for (uint64_t i = start; i < top.size() && i - start < limit; ++i) {
      PLUGIN_RETURN_IF_ERROR(Emit(top[i], out));
    }
    return {};
  }
  if (directory == kSegments && sound_) {
    return sound_->List(directory, start, limit, out);
  }
  PLUGIN_ASSIGN_OR_RETURN(const ViewItem item, Resolve(directory));
  if (item.kind != Kind::kDirectory) return NoSuch(directory);
  const bool frames = directory == kFrames;
  const bool gops = directory == kGops;
  const uint64_t count = frames                    ? index_.shown.size()
                         : gops                    ? index_.gops.size()
                         : directory == kKeyFrames ? KeyFrames().size()
                                                   : 0;
  for (uint64_t i = start; i < count && i - start < limit; ++i) {
    const uint32_t number = static_cast<uint32_t>(i);
    if (gops) {
      ViewItem gop;
      gop.kind = Kind::kGop;
      gop.number = number;
      PLUGIN_ASSIGN_OR_RETURN(
          const Entry e, EntryOf(gop, Padded(i, DigitsFor(count)) + "." +
                                          ExtensionOf(index_.head.file_type)));
      PLUGIN_RETURN_IF_ERROR(Emit(e, out));
      continue;
    }
    const uint32_t frame = frames ? number : KeyFrames()[number];
    const Entry e = FrameEntry(frame, config_.frames);
    PLUGIN_RETURN_IF_ERROR(Emit(e, out));
  }
  return {};
}

Result<ViewItem> Views::ResolveNumber(std::string_view directory,
                                      std::string_view stem,
                                      std::string_view extension) const {
  const bool gops = directory == kGops;
  const uint64_t count = gops ? index_.gops.size() : index_.shown.size();
  if (stem.size() != DigitsFor(count)) return NoSuch(stem);
  uint64_t number = 0;
  for (char c : stem) {
    if (c < '0' || c > '9') return NoSuch(stem);
    number = number * 10 + static_cast<uint64_t>(c - '0');
  }
  if (number >= count) {
    return NotFound("number " + std::string(stem) + " of " +
                    std::to_string(count));
  }
  ViewItem item;
  item.number = static_cast<uint32_t>(number);
  if (gops) {
    if (extension != ExtensionOf(index_.head.file_type)) return NoSuch(stem);
    item.kind = Kind::kGop;
    return item;
  }
  const auto format = ImageFormatOf(extension);
  if (!format) return NoSuch(extension);
  if (directory == kKeyFrames && !index_.packet(item.number).key()) {
    return NotFound("frame " + std::string(stem) + " is no key frame");
  }
  item.kind = Kind::kFrame;
  item.format = *format;
  return item;
}

Result<ViewItem> Views::ResolveClip(std::string_view name) const {
  const auto [window, extension] = SplitExtension(name);
  const size_t dash = window.find('-');
  if (dash == std::string_view::npos ||
      extension != ExtensionOf(ClipType(index_))) {
    return NoSuch(name);
  }
  const auto from = ExactTime::Parse(window.substr(0, dash));
  const auto to = ExactTime::Parse(window.substr(dash + 1));
  if (!from || !to || *to <= *from) return NoSuch(name);
  const auto [first, last] = index_.FramesIn(*from, *to);
  if (first == last) return NotFound("no frame is shown in that window");
  ViewItem item;
  item.kind = Kind::kClip;
  item.from = *from;
  item.to = *to;
  return item;
}

Result<ViewItem> Views::ResolveIn(std::string_view directory,
                                  std::string_view name) const {
  const bool files = index_.head.file_type != FileType::kNone;
  if (directory == kClips && files) return ResolveClip(name);
  const auto [stem, extension] = SplitExtension(name);
  if (IsTimeView(directory) || (directory == kGops && files)) {
    return ResolveNumber(directory, stem, extension);
  }
  if (directory != kAt) return NoSuch(directory);
  const auto format = ImageFormatOf(extension);
  const auto time = ExactTime::Parse(stem);
  if (!format || !time) return NoSuch(name);
  const int64_t frame = index_.FrameAt(*time);
  if (frame < 0) return NotFound("no frame is shown at that time");
  ViewItem item;
  item.kind = Kind::kFrame;
  item.number = static_cast<uint32_t>(frame);
  item.format = *format;
  return item;
}

bool Views::IsSound(std::string_view path) const {
  const std::string_view directory = path.substr(0, path.find('/'));
  return sound_ && path.ends_with(kWav) &&
         (directory == kSegments || directory == kAt);
}

Result<ViewItem> Views::Resolve(std::string_view path) const {
  if (IsSound(path)) {
    PLUGIN_ASSIGN_OR_RETURN(const SoundItem sound, sound_->Resolve(path));
    ViewItem item;
    item.kind = Kind::kSound;
    item.window = sound.window;
    return item;
  }
  const size_t slash = path.find('/');
  if (slash != std::string_view::npos) {
    return ResolveIn(path.substr(0, slash), path.substr(slash + 1));
  }
  for (const Entry& e : ListTop(index_.head)) {
    if (e.name != path) continue;
    ViewItem item;
    item.kind = e.directory                          ? Kind::kDirectory
                : (e.flags & ROWFS_ENTRY_WHOLE) != 0 ? Kind::kWhole
                : path == kInfo                      ? Kind::kInfo
                : path.starts_with(kOriginal)        ? Kind::kOriginal
                                                     : Kind::kCover;
    return item;
  }
  return NoSuch(path);
}

Result<Entry> Views::EntryOf(const ViewItem& item, std::string name) const {
  const std::string type = MediaTypeOf(index_.head.file_type);
  if (item.kind == Kind::kGop) {
    PLUGIN_ASSIGN_OR_RETURN(const uint64_t size, GopSize(index_, item.number));
    return File(std::move(name), size, type);
  }
  PLUGIN_ASSIGN_OR_RETURN(const uint64_t size,
                          ClipSize(index_, item.from, item.to));
  return File(std::move(name), size, type);
}

Result<Entry> Views::Lookup(std::string_view path) const {
  if (IsSound(path)) return sound_->Lookup(path);
  PLUGIN_ASSIGN_OR_RETURN(const ViewItem item, Resolve(path));
  const size_t slash = path.find('/');
  if (slash == std::string_view::npos) {
    for (Entry& e : ListTop(index_.head)) {
      if (e.name == path) return std::move(e);
    }
  }
  std::string name(path.substr(slash + 1));
  if (item.kind != Kind::kFrame) return EntryOf(item, std::move(name));
  Entry e = FrameEntry(item.number, item.format);
  // What is listed is a file of its own.
  const std::string_view directory = path.substr(0, slash);
  if (directory != kFrames &&
      (directory != kKeyFrames || item.format != config_.frames)) {
    e.canonical_path = std::string(kFrames) + "/" + e.name;
  }
  e.name = std::move(name);
  return e;
}

Status Views::Select(std::string_view view, std::string_view from,
                     std::string_view to, const rowfs_entry_sink& out) const {
  if (view == kSegments && sound_) return sound_->Select(view, from, to, out);
  if (!IsTimeView(view)) {
    return NotFound("only .frames, .keyframes and .segments have windows");
  }
  const auto begin = ExactTime::Parse(from);
  const auto end = ExactTime::Parse(to);
  if (!begin || !end || *end <= *begin) {
    return Invalid("the window " + std::string(from) + " to " +
                   std::string(to) +
                   " is none; times are seconds or "
                   "hh:mm:ss.mmm");
  }
  const auto [first, last] = index_.FramesIn(*begin, *end);
  if (first == last) return NotFound("no frame is shown in that window");
  for (uint32_t frame = first; frame < last; ++frame) {
    if (view == kKeyFrames && !index_.packet(frame).key()) continue;
    const Entry e = FrameEntry(frame, config_.frames);
    PLUGIN_RETURN_IF_ERROR(Emit(e, out));
  }
  return {};
}

}  // namespace rowfs::plugin
