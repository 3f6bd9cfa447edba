// The verifying half of MainTrack.
#include <algorithm>
#include <map>

#include "index/plugins/video/main_track.h"
#include "index/plugins/video/planner.h"

namespace rowfs::plugin {
namespace {

// How many GOPs a plan may go back before the key packet is given up.
constexpr uint8_t kBackMax = 3;

}  // namespace

// In HEVC a sub-layer non-reference picture may still be needed by higher
// temporal layers.
bool MainTrack::Skippable(uint32_t ordinal) const {
  return packets_[ordinal].nonref() &&
         seen_[ordinal].temporal_id >= highest_temporal_id_;
}

// What a decoder makes up for damaged pictures depends on all it was fed.
void MainTrack::ClearNonRefsIfDamaged(const Gop& gop) {
  const uint32_t end = gop.first_packet + gop.packet_count;
  bool damaged = false;
  for (uint32_t i = gop.first_packet; i < end; ++i) {
    const Seen& s = seen_[i];
    damaged = damaged || s.corrupt || (!s.shown && !s.trimmed);
  }
  if (damaged) ClearNonRefsOf(gop);
}

void MainTrack::ClearNonRefsOf(const Gop& gop) {
  for (uint32_t i = 0; i < gop.packet_count; ++i) {
    Packet& p = packets_[gop.first_packet + i];
    p.flags = static_cast<uint8_t>(p.flags & ~kPacketNonRef);
  }
}

// Packets of GOP `gop` whose frames are compared: with Verify::kKeys all that
// depend on where decoding starts, which are the key, the pictures shown
// before it, the recovery window and the first picture behind them.
std::vector<uint32_t> MainTrack::Targets(uint32_t gop) const {
  const Gop& g = gops_[gop];
  const int64_t key_pts = packets_[g.first_packet].pts;
  std::vector<uint32_t> targets;
  bool after = false;
  bool corrupt = false;
  for (uint32_t i = 0; i < g.packet_count; ++i) {
    corrupt = corrupt || seen_[g.first_packet + i].corrupt;
  }
  for (uint32_t i = 0; i < g.packet_count; ++i) {
    const uint32_t ordinal = g.first_packet + i;
    if (!seen_[ordinal].shown) continue;
    const bool start = i == 0 || packets_[ordinal].pts < key_pts;
    const bool window = i < g.recovery_count;
    if (start || window || !after || corrupt || verify_ == Verify::kFull) {
      targets.push_back(ordinal);
    }
    after = after || (!start && !window);
  }
  return targets;
}

Result<bool> MainTrack::Compare(uint32_t start,
                                const std::vector<uint32_t>& targets,
                                bool skip_nonref, int64_t* mismatch) {
  if (start < held_first_) return false;  // too far back to be tried
  PLUGIN_ASSIGN_OR_RETURN(
      std::unique_ptr<VideoDecoder> decoder,
      VideoDecoder::OpenPlanned(stream_, packets_[start].extradata));
  std::map<uint32_t, bool> good;
  for (uint32_t t : targets) good[t] = false;
  const auto collect = [&] {
    while (auto got = decoder->Receive()) {
      const auto at = good.find(static_cast<uint32_t>(got->ordinal));
      if (got->ordinal < 0 || at == good.end()) continue;
      at->second = HashFrame(*got->frame) == seen_[at->first].hash;
    }
  };
  uint16_t extradata = packets_[start].extradata;
  for (uint32_t i = start; i <= targets.back(); ++i) {
    const bool target = good.contains(i);
    if (skip_nonref && Skippable(i) && !target) continue;
    if (packets_[i].extradata != extradata) {
      extradata = packets_[i].extradata;
      decoder->ChangeExtradata(stream_.extradata[extradata]);
    }
    decoder->SendBytes(i, data(i));
    collect();
  }
  decoder->Drain();
  collect();
  for (uint32_t t : targets) {
    if (!good[t]) {
      *mismatch = t;
      return true;
    }
  }
  *mismatch = -1;
  return true;
}

Result<int64_t> MainTrack::FindMismatch(const std::vector<uint32_t>& targets,
                                        bool skip_nonref) {
  std::map<uint32_t, std::vector<uint32_t>> by_start;
  for (uint32_t t : targets) {
    by_start[PlanStart(gops_, packets_, GopOf(t), t)].push_back(t);
  }
  for (const auto& [start, group] : by_start) {
    int64_t mismatch = -1;
    PLUGIN_ASSIGN_OR_RETURN(const bool tried,
                            Compare(start, group, skip_nonref, &mismatch));
    if (!tried) return int64_t{group.front()};
    if (mismatch >= 0) return mismatch;
  }
  return int64_t{-1};
}

Status MainTrack::VerifyGop(uint32_t gop) {
  if (verify_ == Verify::kOff || gops_[gop].kind == KeyKind::kIntra) return {};
  ClearNonRefsIfDamaged(gops_[gop]);
  const std::vector<uint32_t> targets = Targets(gop);
  if (targets.empty()) return {};
  while (true) {
    PLUGIN_ASSIGN_OR_RETURN(int64_t mismatch, FindMismatch(targets, true));
    if (mismatch < 0 && verify_ == Verify::kFull) {
      PLUGIN_ASSIGN_OR_RETURN(mismatch, FindMismatch(targets, false));
    }
    if (mismatch < 0) return {};
    const uint32_t ordinal = static_cast<uint32_t>(mismatch);
    Gop& g = gops_[gop];
    const bool leads = packets_[ordinal].pts < packets_[g.first_packet].pts;
    const bool window = ordinal - g.first_packet < g.recovery_count;
    uint8_t* back = leads    ? &g.decode_back_lead
                    : window ? &g.decode_back_body
                             : nullptr;
    if (back == nullptr || *back >= kBackMax || *back >= gop) {
      Demote(gop);
      return {};
    }
    ++*back;
  }
}

Status MainTrack::VerifyMerged(uint32_t gop) {
  if (verify_ == Verify::kOff) return {};
  ClearNonRefsIfDamaged(gops_[gop]);
  std::vector<uint32_t> targets;
  Gop& g = gops_[gop];
  for (uint32_t i = 0; i < g.packet_count; ++i) {
    if (seen_[g.first_packet + i].shown) targets.push_back(g.first_packet + i);
  }
  while (!targets.empty()) {
    PLUGIN_ASSIGN_OR_RETURN(const int64_t mismatch,
                            FindMismatch(targets, true));
    if (mismatch < 0) return {};
    const uint32_t ordinal = static_cast<uint32_t>(mismatch);
    const bool leads = packets_[ordinal].pts < packets_[g.first_packet].pts;
    uint8_t* back = leads ? &g.decode_back_lead : &g.decode_back_body;
    if (!leads && g.recovery_count < g.packet_count) {
      g.recovery_count = g.packet_count;
      if (*back != 0) continue;
    }
    if (*back >= kBackMax || *back >= gop) {
      return Corrupt(
          "pictures behind damage cannot be decoded apart from all before "
          "them");
    }
    ++*back;
    ClearNonRefsOf(gops_[gop - *back]);
  }
  return {};
}

// The key packet of `gop` is none: its packets belong to the GOP before.
void MainTrack::Demote(uint32_t gop) {
  Packet& key = packets_[gops_[gop].first_packet];
  key.flags = static_cast<uint8_t>(key.flags & ~kPacketKey);
  gops_[gop - 1].packet_count += gops_[gop].packet_count;
  gops_.erase(gops_.begin() + gop);
  merged_ = true;
  recovery_frames_.erase(recovery_frames_.begin() + gop);
  for (uint32_t g = gop; g < gops_.size(); ++g) {
    const uint8_t most = static_cast<uint8_t>(std::min<uint32_t>(g, 255));
    gops_[g].decode_back_lead = std::min(gops_[g].decode_back_lead, most);
    gops_[g].decode_back_body = std::min(gops_[g].decode_back_body, most);
  }
}

}  // namespace rowfs::plugin
