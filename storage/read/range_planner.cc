#include "storage/read/range_planner.h"

#include <algorithm>
#include <numeric>

namespace rowfs {

RangePlan PlanRanges(std::span<const ByteRange> wanted,
                     const PlanLimits& limits) {
  RangePlan plan;
  plan.slices.resize(wanted.size());
  std::vector<size_t> order(wanted.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return wanted[a].begin < wanted[b].begin;
  });
  for (const size_t i : order) {
    const ByteRange& range = wanted[i];
    if (range.empty()) continue;
    if (!plan.requests.empty()) {
      ByteRange& last = plan.requests.back();
      const bool overlaps = range.begin < last.end;
      const uint64_t gap = overlaps ? 0 : range.begin - last.end;
      const uint64_t end = std::max(last.end, range.end);
      // Overlapping ranges always merge: requests are disjoint, whatever size.
      if (overlaps || (gap <= limits.gap_bytes_max &&
                       end - last.begin <= limits.request_bytes_max)) {
        last.end = end;
        plan.slices[i] = {plan.requests.size() - 1, range.begin - last.begin};
        continue;
      }
    }
    plan.requests.push_back(range);
    plan.slices[i] = {plan.requests.size() - 1, 0};
  }
  return plan;
}

}  // namespace rowfs
