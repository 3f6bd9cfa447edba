#include "index/plugins/video/container_cut.h"

#include <algorithm>
#include <utility>

namespace rowfs::plugin {
namespace {

// A start later than this is no pause that a player should show but a clock
// that counts from elsewhere (MPEG-TS of a broadcast).
constexpr int64_t kLatestStartSeconds = 60;

ExactTime At(const Stream& stream, int64_t tick) {
  return ExactTime::FromTicks(tick, stream.time_base);
}

ExactTime Start(const MediaIndex& index) {
  return ExactTime::FromTicks(index.head.start_tick, index.head.start_base);
}

ExactTime Seconds(int64_t seconds) {
  return ExactTime::FromTicks(seconds, TimeBase{1, 1});
}

// Packets that must be decoded before one sounds as it should.
uint32_t PrerollPackets(const Stream& stream) {
  const std::string& codec = stream.codec;
  if (codec.starts_with("pcm_") || codec == "flac" || codec == "alac") return 0;
  if (codec == "opus") return 4;  // 80 ms of 20 ms each (RFC 7845)
  if (codec == "mp3" || codec == "mp2") return 4;  // the bit reservoir
  return 2;
}

// Presentation rank of the first shown frame at or after tick `pts`.
uint32_t RankOf(const MediaIndex& index, int64_t pts) {
  const auto& packets = index.video().packets;
  const auto at = std::partition_point(
      index.shown.begin(), index.shown.end(),
      [&](uint32_t ordinal) { return packets[ordinal].pts < pts; });
  return static_cast<uint32_t>(at - index.shown.begin());
}

// The tick at which the frame of `pts` makes way for the next.
int64_t FrameEnd(const MediaIndex& index, int64_t pts) {
  const uint32_t next = RankOf(index, pts + 1);
  return next < index.shown.size() ? index.packet(next).pts
                                   : index.video().end_tick;
}

// The packets of `stream` that are heard or seen in [from, to), and those
// before that they need.
std::vector<uint32_t> PacketsIn(const Stream& stream, const ExactTime& from,
                                const ExactTime& to) {
  const auto& packets = stream.packets;
  const auto first = std::partition_point(
      packets.begin(), packets.end(), [&](const Packet& packet) {
        return At(stream, packet.pts + packet.duration) <= from;
      });
  const auto last = std::partition_point(
      first, packets.end(),
      [&](const Packet& packet) { return At(stream, packet.pts) < to; });
  std::vector<uint32_t> ordinals;
  if (first == last) return ordinals;
  const auto begin = static_cast<uint32_t>(first - packets.begin());
  const auto end = static_cast<uint32_t>(last - packets.begin());
  const uint32_t back = std::min(begin, PrerollPackets(stream));
  for (uint32_t i = begin - back; i < end; ++i) ordinals.push_back(i);
  return ordinals;
}

bool Shows(const TrackCut& track) { return track.from < track.to; }

// Add the other streams for the window of the cut.
void AddOthers(const MediaIndex& index, FileType type, const ExactTime& from,
               const ExactTime& to, FileCut* cut) {
  for (size_t i = 0; i < index.streams.size(); ++i) {
    const Stream& stream = index.streams[i];
    if (i == index.main || stream.kind == StreamKind::kVideo ||
        !Carries(type, stream)) {
      continue;
    }
    TrackCut track;
    track.stream = &stream;
    track.from = std::max(from, At(stream, stream.first_tick));
    track.to = std::min(to, At(stream, stream.end_tick));
    if (!Shows(track)) continue;
    track.packets = PacketsIn(stream, track.from, track.to);
    if (!track.packets.empty()) cut->tracks.push_back(std::move(track));
  }
}

// The GOP that decoding must start at for the frame of packet `ordinal`.
uint32_t FirstGopFor(const MediaIndex& index, uint32_t ordinal) {
  const auto& packets = index.video().packets;
  uint32_t gop = index.GopOfPacket(ordinal);
  const Gop& own = index.gops[gop];
  const bool leading = packets[ordinal].pts < packets[own.first_packet].pts;
  if (leading) {
    gop -= std::min<uint32_t>(gop, own.decode_back_lead);
  } else if (ordinal - own.first_packet < own.recovery_count) {
    gop -= std::min<uint32_t>(gop, own.decode_back_body);
  }
  return gop;
}

void AppendGop(const Gop& gop, std::vector<uint32_t>* packets) {
  for (uint32_t i = 0; i < gop.packet_count; ++i) {
    packets->push_back(gop.first_packet + i);
  }
}

// `time` after the start of the media on the source's time line; in whole
// nanoseconds, so that a text of many digits has a common denominator with it.
ExactTime SourceTime(const MediaIndex& index, const ExactTime& time) {
  constexpr TimeBase kNano{1, 1'000'000'000};
  const ExactTime negative =
      ExactTime::FromTicks(-time.CeilTicks(kNano), kNano);
  return Start(index).Minus(negative).value_or(Start(index));
}

TrackCut MainTrack(const MediaIndex& index) {
  TrackCut track;
  track.stream = &index.video();
  track.is_main = true;
  return track;
}

}  // namespace

FileCut CutWhole(const MediaIndex& index, FileType type) {
  FileCut cut;
  cut.whole_blob = index.head.layout == Layout::kStored;
  const ExactTime start = Start(index);
  if (start < Seconds(0) || start > Seconds(kLatestStartSeconds)) {
    cut.origin = start;
  }
  const auto add = [&](const Stream& stream, bool is_main) {
    TrackCut track;
    track.stream = &stream;
    track.is_main = is_main;
    track.from = At(stream, stream.first_tick);
    track.to = At(stream, stream.end_tick);
    if (stream.packets.empty() || !Shows(track)) return;
    track.packets.resize(stream.packets.size());
    for (uint32_t i = 0; i < track.packets.size(); ++i) track.packets[i] = i;
    cut.tracks.push_back(std::move(track));
  };
  add(index.video(), true);
  for (size_t i = 0; i < index.streams.size(); ++i) {
    const Stream& stream = index.streams[i];
    if (i != index.main && Carries(type, stream)) add(stream, false);
  }
  return cut;
}

Result<FileCut> CutGop(const MediaIndex& index, FileType type, uint32_t gop) {
  if (gop >= index.gops.size()) {
    return NotFound("there are " + std::to_string(index.gops.size()) +
                    " GOPs, numbered from 0");
  }
  const Gop& own = index.gops[gop];
  const auto& packets = index.video().packets;
  const int64_t key_pts = packets[own.first_packet].pts;
  TrackCut track = MainTrack(index);
  // Frames inside a recovery window are only right behind the GOPs before.
  if (own.recovery_count > 0) {
    for (uint32_t g = gop - std::min<uint32_t>(gop, own.decode_back_body);
         g < gop; ++g) {
      AppendGop(index.gops[g], &track.packets);
    }
  }
  bool shows = false;
  int64_t first = 0;
  int64_t last = 0;
  for (uint32_t i = 0; i < own.packet_count; ++i) {
    const uint32_t ordinal = own.first_packet + i;
    const Packet& packet = packets[ordinal];
    if (own.decode_back_lead > 0 && packet.pts < key_pts) continue;
    track.packets.push_back(ordinal);
    if (!packet.shown()) continue;
    first = shows ? std::min(first, packet.pts) : packet.pts;
    last = shows ? std::max(last, packet.pts) : packet.pts;
    shows = true;
  }
  if (!shows) return NotFound("this GOP shows no frame");
  track.from = At(index.video(), first);
  track.to = At(index.video(), FrameEnd(index, last));
  if (!Shows(track)) return NotFound("this GOP shows no frame");
  FileCut cut;
  cut.origin = track.from;
  const ExactTime to = track.to;
  cut.tracks.push_back(std::move(track));
  AddOthers(index, type, cut.origin, to, &cut);
  return cut;
}

Result<FileCut> CutClip(const MediaIndex& index, FileType type,
                        const ExactTime& from, const ExactTime& to) {
  if (to <= from) return Invalid("a clip ends behind its start");
  auto [first, last] = index.FramesIn(from, to);
  if (first == last) return NotFound("no frame is shown in this window");
  // The frame that is shown when the window opens is not of the window, unless
  // there is no other.
  if (index.FrameTime(first) < from && last - first > 1) ++first;

  const Stream& video = index.video();
  uint32_t first_gop = index.GopOfPacket(index.shown[first]);
  uint32_t last_gop = first_gop;
  for (uint32_t frame = first; frame < last; ++frame) {
    first_gop = std::min(first_gop, FirstGopFor(index, index.shown[frame]));
    last_gop = std::max(last_gop, index.GopOfPacket(index.shown[frame]));
  }
  FileCut cut;
  TrackCut track = MainTrack(index);
  for (uint32_t g = first_gop; g <= last_gop; ++g) {
    AppendGop(index.gops[g], &track.packets);
  }
  // Time 0 is the moment asked for: a player that shows parts of frames shows
  // the rest of the one before, others start with the first of the window.
  const ExactTime first_time = At(video, index.packet(first).pts);
  cut.origin = std::min(SourceTime(index, from), first_time);
  if (index.FrameTime(first) < from) cut.origin = first_time;
  track.from = cut.origin;
  track.to = std::min(At(video, FrameEnd(index, index.packet(last - 1).pts)),
                      SourceTime(index, to));
  if (!Shows(track)) return NotFound("no frame is shown in this window");
  const ExactTime end = track.to;
  cut.tracks.push_back(std::move(track));
  AddOthers(index, type, cut.origin, end, &cut);
  return cut;
}

}  // namespace rowfs::plugin
