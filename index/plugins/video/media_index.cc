#include "index/plugins/video/media_index.h"

#include <algorithm>

namespace rowfs::plugin {

void MediaIndex::Derive() {
  bytes_before.assign(1, 0);
  ordered = true;
  BlobRange last;
  for (uint32_t i = 0; i < video().packets.size(); ++i) {
    bytes_before.push_back(bytes_before.back() + video().packets[i].size);
    const BlobRange range = RangeOf(i);
    ordered = ordered && range.begin >= last.begin && range.end >= last.end;
    last = range;
  }
}

BlobRange MediaIndex::RangeOf(uint32_t ordinal) const {
  const Packet& p = video().packets[ordinal];
  const uint32_t span = video().pes.kind == PesKind::kNone
                            ? p.size
                            : video().scattered[ordinal].span;
  return {p.offset, p.offset + span};
}

uint32_t MediaIndex::GopOfPacket(uint32_t ordinal) const {
  const auto after = std::upper_bound(
      gops.begin(), gops.end(), ordinal,
      [](uint32_t o, const Gop& gop) { return o < gop.first_packet; });
  return static_cast<uint32_t>(after - gops.begin()) - 1;
}

const FrameShape& MediaIndex::ShapeOf(uint32_t frame) const {
  const auto after = std::upper_bound(
      shapes.begin(), shapes.end(), frame,
      [](uint32_t f, const FrameShape& s) { return f < s.first_frame; });
  return *(after - 1);
}

int MediaIndex::FirstStream(StreamKind kind) const {
  for (size_t i = 0; i < streams.size(); ++i) {
    if (streams[i].kind == kind) return static_cast<int>(i);
  }
  return -1;
}

ExactTime MediaIndex::TimeOf(const Stream& stream, int64_t tick) const {
  const ExactTime start =
      ExactTime::FromTicks(head.start_tick, head.start_base);
  // Parsing and ingest have made sure that the difference exists.
  return ExactTime::FromTicks(tick, stream.time_base)
      .Minus(start)
      .value_or(ExactTime());
}

uint64_t MediaIndex::SoundLate() const {
  // Containers round times to their ticks: within two of them, sound and
  // picture start together.
  constexpr int kSameTicks = 2;
  const Stream& stream = streams[sound->stream];
  const auto same = ExactTime::FromTicks(kSameTicks, stream.time_base);
  const ExactTime late = TimeOf(stream, stream.first_tick);
  if (late <= same) return 0;
  const TimeBase samples{1,
                         static_cast<int32_t>(sound->index.head.sample_rate)};
  return static_cast<uint64_t>(std::max<int64_t>(0, late.FloorTicks(samples)));
}

int64_t MediaIndex::FrameAt(const ExactTime& time) const {
  if (shown.empty() || time >= EndTime()) return -1;
  const auto after = std::upper_bound(
      shown.begin(), shown.end(), time,
      [this](const ExactTime& t, uint32_t ordinal) {
        return t < TimeOf(video(), video().packets[ordinal].pts);
      });
  return (after - shown.begin()) - 1;
}

std::pair<uint32_t, uint32_t> MediaIndex::FramesIn(const ExactTime& from,
                                                   const ExactTime& to) const {
  if (shown.empty() || to <= from || from >= EndTime()) return {0, 0};
  const auto not_before = [this](const ExactTime& limit) {
    const auto at =
        std::partition_point(shown.begin(), shown.end(), [&](uint32_t ordinal) {
          return TimeOf(video(), video().packets[ordinal].pts) < limit;
        });
    return static_cast<uint32_t>(at - shown.begin());
  };
  const uint32_t last = not_before(to);
  uint32_t first = not_before(from);
  // The frame before is still shown at `from`, unless one starts right there.
  const bool starts_there = first < shown.size() && FrameTime(first) == from;
  if (first > 0 && !starts_there) --first;
  return first < last ? std::pair(first, last)
                      : std::pair<uint32_t, uint32_t>(0, 0);
}

}  // namespace rowfs::plugin
