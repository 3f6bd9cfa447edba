#include "index/plugins/video/main_track.h"

#include <algorithm>
#include <map>

#include "index/plugins/video/describe.h"
#include "index/plugins/video/planner.h"
#include "index/plugins/video/timeline.h"

namespace rowfs::plugin {
namespace {

// Packets held in memory for verification and for putting sound before them.
constexpr uint64_t kHeldBytesMax = 768u << 20;
// A decoder has given a frame, or never will, this many packets later: H.264
// and HEVC hold back at most 16.
constexpr uint32_t kReorderMax = 20;

}  // namespace

Result<std::unique_ptr<MainTrack>> MainTrack::Open(const AVStream& source,
                                                   bool convert,
                                                   Verify verify) {
  std::unique_ptr<MainTrack> track(new MainTrack);
  track->stream_ = DescribeStream(source);
  track->source_nal_ = track->stream_.nal;
  track->verify_ = verify;
  PLUGIN_ASSIGN_OR_RETURN(
      track->converter_,
      StreamConverter::Make(source, convert, &track->stream_));
  PLUGIN_ASSIGN_OR_RETURN(track->sequential_,
                          VideoDecoder::OpenSequential(source));
  return track;
}

Status MainTrack::Add(const AVPacket& packet, uint64_t source_offset,
                      const Scatter& scatter) {
  if (packet.size <= 0) return {};
  const PictureFacts facts = InspectPicture(
      stream_.codec, ByteSpan(packet.data, static_cast<size_t>(packet.size)),
      source_nal_, stream_.nal_length_size,
      (packet.flags & AV_PKT_FLAG_KEY) != 0);
  PLUGIN_RETURN_IF_ERROR(AddPacket(packet, facts, source_offset));
  const uint32_t ordinal = static_cast<uint32_t>(packets_.size() - 1);
  seen_[ordinal].scatter = scatter;
  PLUGIN_RETURN_IF_ERROR(Decode(ordinal, &packet));
  return facts.key ? Settle(false) : Status();
}

Status MainTrack::AddPacket(const AVPacket& packet, const PictureFacts& facts,
                            uint64_t source_offset) {
  if (packets_.size() >= kPacketsMax) return Limit("too many packets");
  PLUGIN_ASSIGN_OR_RETURN(Converted converted,
                          converter_->Convert(packet, facts.key));
  if (converted.data.empty()) return Corrupt("a packet holds no picture");
  Packet next;
  next.size = static_cast<uint32_t>(converted.data.size());
  next.extradata = converted.extradata;
  if (facts.key) next.flags |= kPacketKey;
  if (facts.nonref) next.flags |= kPacketNonRef;
  AppendRepaired(packet, &packets_, next);
  Seen seen;
  seen.temporal_id = facts.temporal_id;
  highest_temporal_id_ = std::max(highest_temporal_id_, facts.temporal_id);
  seen.trimmed = (packet.flags & AV_PKT_FLAG_DISCARD) != 0;
  seen.timed = packet.pts != AV_NOPTS_VALUE;
  all_timed_ = all_timed_ && seen.timed;
  seen_.push_back(seen);
  held_bytes_ += converted.data.size();
  held_.push_back(
      {std::move(converted.data), source_offset, converted.verbatim});
  if (held_bytes_ > kHeldBytesMax) {
    return Limit("a group of pictures is larger than " +
                 std::to_string(kHeldBytesMax >> 20) + " MiB");
  }
  if (facts.key || gops_.empty()) StartGop(facts);
  ++gops_.back().packet_count;
  return {};
}

void MainTrack::StartGop(const PictureFacts& facts) {
  if (!gops_.empty()) CloseGop();
  Gop gop;
  gop.first_packet = static_cast<uint32_t>(packets_.size() - 1);
  gop.kind = facts.kind;
  gops_.push_back(gop);
  recovery_frames_.push_back(facts.recovery_frames);
}

// The last GOP is complete: count its recovery window in packets and guess how
// far back its unclean frames have to start.
void MainTrack::CloseGop() {
  const size_t g = gops_.size() - 1;
  Gop& gop = gops_[g];
  if (gop.kind == KeyKind::kOpen && g > 0) gop.decode_back_lead = 1;
  if (gop.kind != KeyKind::kRecovery) return;
  uint32_t references = 0;
  uint32_t window = 0;
  for (; window < gop.packet_count; ++window) {
    if (packets_[gop.first_packet + window].nonref()) continue;
    if (references == recovery_frames_[g]) break;
    ++references;
  }
  gop.recovery_count = window;
  uint32_t distance = 0;
  uint8_t back = 0;
  while (back < g && back < 255) {
    ++back;
    const Gop& earlier = gops_[g - back];
    distance += earlier.packet_count;
    if (recovery_frames_[g - back] <= distance) break;
  }
  gop.decode_back_body = gop.decode_back_lead = back;
}

uint32_t MainTrack::GopOf(uint32_t ordinal) const {
  const auto after = std::upper_bound(
      gops_.begin(), gops_.end(), ordinal,
      [](uint32_t o, const Gop& gop) { return o < gop.first_packet; });
  return static_cast<uint32_t>(after - gops_.begin()) - 1;
}

Status MainTrack::Finish() {
  if (packets_.empty()) return Corrupt("the video stream has no packets");
  CloseGop();
  if (sequential_ != nullptr) {
    sequential_->Drain();
    PLUGIN_RETURN_IF_ERROR(Collect());
    sequential_.reset();
  }
  PLUGIN_RETURN_IF_ERROR(Settle(true));
  if (several_frames_) {
    return Unsupported("a packet of the video stream holds several frames");
  }
  return {};
}

// ---- sequential decoding --------------------------------------------------

Status MainTrack::Decode(uint32_t ordinal, const AVPacket* packet) {
  if (sequential_ == nullptr) {
    SkipDecoding(ordinal);
    return {};
  }
  PacketPtr copy(av_packet_clone(packet));
  if (copy == nullptr) throw std::bad_alloc();
  sequential_->Send(ordinal, copy.get());
  PLUGIN_RETURN_IF_ERROR(Collect());
  // Without verification the first picture only proves that there is one and
  // tells its shape; where packets have no times, only decoding tells in which
  // order they are shown.
  if (verify_ == Verify::kOff && !output_.empty() && all_timed_) {
    sequential_.reset();
    const uint32_t first = output_[0];
    output_.clear();
    for (uint32_t i = GopOf(first); i < gops_.size(); ++i) {
      const Gop& gop = gops_[i];
      for (uint32_t k = 0; k < gop.packet_count; ++k) {
        SkipDecoding(gop.first_packet + k);
      }
    }
  }
  return {};
}

// What can be said of a packet without decoding it.
void MainTrack::SkipDecoding(uint32_t ordinal) {
  Seen& seen = seen_[ordinal];
  const Gop& gop = gops_[GopOf(ordinal)];
  const bool first_key = GopOf(ordinal) == 0 ||
                         gops_[0].kind == KeyKind::kNone ||
                         !seen_[gops_[0].first_packet].shown;
  seen.undecodable = first_key && GopOf(ordinal) <= 1 &&
                     gop.kind == KeyKind::kOpen &&
                     packets_[ordinal].pts < packets_[gop.first_packet].pts;
  seen.shown = !seen.trimmed && !seen.undecodable;
}

Status MainTrack::Collect() {
  while (auto got = sequential_->Receive()) {
    if (got->ordinal < 0 ||
        got->ordinal >= static_cast<int64_t>(packets_.size())) {
      continue;
    }
    const uint32_t ordinal = static_cast<uint32_t>(got->ordinal);
    Seen& seen = seen_[ordinal];
    if (seen.shown) {
      several_frames_ = true;
      continue;
    }
    const AVFrame& frame = *got->frame;
    FrameShape shape = ShapeOfFrame(frame);
    if (shape.width > kSideMax || shape.height > kSideMax) {
      return Limit("frames of more than 65535 pixels a side");
    }
    auto at = std::find(shapes_.begin(), shapes_.end(), shape);
    if (at == shapes_.end()) {
      if (shapes_.size() == UINT16_MAX) return Limit("too many frame sizes");
      at = shapes_.insert(at, shape);
    }
    seen.shape = static_cast<uint16_t>(at - shapes_.begin());
    seen.shown = true;
    seen.corrupt = got->corrupt;
    if (verify_ != Verify::kOff) seen.hash = HashFrame(frame);
    if (!seen.timed) packets_[ordinal].pts = GuessPts(ordinal, frame);
    output_.push_back(ordinal);
  }
  return {};
}

// The time of a frame whose packet has none: what the decoder makes of decoding
// times, else right behind the frame shown before.
int64_t MainTrack::GuessPts(uint32_t ordinal, const AVFrame& frame) const {
  int64_t pts = frame.best_effort_timestamp;
  if (pts == AV_NOPTS_VALUE && output_.empty()) return packets_[ordinal].pts;
  if (pts == AV_NOPTS_VALUE) {
    const Packet& last = packets_[output_.back()];
    pts = last.pts + std::max<int64_t>(1, last.duration);
  }
  return std::clamp(pts, -kTicksMax, kTicksMax);
}

// ---- what is kept ---------------------------------------------------------

void MainTrack::TrimHeld() {
  // Verification may go back some GOPs behind the settled ones.
  constexpr uint32_t kBack = 4;
  const uint32_t verified = settled_ < kBack ? 0 : settled_ - kBack;
  const uint32_t keep = std::min(released_, verified);
  if (keep >= gops_.size()) return;
  while (held_first_ < gops_[keep].first_packet) {
    held_bytes_ -= held_.front().data.size();
    held_.pop_front();
    ++held_first_;
  }
}

Status MainTrack::Settle(bool all) {
  while (settled_ < gops_.size()) {
    const Gop& gop = gops_[settled_];
    const uint32_t end = gop.first_packet + gop.packet_count;
    // A GOP is final when the next one is known to start with a true key.
    const bool open = settled_ + 2 >= gops_.size() ||
                      packets_.size() < size_t{end} + 2 * kReorderMax;
    if (!all && open) break;
    if (settled_ + 1 < gops_.size()) {
      PLUGIN_RETURN_IF_ERROR(VerifyGop(settled_ + 1));
      const bool merged =
          settled_ + 1 >= gops_.size() ||
          gops_[settled_].first_packet + gops_[settled_].packet_count != end;
      if (merged) continue;
    }
    if (merged_) PLUGIN_RETURN_IF_ERROR(VerifyMerged(settled_));
    merged_ = false;
    ++settled_;
  }
  TrimHeld();
  return {};
}

bool MainTrack::Wanted(uint32_t ordinal) const {
  const Seen& seen = seen_[ordinal];
  if (seen.shown || seen.trimmed) return true;
  const uint32_t g = GopOf(ordinal);
  const Gop& gop = gops_[g];
  if (g > 0 && (g > 1 || gops_[0].kind != KeyKind::kNone)) return true;
  if (gop.kind == KeyKind::kNone) {
    // Keep the head only if something of it is shown.
    for (uint32_t i = 0; i < gop.packet_count; ++i) {
      if (seen_[gop.first_packet + i].shown) return true;
    }
    return false;
  }
  return packets_[ordinal].pts >= packets_[gop.first_packet].pts;
}

}  // namespace rowfs::plugin
