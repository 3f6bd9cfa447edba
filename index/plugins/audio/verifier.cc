#include "index/plugins/audio/verifier.h"

#include <algorithm>

#include "index/plugins/audio/sound_decoder.h"

namespace rowfs::plugin {
namespace {

constexpr size_t kHeldMax = 280;  // packets
constexpr size_t kHeldBytes = 64 << 20;
// What a pre-roll may grow by before the sound counts as not exact.
constexpr uint32_t kExtraMax = 6;

}  // namespace

Status Verifier::Add(ByteSpan data, Bytes samples) {
  if (!index_->head.exact) return {};
  SoundPacket& packet = index_->packets.back();
  packet.preroll += extra_;
  held_.push_back({Bytes(data.begin(), data.end()), std::move(samples)});
  size_t bytes = 0;
  for (const Held& held : held_) bytes += held.data.size();
  while (held_.size() > kHeldMax ||
         (held_.size() > kExtraMax + 4 && bytes > kHeldBytes)) {
    bytes -= held_.front().data.size();
    held_.pop_front();
  }
  // Samples are compared two packets long; older ones are not needed.
  if (held_.size() > 2) Bytes().swap(held_[held_.size() - 3].samples);
  const bool due = every_packet_ || decoded_ >= next_check_;
  decoded_ += packet.samples;
  if (pending_) {
    pending_ = false;
    PLUGIN_RETURN_IF_ERROR(Check(index_->packets.size() - 2));
  }
  if (due && packet.samples > 0) {
    pending_ = true;
    next_check_ =
        (decoded_ / index_->head.sample_rate + 1) * index_->head.sample_rate;
  }
  return {};
}

Status Verifier::Finish() {
  if (!pending_ || !index_->head.exact) return {};
  // What a decoder holds back at the end belongs to the last packet, and only
  // comes out of a decoder that is told of the end: nothing to compare.
  pending_ = false;
  return {};
}

Status Verifier::Check(size_t target) {
  const uint32_t planned = index_->packets[target].preroll;
  for (uint32_t more = 0; more <= kExtraMax; ++more) {
    PLUGIN_ASSIGN_OR_RETURN(const bool same, Matches(target, planned + more));
    if (!same) continue;
    extra_ += more;
    for (SoundPacket& packet : index_->packets) packet.preroll += more;
    return {};
  }
  index_->head.exact = false;
  held_.clear();
  return {};
}

Result<bool> Verifier::Matches(size_t target, uint32_t preroll) {
  const size_t start = target - std::min<size_t>(preroll, target);
  // Not held any more: then it cannot be shown to be wrong either.
  if (start < first_held()) return true;
  PLUGIN_ASSIGN_OR_RETURN(const auto decoder, SoundDecoder::Open(*index_));
  for (size_t i = start; i < index_->packets.size(); ++i) {
    const Held& held = held_[i - first_held()];
    Bytes samples;
    const bool compared = i >= target;
    const auto count =
        decoder->Decode(held.data, {compared ? &samples : nullptr, nullptr});
    if (compared && (!count.ok() || samples != held.samples)) return false;
  }
  return true;
}

}  // namespace rowfs::plugin
