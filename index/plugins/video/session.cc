#include "index/plugins/video/session.h"

#include <algorithm>

#include "index/plugins/video/planner.h"

namespace rowfs::plugin {
namespace {

// With the decoders' own frames this stays below the 256 MiB of the contract.
constexpr size_t kCacheBytesMax = 144u << 20;
constexpr size_t kStartsMax = 16;
// What a reader that goes backwards asks for at a time.
constexpr uint32_t kStepBackMax = 32;
// Of decoders beside the one in use: as many as these have room for.
constexpr size_t kPositionsMax = 3;
constexpr uint64_t kPositionsBytes = 48u << 20;
constexpr uint64_t kPositionFrames = 8;

}  // namespace

DecodeSession::DecodeSession(const MediaIndex& index)
    : index_(index), frame_of_(index.video().packets.size()) {
  for (uint32_t frame = 0; frame < index.shown.size(); ++frame) {
    frame_of_[index.shown[frame]] = frame;
  }
  const Stream& video = index.video();
  const uint64_t frame_bytes =
      uint64_t{video.width} * video.height * 3 / (video.bit_depth > 8 ? 1 : 2);
  positions_max_ =
      1 +
      std::min<uint64_t>(kPositionsMax - 1,
                         kPositionsBytes / (kPositionFrames * frame_bytes + 1));
}

// Whether a decoder that started at `start` gives the true frame.
bool DecodeSession::IsCleanFrom(uint32_t start, uint32_t ordinal) const {
  return PlanStart(index_.gops, index_.video().packets,
                   index_.GopOfPacket(ordinal), ordinal) >= start;
}

bool DecodeSession::IsDamaged(uint32_t start, uint32_t ordinal) const {
  const Gop& gop = index_.gops[index_.GopOfPacket(ordinal)];
  const std::vector<Packet>& packets = index_.video().packets;
  return std::any_of(packets.begin() + start,
                     packets.begin() + gop.first_packet + gop.packet_count,
                     [](const Packet& p) {
                       constexpr uint8_t kGood = kPacketShown | kPacketSkipped;
                       return (p.flags & kPacketCorrupt) != 0 ||
                              (p.flags & kGood) == 0;
                     });
}

void DecodeSession::Keep(uint32_t ordinal, FramePtr frame) {
  if (cache_.contains(ordinal)) return;
  const size_t bytes = FrameBytes(*frame);
  while (!ages_.empty() && cache_bytes_ + bytes > kCacheBytesMax) {
    const auto oldest = cache_.find(ages_.front());
    cache_bytes_ -= oldest->second.bytes;
    cache_.erase(oldest);
    ages_.pop_front();
  }
  if (bytes > kCacheBytesMax) return;
  ages_.push_back(ordinal);
  cache_[ordinal] = {std::move(frame), bytes, std::prev(ages_.end())};
  cache_bytes_ += bytes;
}

std::pair<uint32_t, uint32_t> DecodeSession::Span(
    const std::vector<uint32_t>& targets) const {
  uint32_t first = UINT32_MAX;
  uint32_t last = 0;
  for (const uint32_t ordinal : targets) {
    first = std::min(first, frame_of_[ordinal]);
    last = std::max(last, frame_of_[ordinal]);
  }
  return {first, last};
}

uint64_t DecodeSession::NearOf(uint32_t start) {
  // Decoding the same GOP again, or coming to one from behind: its other frames
  // will be wanted next, as many of them as can be kept.
  const Stream& video = index_.video();
  const uint64_t pixels = uint64_t{video.width} * video.height;
  const auto known = std::find(starts_.begin(), starts_.end(), start);
  const bool all = backwards_ || known != starts_.end();
  if (known != starts_.end()) starts_.erase(known);
  starts_.push_front(start);
  if (starts_.size() > kStartsMax) starts_.pop_back();
  return all ? kCacheBytesMax / (2 * pixels + 1) : 0;
}

Status DecodeSession::Place(uint32_t start, const std::set<uint32_t>& wanted) {
  const auto gives = [&](const Position& p) {
    return !p.drained && p.start == start &&
           std::all_of(wanted.begin(), wanted.end(), [&p](uint32_t ordinal) {
             return ordinal >= p.next || p.inside.contains(ordinal);
           });
  };
  auto best = positions_.end();
  for (auto at = positions_.begin(); at != positions_.end(); ++at) {
    if (!gives(*at)) continue;
    if (best == positions_.end() || at->next > best->next) best = at;
  }
  if (best != positions_.end()) {
    positions_.splice(positions_.begin(), positions_, best);
    return {};
  }
  positions_.remove_if([](const Position& p) { return p.drained; });
  while (positions_.size() >= positions_max_) positions_.pop_back();
  Position fresh;
  fresh.near = NearOf(start);
  fresh.extradata = index_.video().packets[start].extradata;
  // A fresh decoder costs no more than a flush, and some keep frames over it.
  PLUGIN_ASSIGN_OR_RETURN(fresh.decoder, VideoDecoder::OpenPlanned(
                                             index_.video(), fresh.extradata));
  fresh.start = fresh.next = start;
  positions_.push_front(std::move(fresh));
  return {};
}

bool DecodeSession::IsNeeded(uint32_t ordinal,
                             const std::set<uint32_t>& wanted) const {
  const Packet& p = index_.video().packets[ordinal];
  const uint32_t last = *wanted.rbegin();
  if (!p.nonref() || !p.shown()) return true;
  if (wanted.contains(ordinal)) return true;
  if (damaged_) return false;
  if (last - ordinal <= positions_.front().near) return true;
  // The frames beside a target are likely to be wanted next.
  const int64_t away = int64_t{frame_of_[ordinal]} - int64_t{frame_of_[last]};
  return away == 1 || away == -1;
}

Status DecodeSession::Feed(uint32_t ordinal, const GetPacket& get) {
  Position& at = positions_.front();
  const Packet& p = index_.video().packets[ordinal];
  if (p.extradata != at.extradata) {
    at.extradata = p.extradata;
    at.decoder->ChangeExtradata(index_.video().extradata[p.extradata]);
  }
  PLUGIN_ASSIGN_OR_RETURN(const ByteSpan bytes, get(ordinal));
  if (at.decoder->SendBytes(ordinal, bytes) && p.shown()) {
    at.inside.insert(ordinal);
  }
  return {};
}

Status DecodeSession::Collect(std::set<uint32_t>* wanted,
                              const TakeFrame& take) {
  Position& at = positions_.front();
  while (auto got = at.decoder->Receive()) {
    if (got->ordinal < at.start || got->ordinal >= at.next) continue;
    const uint32_t ordinal = static_cast<uint32_t>(got->ordinal);
    at.inside.erase(ordinal);
    if (!IsCleanFrom(at.start, ordinal)) continue;
    // What is made up for damage may come out of memory that the decoder uses
    // again; it gets all back at once, as when the index was made.
    if (damaged_) got->frame = CopyFrame(*got->frame);
    if (wanted->erase(ordinal) != 0) {
      PLUGIN_RETURN_IF_ERROR(take(ordinal, *got->frame));
    }
    Keep(ordinal, std::move(got->frame));
  }
  return {};
}

Status DecodeSession::Finish(std::set<uint32_t>* wanted, bool may_pop,
                             const TakeFrame& take) {
  Position& at = positions_.front();
  while (may_pop && !wanted->empty() && !at.inside.empty()) {
    const size_t before = at.inside.size();
    if (!at.decoder->Pop()) break;
    PLUGIN_RETURN_IF_ERROR(Collect(wanted, take));
    if (at.inside.size() == before) break;
  }
  if (wanted->empty()) return {};
  at.decoder->Drain();
  at.drained = true;
  return Collect(wanted, take);
}

Status DecodeSession::Run(uint32_t start, const std::vector<uint32_t>& targets,
                          const GetPacket& get, const TakeFrame& take) {
  const auto [lowest, highest] = Span(targets);
  backwards_ = highest < lowest_ && lowest_ - highest <= kStepBackMax;
  lowest_ = lowest;
  std::set<uint32_t> wanted;
  for (uint32_t ordinal : targets) {
    const auto hit = cache_.find(ordinal);
    if (hit == cache_.end()) {
      wanted.insert(ordinal);
      continue;
    }
    ages_.splice(ages_.end(), ages_, hit->second.age);
    PLUGIN_RETURN_IF_ERROR(take(ordinal, *hit->second.frame));
  }
  if (wanted.empty()) return {};
  const Status status = RunUncached(start, std::move(wanted), get, take);
  // After an error in between nobody knows what the decoder has seen.
  if (!status.ok() && !positions_.empty()) positions_.pop_front();
  return status;
}

Status DecodeSession::RunUncached(uint32_t start, std::set<uint32_t> wanted,
                                  const GetPacket& get, const TakeFrame& take) {
  const uint32_t last = *wanted.rbegin();
  damaged_ = IsDamaged(start, last);
  PLUGIN_RETURN_IF_ERROR(Place(start, wanted));
  Position& at = positions_.front();
  while (at.next <= last) {
    const uint32_t ordinal = at.next++;
    if (!IsNeeded(ordinal, wanted)) continue;
    PLUGIN_RETURN_IF_ERROR(Feed(ordinal, get));
    PLUGIN_RETURN_IF_ERROR(Collect(&wanted, take));
  }
  return Finish(&wanted, !damaged_, take);
}

}  // namespace rowfs::plugin
