// .info.json: what a program wants to know before it opens a frame.
#include <algorithm>
#include <cmath>
#include <numbers>
#include <optional>
#include <string_view>

#include "index/plugins/common/json_object.h"
#include "index/plugins/video/container.h"

namespace rowfs::plugin {
namespace {

std::string Ratio(TimeBase ratio, char between) {
  return std::to_string(ratio.num) + between + std::to_string(ratio.den);
}

// Degrees clockwise that turn stored pictures upright, as they are shown here.
int64_t Rotation(const Stream& stream) {
  const double angle = std::atan2(static_cast<double>(stream.matrix[1]),
                                  static_cast<double>(stream.matrix[0]));
  const int64_t degrees = std::lround(angle * 180 / std::numbers::pi);
  return (degrees % 360 + 360) % 360;
}

bool Mirrored(const Stream& stream) {
  const auto at = [&](size_t i) {
    return static_cast<double>(stream.matrix[i]);
  };
  return at(0) * at(4) - at(1) * at(3) < 0;
}

std::string_view KindName(StreamKind kind) {
  switch (kind) {
    case StreamKind::kVideo:
      return "video";
    case StreamKind::kAudio:
      return "audio";
    case StreamKind::kSubtitle:
      return "subtitle";
    case StreamKind::kData:
      return "data";
    case StreamKind::kPicture:
      return "picture";
  }
  return "data";
}

// H.273 names of the values that occur; a number for the rest.
std::string ColourName(std::string_view what, uint8_t value) {
  struct Name {
    std::string_view what;
    uint8_t value;
    std::string_view name;
  };
  constexpr Name kNames[] = {{"primaries", 1, "bt709"},
                             {"primaries", 4, "bt470m"},
                             {"primaries", 5, "bt470bg"},
                             {"primaries", 6, "smpte170m"},
                             {"primaries", 7, "smpte240m"},
                             {"primaries", 9, "bt2020"},
                             {"primaries", 11, "smpte431"},
                             {"primaries", 12, "smpte432"},
                             {"transfer", 1, "bt709"},
                             {"transfer", 4, "gamma22"},
                             {"transfer", 5, "gamma28"},
                             {"transfer", 6, "smpte170m"},
                             {"transfer", 8, "linear"},
                             {"transfer", 13, "iec61966-2-1"},
                             {"transfer", 14, "bt2020-10"},
                             {"transfer", 15, "bt2020-12"},
                             {"transfer", 16, "smpte2084"},
                             {"transfer", 18, "arib-std-b67"},
                             {"matrix", 0, "gbr"},
                             {"matrix", 1, "bt709"},
                             {"matrix", 4, "fcc"},
                             {"matrix", 5, "bt470bg"},
                             {"matrix", 6, "smpte170m"},
                             {"matrix", 7, "smpte240m"},
                             {"matrix", 8, "ycgco"},
                             {"matrix", 9, "bt2020nc"},
                             {"matrix", 10, "bt2020c"},
                             {"range", 1, "tv"},
                             {"range", 2, "pc"}};
  for (const Name& name : kNames) {
    if (name.what == what && name.value == value) {
      return std::string(name.name);
    }
  }
  const uint8_t unspecified = what == "range" ? 0 : 2;
  return value == unspecified ? "unknown" : std::to_string(value);
}

void PutPicture(const Stream& stream, ObjectWriter* out) {
  out->Number("coded_width", stream.width);
  out->Number("coded_height", stream.height);
  out->Number("rotation", Rotation(stream));
  out->Bool("mirrored", Mirrored(stream));
  out->Text("sar", Ratio(stream.sample_aspect, ':'));
  if (stream.frame_rate.num > 0) {
    out->Text("frame_rate", Ratio(stream.frame_rate, '/'));
  }
  out->Text("pix_fmt", stream.pixel_format);
  out->Number("bit_depth", stream.bit_depth);
  out->Bool("alpha", stream.has_alpha);
  const Colour& colour = stream.colour;
  ObjectWriter object(&out->Key("colour"));
  object.Text("primaries", ColourName("primaries", colour.primaries));
  object.Text("transfer", ColourName("transfer", colour.transfer));
  object.Text("matrix", ColourName("matrix", colour.matrix));
  object.Text("range", ColourName("range", colour.range));
}

void PutStream(const MediaIndex& index, size_t number, std::string* out) {
  const Stream& stream = index.streams[number];
  ObjectWriter object(out);
  object.Number("index", static_cast<int64_t>(number));
  object.Text("kind", KindName(stream.kind));
  object.Text("codec", stream.codec);
  if (stream.profile >= 0) object.Number("profile", stream.profile);
  if (stream.level >= 0) object.Number("level", stream.level);
  object.Text("time_base", Ratio(stream.time_base, '/'));
  if (!stream.packets.empty()) {
    object.Time("start", index.TimeOf(stream, stream.first_tick));
    object.Time("end", index.TimeOf(stream, stream.end_tick));
  }
  object.Number("packets", static_cast<int64_t>(stream.packets.size()));
  if (stream.bit_rate > 0) object.Number("bit_rate", stream.bit_rate);
  if (!stream.language.empty()) object.Text("language", stream.language);
  if (!stream.title.empty()) object.Text("title", stream.title);
  object.Bool("default", stream.is_default);
  object.Bool("playable", Carries(index.head.file_type, stream));
  if (stream.kind == StreamKind::kVideo ||
      stream.kind == StreamKind::kPicture) {
    PutPicture(stream, &object);
  } else if (stream.kind == StreamKind::kAudio) {
    object.Number("sample_rate", stream.sample_rate);
    object.Number("channels", stream.channels);
  }
}

void PutFrameTimes(const MediaIndex& index, std::string* out) {
  *out += '[';
  for (uint32_t frame = 0; frame < index.shown.size(); ++frame) {
    if (frame > 0) *out += ", ";
    *out += index.FrameTime(frame).ToDecimal();
  }
  *out += ']';
}

void PutKeyFrames(const MediaIndex& index, std::string* out) {
  *out += '[';
  bool first = true;
  for (uint32_t frame = 0; frame < index.shown.size(); ++frame) {
    if (!index.packet(frame).key()) continue;
    if (!first) *out += ", ";
    first = false;
    *out += std::to_string(frame);
  }
  *out += ']';
}

}  // namespace

std::string InfoJson(const MediaIndex& index) {
  const Stream& video = index.video();
  std::string out;
  {
    ObjectWriter object(&out);
    object.Text("codec", video.codec);
    object.Number("width", index.head.width);
    object.Number("height", index.head.height);
    object.Number("frame_count", static_cast<int64_t>(index.shown.size()));
    object.Time("duration", index.EndTime());
    // Where the source's own clock starts.
    object.Time("start_time", ExactTime::FromTicks(index.head.start_tick,
                                                   index.head.start_base));
    object.Number("gop_count", static_cast<int64_t>(index.gops.size()));
    PutPicture(video, &object);
    object.Text("source_format", index.source_format);
    object.Number("source_size", static_cast<int64_t>(index.source_size));
    std::string& streams = object.Key("streams");
    streams += '[';
    for (size_t i = 0; i < index.streams.size(); ++i) {
      if (i > 0) streams += ", ";
      PutStream(index, i, &streams);
    }
    streams += ']';
    {
      ObjectWriter tags(&object.Key("tags"));
      for (size_t i = 0; i < index.tags.size(); ++i) {
        const auto& key = index.tags[i].first;
        const auto end = index.tags.begin() + static_cast<ptrdiff_t>(i);
        // A name may come once: of equal ones the first counts.
        if (std::any_of(index.tags.begin(), end,
                        [&](const auto& tag) { return tag.first == key; })) {
          continue;
        }
        tags.Text(key, index.tags[i].second);
      }
    }
    PutKeyFrames(index, &object.Key("key_frames"));
    PutFrameTimes(index, &object.Key("frame_times"));
  }
  out += '\n';
  return out;
}

}  // namespace rowfs::plugin
