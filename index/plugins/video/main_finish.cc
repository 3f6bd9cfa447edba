// The finishing half of MainTrack: from what was collected to the index.
#include <algorithm>
#include <numeric>

#include "index/plugins/video/main_track.h"

namespace rowfs::plugin {

void MainTrack::ClearNonRefs() {
  for (const Gop& gop : gops_) ClearNonRefsIfDamaged(gop);
  for (uint32_t i = 0; i < packets_.size(); ++i) {
    Packet& p = packets_[i];
    if (!Skippable(i)) p.flags = static_cast<uint8_t>(p.flags & ~kPacketNonRef);
  }
}

// Make times increase in the order in which the frames are shown, which is the
// truth; without it, in the order of their times.
void MainTrack::FixTimes() {
  if (output_.empty()) {
    for (uint32_t i = 0; i < packets_.size(); ++i) {
      if (seen_[i].shown) output_.push_back(i);
    }
    std::stable_sort(output_.begin(), output_.end(),
                     [this](uint32_t a, uint32_t b) {
                       return packets_[a].pts < packets_[b].pts;
                     });
    return;
  }
  for (size_t i = 1; i < output_.size(); ++i) {
    Packet& p = packets_[output_[i]];
    p.pts = std::max(p.pts, packets_[output_[i - 1]].pts);
  }
}

// Copy the wanted packets and their GOPs; old ordinal -> new one, UINT32_MAX
// for those left out.
std::vector<uint32_t> MainTrack::Renumber(MediaIndex* index) {
  std::vector<uint32_t> renumbered(packets_.size(), UINT32_MAX);
  for (const Gop& old : gops_) {
    Gop gop = old;
    gop.first_packet = static_cast<uint32_t>(stream_.packets.size());
    for (uint32_t i = 0; i < old.packet_count; ++i) {
      const uint32_t ordinal = old.first_packet + i;
      if (!Wanted(ordinal)) continue;
      Packet p = packets_[ordinal];
      const Seen& seen = seen_[ordinal];
      if (seen.shown) p.flags |= kPacketShown;
      if (seen.corrupt) p.flags |= kPacketCorrupt;
      if (seen.trimmed) p.flags |= kPacketSkipped;
      renumbered[ordinal] = static_cast<uint32_t>(stream_.packets.size());
      stream_.packets.push_back(p);
      if (stream_.pes.kind != PesKind::kNone) {
        stream_.scattered.push_back(seen.scatter);
      }
    }
    gop.packet_count =
        static_cast<uint32_t>(stream_.packets.size()) - gop.first_packet;
    if (gop.packet_count == 0) continue;
    const size_t g = index->gops.size();
    const uint8_t most = static_cast<uint8_t>(std::min<size_t>(g, 255));
    gop.recovery_count = std::min(gop.recovery_count, gop.packet_count);
    gop.decode_back_lead = std::min(gop.decode_back_lead, most);
    gop.decode_back_body = std::min(gop.decode_back_body, most);
    index->gops.push_back(gop);
  }
  return renumbered;
}

Status MainTrack::MoveInto(MediaIndex* index) {
  ClearNonRefs();
  FixTimes();
  if (output_.empty()) return Corrupt("no frame of the video can be decoded");
  const std::vector<uint32_t> renumbered = Renumber(index);
  for (uint32_t ordinal : output_) {
    const uint32_t frame = static_cast<uint32_t>(index->shown.size());
    index->shown.push_back(renumbered[ordinal]);
    FrameShape shape = shapes_[seen_[ordinal].shape];
    const FrameShape* last =
        index->shapes.empty() ? nullptr : &index->shapes.back();
    if (last != nullptr) shape.first_frame = last->first_frame;
    if (last != nullptr && shape == *last) continue;
    shape.first_frame = frame;
    index->shapes.push_back(shape);
  }
  const Packet& first = packets_[output_.front()];
  Packet& last = packets_[output_.back()];
  if (last.duration == 0) {
    const TimeBase rate = stream_.frame_rate;
    const TimeBase base = stream_.time_base;
    last.duration = output_.size() > 1
                        ? last.pts - packets_[output_[output_.size() - 2]].pts
                        : 0;
    if (rate.num > 0) {
      last.duration =
          av_rescale_q(1, {rate.den, rate.num}, {base.num, base.den});
    }
    last.duration = std::max<int64_t>(1, last.duration);
    stream_.packets[renumbered[output_.back()]].duration = last.duration;
  }
  converter_->DescribeCodec();
  stream_.first_tick = first.pts;
  stream_.end_tick = last.pts + last.duration;
  // Frames tell the truth about the picture; the container only claims.
  const FrameShape& shape = index->shapes.front();
  stream_.width = shape.width;
  stream_.height = shape.height;
  stream_.bit_depth = shape.bit_depth;
  stream_.has_alpha = shape.has_alpha;
  index->streams[index->main] = std::move(stream_);
  return {};
}

}  // namespace rowfs::plugin
