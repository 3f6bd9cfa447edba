#include "index/plugins/audio/views.h"

#include <algorithm>
#include <charconv>

#include "index/plugins/audio/sound_file.h"
#include "index/plugins/audio/wav.h"

namespace rowfs::plugin {
namespace {

constexpr std::string_view kSegments = ".segments";
constexpr std::string_view kAt = ".at";
constexpr std::string_view kInfo = ".info.json";
constexpr std::string_view kCover = ".cover";
constexpr std::string_view kOriginal = ".original.";
constexpr std::string_view kWaveform = ".waveform";
constexpr std::string_view kPictureStem = "000000";
constexpr std::string_view kWav = ".wav";
constexpr size_t kDigits = 6;
constexpr size_t kRangesShown = 16;

using Kind = SoundItem::Kind;

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

// One picture of the whole sound, listed as PNG.
Entry WaveformEntry(WaveformFormat format) {
  const bool png = format == WaveformFormat::kPng;
  return File(std::string(kPictureStem) + (png ? ".png" : ".ppm"),
              WaveformSize(format),
              png ? "image/png" : "image/x-portable-pixmap");
}

Status NoSuch(std::string_view path) {
  return NotFound("no view \"" + std::string(path.substr(0, 100)) + "\"");
}

std::string CoverName(const SoundHead& head) {
  return std::string(kCover) + (head.cover_is_png ? ".png" : ".jpg");
}

bool ParseNumber64(std::string_view text, uint64_t* out) {
  const char* end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, *out);
  return !text.empty() && error == std::errc() && at == end;
}

}  // namespace

uint64_t NearestSample(const ExactTime& time, uint32_t sample_rate) {
  const TimeBase halves{1, static_cast<int32_t>(2 * sample_rate)};
  const int64_t floor = time.FloorTicks(halves);
  const auto whole = static_cast<uint64_t>(floor) / 2;
  if (floor % 2 == 0) return whole;
  const bool tie = time.CeilTicks(halves) == floor;
  return tie && whole % 2 == 0 ? whole : whole + 1;
}

SoundViews::SoundViews(const SoundIndex& index, uint64_t segment_ns,
                       uint64_t late)
    : index_(index), segment_ns_(segment_ns), late_(late) {
  const Int128 unit = Int128{segment_ns} * index.head.sample_rate;
  const Int128 total = Int128{index.head.samples} * kSecondNs;
  segments_ = static_cast<uint64_t>(total / unit);
  while (BoundaryOf(segments_) < index.head.samples) ++segments_;
}

std::optional<uint64_t> SoundViews::SampleAt(const ExactTime& time) const {
  const uint64_t sample = NearestSample(time, index_.head.sample_rate);
  if (sample < late_) return std::nullopt;
  return sample - late_;
}

// Where segment `number` begins: round(number * length * rate), ties to even.
uint64_t SoundViews::BoundaryOf(uint64_t number) const {
  const Int128 parts = Int128{number} * segment_ns_ * index_.head.sample_rate;
  const auto whole = static_cast<uint64_t>(parts / kSecondNs);
  const auto rest = static_cast<uint64_t>(parts % kSecondNs);
  const uint64_t half = kSecondNs / 2;
  const bool up = rest > half || (rest == half && whole % 2 == 1);
  return whole + (up ? 1 : 0);
}

Window SoundViews::Segment(uint64_t number) const {
  return {BoundaryOf(number),
          std::min(BoundaryOf(number + 1), index_.head.samples)};
}

std::string SoundViews::SegmentName(uint64_t number) const {
  const size_t digits =
      std::to_string(std::max<uint64_t>(segments_, 1) - 1).size();
  return Padded(number, std::max(kDigits, digits)) + std::string(kWav);
}

