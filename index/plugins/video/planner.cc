#include "index/plugins/video/planner.h"

#include <algorithm>

namespace rowfs::plugin {
namespace {

// Foreign bytes between packets that are read along rather than asked around.
// Interleaved sound and block headers are a few per cent; more than twice the
// wanted bytes plus this means that the packets do not lie together at all.
constexpr uint64_t kForeignBytes = 4 << 20;

}  // namespace

uint32_t PlanStart(std::span<const Gop> gops, std::span<const Packet> packets,
                   uint32_t gop, uint32_t ordinal) {
  const Gop& own = gops[gop];
  uint32_t start = gop;
  if (own.kind == KeyKind::kNone) return gops[0].first_packet;
  if (packets[ordinal].pts < packets[own.first_packet].pts) {
    start -= std::min<uint32_t>(start, own.decode_back_lead);
  } else if (ordinal - own.first_packet < own.recovery_count) {
    start -= std::min<uint32_t>(start, own.decode_back_body);
  }
  return gops[start].first_packet;
}

std::vector<BlobRange> PlanRanges(const MediaIndex& index, uint32_t start,
                                  uint32_t ordinal) {
  const BlobRange all{index.RangeOf(start).begin, index.RangeOf(ordinal).end};
  const uint64_t wanted =
      index.bytes_before[ordinal + 1] - index.bytes_before[start];
  if (index.ordered && all.size() <= 3 * wanted + kForeignBytes) return {all};
  std::vector<BlobRange> ranges;
  for (uint32_t i = start; i <= ordinal; ++i) {
    ranges.push_back(index.RangeOf(i));
  }
  std::sort(
      ranges.begin(), ranges.end(),
      [](const BlobRange& a, const BlobRange& b) { return a.begin < b.begin; });
  std::vector<BlobRange> merged;
  for (const BlobRange& r : ranges) {
    if (!merged.empty() && r.begin <= merged.back().end) {
      merged.back().end = std::max(merged.back().end, r.end);
    } else {
      merged.push_back(r);
    }
  }
  return merged;
}

std::vector<PlannedDecode> PlanFrames(const MediaIndex& index,
                                      std::span<const uint32_t> frames) {
  struct Target {
    uint32_t start;
    uint32_t ordinal;
    uint32_t frame;
  };
  std::vector<Target> targets;
  for (uint32_t frame : frames) {
    const uint32_t ordinal = index.shown[frame];
    const uint32_t start = PlanStart(index.gops, index.video().packets,
                                     index.GopOfPacket(ordinal), ordinal);
    targets.push_back({start, ordinal, frame});
  }
  std::stable_sort(
      targets.begin(), targets.end(), [](const Target& a, const Target& b) {
        return a.start != b.start ? a.start < b.start : a.ordinal < b.ordinal;
      });
  std::vector<PlannedDecode> decodes;
  for (size_t i = 0; i < targets.size(); ++i) {
    const Target& t = targets[i];
    if (decodes.empty() || decodes.back().start != t.start) {
      decodes.push_back({t.start, {}, {}});
    }
    decodes.back().frames.push_back(t.frame);
    const bool last =
        i + 1 == targets.size() || targets[i + 1].start != t.start;
    if (last) decodes.back().ranges = PlanRanges(index, t.start, t.ordinal);
  }
  return decodes;
}

}  // namespace rowfs::plugin
