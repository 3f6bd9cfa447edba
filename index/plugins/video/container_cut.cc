#include "index/plugins/video/container_cut.h"

#include <algorithm>
#include <functional>
#include <utility>

namespace rowfs::plugin {
namespace {

// A start later than this is no pause that a player should show but a clock
// that counts from elsewhere (MPEG-TS of a broadcast).
constexpr int64_t kLatestStartSeconds = 60;

// What is cheaper to read through than to ask for apart.
constexpr uint64_t kClipGapBytes = 32 << 10;

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

// The packets of `stream` that start at or after a moment are from here on.
uint32_t FirstAt(const Stream& stream, const ExactTime& time) {
  const auto& packets = stream.packets;
  const auto at = std::partition_point(
      packets.begin(), packets.end(),
      [&](const Packet& packet) { return At(stream, packet.pts) < time; });
  return static_cast<uint32_t>(at - packets.begin());
}

// The packets of the track that are heard or seen in its window. With edit
// lists also those that the first of them needs; without, only whole packets,
// and the window becomes theirs.
void AddPackets(bool has_edits, TrackCut* track) {
  const Stream& stream = *track->stream;
  uint32_t first = FirstAt(stream, track->from);
  const uint32_t last = FirstAt(stream, track->to);
  const auto end_of = [&](uint32_t i) {
    const Packet& packet = stream.packets[i];
    return At(stream, packet.pts + packet.duration);
  };
  if (has_edits) {
    while (first > 0 && end_of(first - 1) > track->from) --first;
    if (first < last) first -= std::min(first, PrerollPackets(stream));
  }
  if (first >= last) return;
  for (uint32_t i = first; i < last; ++i) track->packets.push_back(i);
  if (!has_edits) {
    track->from = At(stream, stream.packets[first].pts);
    track->to = end_of(last - 1);
  }
}

bool Shows(const TrackCut& track) { return track.from < track.to; }

// Add the streams of `index` that `carried` names, beside the main one, for the
// window of the cut.
void AddOthers(const MediaIndex& index, bool has_edits,
               const std::function<bool(const Stream&)>& carried,
               FileCut* cut) {
  const ExactTime from = cut->tracks[0].from;
  const ExactTime to = cut->tracks[0].to;
  for (size_t i = 0; i < index.streams.size(); ++i) {
    const Stream& stream = index.streams[i];
    if (i == index.main || stream.kind == StreamKind::kVideo ||
        !carried(stream)) {
      continue;
    }
    TrackCut track;
    track.stream = &stream;
    track.from = std::max(from, At(stream, stream.first_tick));
    track.to = std::min(to, At(stream, stream.end_tick));
    if (!Shows(track)) continue;
    AddPackets(has_edits, &track);
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

ExactTime LaterByNano(const ExactTime& time) {
  constexpr TimeBase kNano{1, 1'000'000'000};
  return time.Minus(ExactTime::FromTicks(-1, kNano)).value_or(time);
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
  track.from_first = true;
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
  const bool has_edits = type == FileType::kMp4;
  TrackCut track = MainTrack(index);
  bool shows = false;
  int64_t first = 0;
  int64_t last = 0;
  uint32_t back = own.recovery_count > 0 ? own.decode_back_body : 0;
  std::vector<uint32_t> kept;
  for (uint32_t i = 0; i < own.packet_count; ++i) {
    const Packet& packet = packets[own.first_packet + i];
    if (own.decode_back_lead > 0 && packet.pts < key_pts) {
      if (!has_edits) continue;
      back = std::max<uint32_t>(back, own.decode_back_lead);
    }
    kept.push_back(own.first_packet + i);
    if (!packet.shown()) continue;
    first = shows ? std::min(first, packet.pts) : packet.pts;
    last = shows ? std::max(last, packet.pts) : packet.pts;
    shows = true;
  }
  if (has_edits) {
    for (uint32_t g = gop - std::min(gop, back); g < gop; ++g) {
      AppendGop(index.gops[g], &track.packets);
    }
  }
  track.packets.insert(track.packets.end(), kept.begin(), kept.end());
  if (!shows) return NotFound("this GOP shows no frame");
  track.from = At(index.video(), first);
  track.to = At(index.video(), FrameEnd(index, last));
  if (!Shows(track)) return NotFound("this GOP shows no frame");
  FileCut cut;
  cut.origin = track.from;
  cut.tracks.push_back(std::move(track));
  AddOthers(
      index, has_edits,
      [type](const Stream& stream) { return Carries(type, stream); }, &cut);
  return cut;
}

Result<FileCut> CutClip(const MediaIndex& index, FileType type,
                        const ExactTime& from, const ExactTime& to) {
  if (to <= from) return Invalid("a clip ends behind its start");
  auto [first, last] = index.FramesIn(from, to);
  if (first == last) return NotFound("no frame is shown in this window");
  // The frame that is shown when the window opens is not of the window, unless
  // there is no other, or its time was meant: as text that is up to a
  // nanosecond more.
  const ExactTime begin = LaterByNano(index.FrameTime(first));
  if (begin <= from && last - first > 1) ++first;

  const Stream& video = index.video();
  uint32_t first_gop = index.GopOfPacket(index.shown[first]);
  uint32_t last_packet = 0;
  for (uint32_t frame = first; frame < last; ++frame) {
    first_gop = std::min(first_gop, FirstGopFor(index, index.shown[frame]));
    last_packet = std::max(last_packet, index.shown[frame]);
  }
  FileCut cut;
  cut.gap_bytes_max = kClipGapBytes;
  TrackCut track = MainTrack(index);
  for (uint32_t i = index.gops[first_gop].first_packet; i <= last_packet; ++i) {
    track.packets.push_back(i);
  }
  // Time 0 is the first frame, not the moment asked for, which may lie before
  // it: a track that starts later than the file is moved by some players and
  // filled with copies by others.
  cut.origin = At(video, index.packet(first).pts);
  track.from = cut.origin;
  track.to = std::min(At(video, FrameEnd(index, index.packet(last - 1).pts)),
                      SourceTime(index, to));
  if (!Shows(track)) return NotFound("no frame is shown in this window");
  cut.tracks.push_back(std::move(track));
  const bool has_edits = type == FileType::kMp4;
  AddOthers(
      index, has_edits,
      [=](const Stream& stream) {
        return has_edits ? FitsMp4(stream) : Carries(type, stream);
      },
      &cut);
  return cut;
}

}  // namespace rowfs::plugin
