// A cut as an MP4 file: head, then the packets as they lie in the blob.
#include <algorithm>
#include <cstdlib>
#include <limits>
#include <numeric>
#include <utility>

#include "index/plugins/video/container_cut.h"
#include "index/plugins/video/mp4_boxes.h"

namespace rowfs::plugin {
namespace {

constexpr int64_t kMax32 = std::numeric_limits<uint32_t>::max();
constexpr int64_t kTimescaleMax = std::numeric_limits<int32_t>::max();
// Scales for tracks whose own is too fine for the 32-bit steps of the tables.
constexpr int64_t kCoarser[] = {1'000'000, 1'000};
// moov has to stay below 4 GiB; a packet takes at most 24 bytes of it.
constexpr uint64_t kSamplesMax = uint64_t{1} << 27;

// Ticks of a stream to ticks of its track.
struct Scale {
  int64_t timescale = 1;
  int64_t mul = 1;
  int64_t div = 1;

  Int128 Ticks(int64_t distance) const { return Int128{distance} * mul / div; }
};

Scale ScaleTo(TimeBase base, int64_t timescale) {
  // At most 2^31 * 2^31.
  return {timescale, int64_t{base.num} * timescale, base.den};
}

// The source's own scale, so that no time is rounded.
Scale ExactScale(TimeBase base) { return {base.den, base.num, 1}; }

// Whether every step and offset of `track` fits its 32 bits at `scale`.
bool Fits(const TrackCut& track, const Scale& scale) {
  const auto& packets = track.stream->packets;
  int64_t previous = packets[track.packets.front()].dts;
  for (const uint32_t i : track.packets) {
    const Packet& packet = packets[i];
    const Int128 offset = scale.Ticks(packet.pts - packet.dts);
    if (scale.Ticks(packet.dts - previous) > kMax32 ||
        scale.Ticks(packet.duration) > kMax32 || offset > kTimescaleMax ||
        offset < -kTimescaleMax) {
      return false;
    }
    previous = packet.dts;
  }
  return true;
}

// Sound counts in samples: players take the length of what they have to skip
// for a number of samples whatever the track's scale is.
bool CountsSamples(const Stream& stream) {
  return stream.kind == StreamKind::kAudio && stream.sample_rate > 0 &&
         stream.sample_rate <= kTimescaleMax;
}

// Bytes of one moment of PCM sound; 0 for every other codec.
uint32_t UnitBytes(const Stream& stream) {
  if (!CountsSamples(stream) || !stream.codec.starts_with("pcm_")) return 0;
  if (stream.block_align > 0) return stream.block_align;
  return uint32_t{stream.channels} * stream.bits_per_sample / 8;
}

// PCM whose every packet is whole moments of sound.
bool InUnits(const TrackCut& track) {
  const uint32_t unit = UnitBytes(*track.stream);
  return unit > 0 && std::all_of(track.packets.begin(), track.packets.end(),
                                 [&](uint32_t i) {
                                   const uint32_t size =
                                       track.stream->packets[i].size;
                                   return size > 0 && size % unit == 0;
                                 });
}

Result<Scale> ChooseScale(const TrackCut& track) {
  const Stream& stream = *track.stream;
  const Scale own = CountsSamples(stream)
                        ? ScaleTo(stream.time_base, stream.sample_rate)
                        : ExactScale(stream.time_base);
  if (Fits(track, own)) return own;
  for (const int64_t timescale : kCoarser) {
    const Scale scale = ScaleTo(stream.time_base, timescale);
    if (Fits(track, scale)) return scale;
  }
  return Unsupported("a pause of weeks does not fit into an MP4 file");
}

// Where the packets of the cut lie in the mdat payload.
class Payload {
 public:
  Payload(const FileCut& cut) {
    for (const TrackCut& track : cut.tracks) {
      for (const uint32_t i : track.packets) {
        const Packet& packet = track.stream->packets[i];
        if (packet.size > 0) {
          ranges_.push_back({packet.offset, packet.offset + packet.size});
        }
      }
    }
    if (cut.whole_blob && !ranges_.empty()) {
      uint64_t end = 0;
      for (const BlobRange& range : ranges_) end = std::max(end, range.end);
      ranges_ = {{0, end}};
    }
    Merge(cut.gap_bytes_max);
  }

  uint64_t size() const { return size_; }
  const std::vector<BlobRange>& ranges() const { return ranges_; }
  uint64_t OffsetOf(const Packet& packet) const {
    if (packet.size == 0) return 0;
    const auto after = std::upper_bound(
        ranges_.begin(), ranges_.end(), packet.offset,
        [](uint64_t offset, const BlobRange& r) { return offset < r.begin; });
    const auto at = static_cast<size_t>(after - ranges_.begin()) - 1;
    return starts_[at] + (packet.offset - ranges_[at].begin);
  }

 private:
  // Packets of a container may overlap: what is stored once is sent once.
  void Merge(uint64_t gap_bytes_max) {
    std::sort(ranges_.begin(), ranges_.end(),
              [](const BlobRange& a, const BlobRange& b) {
                return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
              });
    std::vector<BlobRange> merged;
    for (const BlobRange& range : ranges_) {
      if (!merged.empty() &&
          range.begin - std::min(range.begin, merged.back().end) <=
              gap_bytes_max) {
        merged.back().end = std::max(merged.back().end, range.end);
      } else {
        merged.push_back(range);
      }
    }
    ranges_ = std::move(merged);
    for (const BlobRange& range : ranges_) {
      starts_.push_back(size_);
      size_ += range.size();
    }
  }

  std::vector<BlobRange> ranges_;
  std::vector<uint64_t> starts_;  // of ranges_[i] in the payload
  uint64_t size_ = 0;
};

// `ticks` after `previous`, or `step` after it when the clock of the source is
// too coarse (milliseconds of Matroska) to tell the two apart.
int64_t Smooth(int64_t ticks, int64_t previous, int64_t step,
               const Scale& scale) {
  if (step == 0 || previous < 0) return ticks;
  const int64_t expected = previous + step;
  const auto source_tick = static_cast<int64_t>(scale.Ticks(1));
  return std::abs(ticks - expected) <= source_tick ? expected : ticks;
}

std::vector<Mp4Sample> Samples(const MediaIndex& index, const TrackCut& track,
                               const Scale& scale, const Payload& payload) {
  const Stream& stream = *track.stream;
  const int64_t zero = stream.packets[track.packets.front()].dts;
  const int64_t step =
      CountsSamples(stream) && scale.timescale == stream.sample_rate
          ? stream.frame_size
          : 0;
  std::vector<Mp4Sample> samples;
  samples.reserve(track.packets.size());
  int64_t previous = -1;
  for (const uint32_t i : track.packets) {
    const Packet& packet = stream.packets[i];
    Mp4Sample sample;
    sample.offset = payload.OffsetOf(packet);
    sample.size = packet.size;
    const auto ticks = static_cast<int64_t>(scale.Ticks(packet.dts - zero));
    sample.dts = std::max(Smooth(ticks, previous, step, scale), previous + 1);
    sample.pts =
        sample.dts + static_cast<int64_t>(scale.Ticks(packet.pts - packet.dts));
    sample.sync = packet.key() || stream.kind != StreamKind::kVideo;
    if (track.from_first && !samples.empty() &&
        ExactTime::FromTicks(packet.pts, stream.time_base) <= track.from) {
      sample.sync = false;
    }
    sample.open = track.is_main && packet.key() &&
                  index.gops[index.GopOfPacket(i)].decode_back_lead > 0;
    sample.entry =
        packet.extradata < stream.entries.size() ? packet.extradata : 0;
    previous = sample.dts;
    samples.push_back(sample);
  }
  return samples;
}

// PCM has no times of its own: each moment of sound follows the one before. It
// is cut exactly, since players hide whole chunks of it only.
std::vector<Mp4Sample> UnitSamples(const TrackCut& track, const Scale& scale,
                                   const Payload& payload) {
  const Stream& stream = *track.stream;
  const uint32_t unit = UnitBytes(stream);
  const TimeBase rate{1, static_cast<int32_t>(scale.timescale)};
  const int64_t from = track.from.CeilTicks(rate);
  const int64_t to = std::max(track.to.CeilTicks(rate), from + 1);
  std::vector<Mp4Sample> samples;
  samples.reserve(track.packets.size());
  int64_t moment = 0;
  for (const uint32_t i : track.packets) {
    const Packet& packet = stream.packets[i];
    const int64_t count = packet.size / unit;
    const int64_t start =
        ExactTime::FromTicks(packet.pts, stream.time_base).FloorTicks(rate);
    const int64_t skip = std::clamp<int64_t>(from - start, 0, count);
    // A surplus within a tick of the source is its rounding, not a cut.
    const bool cut = start + count - to > scale.Ticks(1);
    const int64_t end =
        cut ? std::clamp<int64_t>(to - start, skip, count) : count;
    const int64_t keep = end - skip;
    if (keep == 0) continue;
    Mp4Sample sample;
    sample.offset =
        payload.OffsetOf(packet) + static_cast<uint64_t>(skip) * unit;
    sample.size = static_cast<uint32_t>(keep) * unit;
    sample.dts = moment;
    sample.pts = moment;
    sample.sync = true;
    moment += keep;
    samples.push_back(sample);
  }
  return samples;
}

void SetPicture(const Stream& stream, Mp4Track* out) {
  const TimeBase sar = stream.sample_aspect;
  uint64_t width = uint64_t{stream.width} << 16;
  if (sar.num > 0 && sar.den > 0) {
    width =
        width * static_cast<uint64_t>(sar.num) / static_cast<uint64_t>(sar.den);
  }
  out->width = static_cast<uint32_t>(std::min<uint64_t>(width, kMax32));
  out->height = stream.height << 16;
  std::copy(stream.matrix.begin(), stream.matrix.end(), out->matrix);
}

Result<Mp4Track> MakeTrack(const MediaIndex& index, const TrackCut& track,
                           const Payload& payload) {
  const Stream& stream = *track.stream;
  Mp4Track out;
  out.kind = stream.kind == StreamKind::kVideo   ? Mp4Kind::kVideo
             : stream.kind == StreamKind::kAudio ? Mp4Kind::kAudio
                                                 : Mp4Kind::kText;
  const bool in_units = InUnits(track);
  Scale scale = ScaleTo(stream.time_base, stream.sample_rate);
  if (!in_units) {
    PLUGIN_ASSIGN_OR_RETURN(scale, ChooseScale(track));
  }
  out.timescale = static_cast<uint32_t>(scale.timescale);
  if (in_units) out.unit_bytes = UnitBytes(stream);
  out.language = stream.language;
  for (const CodecEntries& entry : stream.entries) {
    out.entries.push_back(entry.mp4.empty() ? stream.entries[0].mp4
                                            : entry.mp4);
  }
  out.samples = in_units ? UnitSamples(track, scale, payload)
                         : Samples(index, track, scale, payload);
  const Packet& last = stream.packets[track.packets.back()];
  out.last_duration = static_cast<uint32_t>(std::clamp<int64_t>(
      static_cast<int64_t>(scale.Ticks(last.duration)), 1, kMax32));
  if (stream.codec == "opus") out.roll_distance = -4;
  if (stream.kind == StreamKind::kVideo) SetPicture(stream, &out);
  out.enabled =
      track.is_main || stream.is_default || stream.kind == StreamKind::kAudio;
  return out;
}

// Edits are told in ticks of the movie: fine enough that a track's own ticks
// survive the way there and back.
uint32_t MovieTimescale(const std::vector<Mp4Track>& tracks) {
  int64_t common = 1000;
  for (const Mp4Track& track : tracks) {
    common = std::lcm(common, int64_t{track.timescale});
    if (common > kTimescaleMax) {
      const int64_t main = tracks[0].timescale;
      common = kTimescaleMax / main * main;
      break;
    }
  }
  return static_cast<uint32_t>(common);
}

// Show [from, to) of the track where it belongs: after an empty edit when it
// starts later than the file, and from its first sample that is shown.
void SetEdits(const ExactTime& origin, const TrackCut& track,
              uint32_t timescale, Mp4Track* out) {
  const Stream& stream = *track.stream;
  const TimeBase movie{1, static_cast<int32_t>(timescale)};
  const TimeBase own{1, static_cast<int32_t>(out->timescale)};
  const auto since = [](const ExactTime& a, const ExactTime& b) {
    return a.Minus(b).value_or(ExactTime());
  };
  const int64_t pause = since(track.from, origin).CeilTicks(movie);
  int64_t duration = since(track.to, track.from).CeilTicks(movie);
  int64_t media_time = 0;
  if (out->unit_bytes != 0) {
    // Cut already: all of it is heard.
    int64_t moments = 0;
    for (const Mp4Sample& sample : out->samples) {
      moments += sample.size / out->unit_bytes;
    }
    duration = ExactTime::FromTicks(moments, own).CeilTicks(movie);
  } else {
    const ExactTime zero = ExactTime::FromTicks(
        stream.packets[track.packets.front()].dts, stream.time_base);
    media_time = std::max<int64_t>(since(track.from, zero).CeilTicks(own), 0);
    // The number of samples to drop, where it is known, is finer than a clock
    // of milliseconds.
    const auto source_tick = static_cast<int64_t>(
        ScaleTo(stream.time_base, out->timescale).Ticks(1));
    if (CountsSamples(stream) && stream.initial_padding > 0 &&
        std::abs(media_time - int64_t{stream.initial_padding}) <= source_tick) {
      media_time = stream.initial_padding;
    }
    const int64_t media_duration =
        out->samples.back().dts - out->samples.front().dts + out->last_duration;
    const bool all =
        media_time == 0 && ExactTime::FromTicks(media_duration, own) ==
                               since(track.to, track.from);
    if (all && pause <= 0) return;
  }
  if (out->unit_bytes != 0 && pause <= 0) return;
  if (pause > 0) {
    out->edits.push_back({static_cast<uint64_t>(pause), -1});
  }
  out->edits.push_back(
      {static_cast<uint64_t>(std::max<int64_t>(duration, 1)), media_time});
}

}  // namespace

Result<FilePlan> WriteMp4(const MediaIndex& index, const FileCut& cut) {
  uint64_t count = 0;
  for (const TrackCut& track : cut.tracks) count += track.packets.size();
  if (count > kSamplesMax) return Limit("too many packets for an MP4 file");
  const Payload payload(cut);
  Mp4Movie movie;
  std::vector<const TrackCut*> cuts;
  for (const TrackCut& track : cut.tracks) {
    PLUGIN_ASSIGN_OR_RETURN(Mp4Track out, MakeTrack(index, track, payload));
    if (out.samples.empty()) continue;
    movie.tracks.push_back(std::move(out));
    cuts.push_back(&track);
    for (const CodecEntries& entry : track.stream->entries) {
      movie.quicktime = movie.quicktime || entry.quicktime;
    }
  }
  movie.timescale = MovieTimescale(movie.tracks);
  for (size_t i = 0; i < cuts.size(); ++i) {
    SetEdits(cut.origin, *cuts[i], movie.timescale, &movie.tracks[i]);
  }
  FilePlan plan;
  plan.pieces.push_back({EncodeMp4Head(movie, payload.size()), {}});
  for (const BlobRange& range : payload.ranges()) {
    plan.pieces.push_back({{}, range});
  }
  return plan;
}

}  // namespace rowfs::plugin