std::vector<Entry> SoundViews::ListTop(const SoundHead& head) {
  std::vector<Entry> entries;
  if (head.stored) {
    entries.push_back(File("." + head.extension, head.whole_size,
                           MediaTypeOfSound(head.extension),
                           ROWFS_ENTRY_SIZE_EXACT | ROWFS_ENTRY_WHOLE));
  }
  entries.push_back(Directory(kSegments));
  entries.push_back(Directory(kAt, ROWFS_ENTRY_LOOKUP_ONLY));
  entries.push_back(
      File(std::string(kInfo), head.info_size, "application/json"));
  entries.push_back(Directory(kWaveform));
  if (head.cover_size > 0) {
    entries.push_back(File(CoverName(head), head.cover_size,
                           head.cover_is_png ? "image/png" : "image/jpeg"));
  }
  if (head.original_size > 0) {
    entries.push_back(File(std::string(kOriginal) + head.extension,
                           head.original_size,
                           MediaTypeOfSound(head.extension)));
  }
  return entries;
}

Entry SoundViews::WindowEntry(std::string name, const Window& window) const {
  const uint64_t bytes = window.size() * index_.FrameBytes();
  Entry e =
      File(std::move(name),
           WavSize(WavFormatOf(index_.head.type, index_), bytes), "audio/wav");
  std::vector<ByteRange> ranges;
  if (index_.head.linear) {
    const uint64_t begin =
        index_.linear_offset + window.begin * index_.block_align;
    ranges.push_back({begin, begin + window.size() * index_.block_align});
  } else {
    ranges = RangesOf(index_, RunsOf(index_, window));
  }
  std::string text;
  for (size_t i = 0; i < std::min(ranges.size(), kRangesShown); ++i) {
    if (i > 0) text += ' ';
    text +=
        std::to_string(ranges[i].begin) + "-" + std::to_string(ranges[i].end);
  }
  const TimeBase base{1, static_cast<int32_t>(index_.head.sample_rate)};
  const auto pts =
      ExactTime::FromTicks(static_cast<int64_t>(window.begin + late_), base);
  e.attributes = {{"pts", pts.ToDecimal()},
                  {"samples", std::to_string(window.begin) + "-" +
                                  std::to_string(window.end)},
                  {"range", text}};
  e.canonical_path = CanonicalPath(window);
  return e;
}

// Equal windows are one file: a segment when it is one, else by samples.
std::string SoundViews::CanonicalPath(const Window& window) const {
  const Int128 unit = Int128{segment_ns_} * index_.head.sample_rate;
  auto near = static_cast<uint64_t>(Int128{window.begin} * kSecondNs / unit);
  for (const uint64_t number : {near, near + 1}) {
    if (number >= segments_) break;
    const Window segment = Segment(number);
    if (segment.begin == window.begin && segment.end == window.end) {
      return std::string(kSegments) + "/" + SegmentName(number);
    }
  }
  return std::string(kAt) + "/" + std::to_string(window.begin) + "-" +
         std::to_string(window.end) + "s" + std::string(kWav);
}

Status SoundViews::List(std::string_view directory, uint64_t start,
                        uint64_t limit, const rowfs_entry_sink& out) const {
  if (directory.empty()) {
    const auto top = ListTop(index_.head);
    for (uint64_t i = start; i < top.size() && i - start < limit; ++i) {
      PLUGIN_RETURN_IF_ERROR(Emit(top[i], out));
    }
    return {};
  }
  if (directory == kAt) return {};
  if (directory == kWaveform) {
    if (start > 0 || limit == 0) return {};
    return Emit(WaveformEntry(WaveformFormat::kPng), out);
  }
  if (directory != kSegments) return NoSuch(directory);
  for (uint64_t i = start; i < segments_ && i - start < limit; ++i) {
    PLUGIN_RETURN_IF_ERROR(Emit(WindowEntry(SegmentName(i), Segment(i)), out));
  }
  return {};
}

