#include "index/plugins/video/session.h"

#include <algorithm>

#include "index/plugins/video/planner.h"

namespace rowfs::plugin {
namespace {

// With the decoder's own frames this stays below the 256 MiB of the contract.
constexpr size_t kCacheBytesMax = 144u << 20;
// Packets before a target whose frames are kept even where nothing refers to
// them: its neighbours are likely to be wanted next.
constexpr uint32_t kNearPackets = 3;
constexpr size_t kStartsMax = 16;

}  // namespace

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

bool DecodeSession::CanContinue(uint32_t start,
                                const std::set<uint32_t>& wanted) const {
  if (decoder_ == nullptr || drained_ || start_ != start) return false;
  return std::all_of(wanted.begin(), wanted.end(), [this](uint32_t ordinal) {
    return ordinal >= next_ || inside_.contains(ordinal);
  });
}

Status DecodeSession::Restart(uint32_t start) {
  // Decoding the same GOP again: its other frames will be wanted next, as many
  // of them as can be kept.
  const Stream& video = index_.video();
  const uint64_t pixels = uint64_t{video.width} * video.height;
  const auto known = std::find(starts_.begin(), starts_.end(), start);
  near_ = kNearPackets;
  if (known != starts_.end()) {
    near_ = kCacheBytesMax / (2 * pixels + 1);
    starts_.erase(known);
  }
  starts_.push_front(start);
  if (starts_.size() > kStartsMax) starts_.pop_back();
  const uint16_t extradata = index_.video().packets[start].extradata;
  // A fresh decoder costs no more than a flush, and some keep frames over it.
  PLUGIN_ASSIGN_OR_RETURN(decoder_,
                          VideoDecoder::OpenPlanned(index_.video(), extradata));
  start_ = next_ = start;
  extradata_ = extradata;
  drained_ = false;
  inside_.clear();
  return {};
}

Status DecodeSession::Feed(uint32_t ordinal, const GetPacket& get) {
  const Packet& p = index_.video().packets[ordinal];
  if (p.extradata != extradata_) {
    extradata_ = p.extradata;
    decoder_->ChangeExtradata(index_.video().extradata[extradata_]);
  }
  PLUGIN_ASSIGN_OR_RETURN(const ByteSpan bytes, get(ordinal));
  if (decoder_->SendBytes(ordinal, bytes) && p.shown()) {
    inside_.insert(ordinal);
  }
  return {};
}

Status DecodeSession::Collect(std::set<uint32_t>* wanted,
                              const TakeFrame& take) {
  while (auto got = decoder_->Receive()) {
    if (got->ordinal < start_ || got->ordinal >= next_) continue;
    const uint32_t ordinal = static_cast<uint32_t>(got->ordinal);
    inside_.erase(ordinal);
    if (!IsCleanFrom(start_, ordinal)) continue;
    if (wanted->erase(ordinal) != 0) {
      PLUGIN_RETURN_IF_ERROR(take(ordinal, *got->frame));
    }
    Keep(ordinal, std::move(got->frame));
  }
  return {};
}

Status DecodeSession::Finish(std::set<uint32_t>* wanted, bool may_pop,
                             const TakeFrame& take) {
  while (may_pop && !wanted->empty() && !inside_.empty()) {
    const size_t before = inside_.size();
    if (!decoder_->Pop()) break;
    PLUGIN_RETURN_IF_ERROR(Collect(wanted, take));
    if (inside_.size() == before) break;
  }
  if (wanted->empty()) return {};
  decoder_->Drain();
  drained_ = true;
  return Collect(wanted, take);
}

Status DecodeSession::Run(uint32_t start, const std::vector<uint32_t>& targets,
                          const GetPacket& get, const TakeFrame& take) {
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
  if (!status.ok()) decoder_.reset();
  return status;
}

Status DecodeSession::RunUncached(uint32_t start, std::set<uint32_t> wanted,
                                  const GetPacket& get, const TakeFrame& take) {
  if (!CanContinue(start, wanted)) {
    PLUGIN_RETURN_IF_ERROR(Restart(start));
  }
  const uint32_t last = *wanted.rbegin();
  while (next_ <= last) {
    const uint32_t ordinal = next_++;
    const Packet& p = index_.video().packets[ordinal];
    if (p.nonref() && last - ordinal > near_ && !wanted.contains(ordinal)) {
      continue;
    }
    PLUGIN_RETURN_IF_ERROR(Feed(ordinal, get));
    PLUGIN_RETURN_IF_ERROR(Collect(&wanted, take));
  }
  return Finish(&wanted, !IsDamaged(start, last), take);
}

}  // namespace rowfs::plugin
