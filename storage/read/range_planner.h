// How few, large requests serve many small ranges of one object. Pure.
#ifndef ROWFS_STORAGE_READ_RANGE_PLANNER_H_
#define ROWFS_STORAGE_READ_RANGE_PLANNER_H_

#include <cstdint>
#include <span>
#include <vector>

#include "storage/base/bytes.h"

namespace rowfs {

struct PlanLimits {
  // Read through a hole of up to this many bytes: latency x bandwidth. 0 merges
  // only ranges that touch or overlap.
  uint64_t gap_bytes_max = 0;
  // A merged request does not grow past this (a single range may be longer).
  uint64_t request_bytes_max = uint64_t{64} << 20;
};

struct RangePlan {
  std::vector<ByteRange> requests;  // sorted, disjoint

  // Where wanted range i lies: requests[i.request], from `offset` in it.
  struct Slice {
    size_t request = 0;
    uint64_t offset = 0;
  };
  std::vector<Slice> slices;  // one per wanted range, in the caller's order
};

// Every wanted byte is covered by one request; the bytes read that nobody
// wanted are at most gap_bytes_max per merge. Empty ranges get slice {0, 0}.
RangePlan PlanRanges(std::span<const ByteRange> wanted,
                     const PlanLimits& limits);

}  // namespace rowfs
#endif  // ROWFS_STORAGE_READ_RANGE_PLANNER_H_