// "12.5-14.25" in seconds, "441-882s" in samples.
Result<Window> SoundViews::ParseWindow(std::string_view stem) const {
  const size_t dash = stem.find('-');
  if (dash == std::string_view::npos) return NoSuch(stem);
  std::string_view from = stem.substr(0, dash);
  std::string_view to = stem.substr(dash + 1);
  Window window;
  if (to.ends_with('s')) {
    to.remove_suffix(1);
    if (from.ends_with('s')) from.remove_suffix(1);
    if (!ParseNumber64(from, &window.begin) ||
        !ParseNumber64(to, &window.end)) {
      return NoSuch(stem);
    }
  } else {
    const auto begin = ExactTime::Parse(from);
    const auto end = ExactTime::Parse(to);
    if (!begin || !end) return NoSuch(stem);
    const auto first = SampleAt(*begin);
    const auto last = SampleAt(*end);
    if (!first || !last) return NotFound("the sound begins later");
    window = {*first, *last};
  }
  if (window.begin >= window.end || window.end > index_.head.samples) {
    return NotFound("the sound has samples 0 to " +
                    std::to_string(index_.head.samples));
  }
  return window;
}

Result<SoundItem> SoundViews::Resolve(std::string_view path) const {
  const SoundHead& head = index_.head;
  if (path.empty() || path == kSegments || path == kAt || path == kWaveform) {
    return SoundItem{};
  }
  if (path == kInfo) return SoundItem{Kind::kInfo, {}, {}};
  if (head.stored && path == "." + head.extension) {
    return SoundItem{Kind::kWhole, {}, {}};
  }
  if (head.cover_size > 0 && path == CoverName(head)) {
    return SoundItem{Kind::kCover, {}, {}};
  }
  if (head.original_size > 0 &&
      path == std::string(kOriginal) + head.extension) {
    return SoundItem{Kind::kOriginal, {}, {}};
  }
  const size_t slash = path.find('/');
  if (slash == std::string_view::npos) return NoSuch(path);
  const std::string_view directory = path.substr(0, slash);
  if (directory == kWaveform) {
    for (const auto format : {WaveformFormat::kPng, WaveformFormat::kPpm}) {
      if (path.substr(slash + 1) == WaveformEntry(format).name) {
        return SoundItem{Kind::kWaveform, {}, format};
      }
    }
  }
  if (!path.ends_with(kWav)) return NoSuch(path);
  std::string_view stem = path.substr(slash + 1);
  stem.remove_suffix(kWav.size());
  if (directory == kAt) {
    PLUGIN_ASSIGN_OR_RETURN(const Window window, ParseWindow(stem));
    return SoundItem{Kind::kWindow, window, {}};
  }
  uint64_t number = 0;
  if (directory != kSegments || !ParseNumber64(stem, &number) ||
      number >= segments_) {
    return NoSuch(path);
  }
  return SoundItem{Kind::kWindow, Segment(number), {}};
}

Result<Entry> SoundViews::Lookup(std::string_view path) const {
  PLUGIN_ASSIGN_OR_RETURN(const SoundItem item, Resolve(path));
  const std::string name(path.substr(path.rfind('/') + 1));
  if (item.kind == Kind::kWindow) return WindowEntry(name, item.window);
  if (item.kind == Kind::kWaveform) return WaveformEntry(item.format);
  for (Entry& entry : ListTop(index_.head)) {
    if (entry.name == path) return std::move(entry);
  }
  return NoSuch(path);
}

Status SoundViews::Select(std::string_view view, std::string_view from,
                          std::string_view to,
                          const rowfs_entry_sink& out) const {
  if (view != kSegments) return NoSuch(view);
  const auto begin = ExactTime::Parse(from);
  const auto end = ExactTime::Parse(to);
  if (!begin || !end) return Invalid("not a time: " + std::string(from));
  const uint64_t first = SampleAt(*begin).value_or(0);
  const uint64_t last = SampleAt(*end).value_or(0);
  if (first >= index_.head.samples || first >= last) {
    return NotFound("the window lies outside the sound");
  }
  for (uint64_t i = 0; i < segments_; ++i) {
    const Window segment = Segment(i);
    if (segment.begin >= last) break;
    if (segment.end <= first) continue;
    PLUGIN_RETURN_IF_ERROR(Emit(WindowEntry(SegmentName(i), segment), out));
  }
  return {};
}

}  // namespace rowfs::plugin
