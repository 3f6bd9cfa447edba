#include "index/plugins/video/companion.h"

#include <algorithm>

#include "index/plugins/video/bitstream.h"
#include "index/plugins/video/describe.h"
#include "index/plugins/video/timeline.h"

namespace rowfs::plugin {
namespace {

uint32_t Little32(const uint8_t* p) { return ByteReader(ByteSpan(p, 4)).U32(); }

}  // namespace

Result<std::unique_ptr<Companion>> Companion::Open(const AVStream& source,
                                                   bool convert) {
  std::unique_ptr<Companion> made(new Companion);
  made->source_ = &source;
  made->stream_ = DescribeStream(source);
  PLUGIN_ASSIGN_OR_RETURN(
      made->converter_, StreamConverter::Make(source, convert, &made->stream_));
  return made;
}

// Samples to drop at the start move the first tick, samples to drop at the end
// the last one.
void Companion::NoteSkips(const AVPacket& packet) {
  const Packet& p = stream_.packets.back();
  int64_t begin = p.pts;
  int64_t end = p.pts + p.duration;
  size_t size = 0;
  const uint8_t* skip =
      av_packet_get_side_data(&packet, AV_PKT_DATA_SKIP_SAMPLES, &size);
  const bool first = stream_.packets.size() == 1;
  if (stream_.sample_rate > 0 && stream_.kind == StreamKind::kAudio) {
    const AVRational samples{1, static_cast<int>(stream_.sample_rate)};
    const AVRational ticks{stream_.time_base.num, stream_.time_base.den};
    const bool told = skip != nullptr && size >= 8;
    // Matroska tells what to drop at the start as a property of the stream.
    const uint32_t head = told    ? Little32(skip)
                          : first ? stream_.initial_padding
                                  : 0;
    const uint32_t tail = told ? Little32(skip + 4) : 0;
    begin += av_rescale_q_rnd(head, samples, ticks, AV_ROUND_UP);
    end -= av_rescale_q_rnd(tail, samples, ticks, AV_ROUND_DOWN);
    if (head > 0 && first) {
      stream_.initial_padding = head;
      // It may reach over several packets, and end inside one.
      heard_from_ = begin;
    }
    if (told) stream_.trailing_padding = tail;
  }
  // The first packet of Vorbis only prepares the second.
  if (first && stream_.codec == "vorbis") begin = end;
  if ((packet.flags & AV_PKT_FLAG_DISCARD) != 0) return;
  first_tick_ = std::min(first_tick_, std::max(begin, heard_from_));
  end_tick_ = std::max(end_tick_, end);
}

Status Companion::Add(const AVPacket& packet, uint64_t source_offset) {
  if (packet.size <= 0) return {};
  if (stream_.packets.size() >= kPacketsMax) return Limit("too many packets");
  const bool key = (packet.flags & AV_PKT_FLAG_KEY) != 0;
  PLUGIN_ASSIGN_OR_RETURN(Converted converted,
                          converter_->Convert(packet, key));
  if (converted.data.empty()) return {};
  Packet next;
  next.size = static_cast<uint32_t>(converted.data.size());
  next.extradata = converted.extradata;
  if (key) next.flags |= kPacketKey;
  next.flags |=
      (packet.flags & AV_PKT_FLAG_DISCARD) != 0 ? kPacketSkipped : kPacketShown;
  AppendRepaired(packet, &stream_.packets, next);
  NoteSkips(packet);
  if (listener_) listener_->Add(packet, converted.data, stream_);
  located_ = located_ && source_offset != kUnknown;
  held_bytes_ += converted.data.size();
  waiting_.push_back({stream_.packets.size() - 1, std::move(converted.data),
                      source_offset, converted.verbatim});
  return {};
}

Status Companion::AddScattered(const AVPacket& packet, uint64_t source_offset,
                               const PesStream& pes, const Scatter& scatter) {
  PLUGIN_RETURN_IF_ERROR(Add(packet, source_offset));
  stream_.pes = pes;
  if (stream_.scattered.size() < stream_.packets.size()) {
    stream_.scattered.push_back(scatter);
  }
  return {};
}

bool Companion::ReachedOrSparse(const ExactTime& time) const {
  if (stream_.kind != StreamKind::kAudio &&
      stream_.kind != StreamKind::kVideo) {
    return true;
  }
  return !stream_.packets.empty() &&
         ExactTime::FromTicks(stream_.packets.back().dts, stream_.time_base) >=
             time;
}

Status Companion::Take(
    const ExactTime* time,
    const std::function<Status(Packet*, const Waiting&)>& write) {
  while (!waiting_.empty()) {
    const Waiting& next = waiting_.front();
    Packet& p = stream_.packets[next.number];
    if (time != nullptr &&
        ExactTime::FromTicks(p.dts, stream_.time_base) >= *time) {
      break;
    }
    PLUGIN_RETURN_IF_ERROR(write(&p, next));
    held_bytes_ -= next.data.size();
    waiting_.pop_front();
  }
  gop_first_.push_back(
      static_cast<uint32_t>(stream_.packets.size() - waiting_.size()));
  return {};
}

void Companion::Listen(int32_t verify) {
  listener_ = std::make_unique<Listener>(*source_, verify);
}

std::optional<SoundIndex> Companion::TakeSound() {
  if (!listener_ || stream_.packets.empty()) return std::nullopt;
  return listener_->Finish();
}

Stream Companion::Finish(bool with_gops) {
  if (with_gops) {
    stream_.gop_first = std::move(gop_first_);
  } else if (!located_) {
    stream_.packets.clear();
    stream_.scattered.clear();
    stream_.pes = {};
  }
  if (!stream_.packets.empty()) converter_->DescribeCodec();
  if (!stream_.packets.empty() && first_tick_ <= end_tick_) {
    stream_.first_tick = std::clamp(first_tick_, -kTicksMax, kTicksMax);
    stream_.end_tick = std::clamp(end_tick_, -kTicksMax, kTicksMax);
  }
  return std::move(stream_);
}

}  // namespace rowfs::plugin
