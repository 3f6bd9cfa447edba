#include "storage/read/link_speed.h"

#include <algorithm>

namespace rowfs {
namespace {

constexpr uint64_t kShortBytes = 64 << 10;
constexpr uint64_t kLongBytes = 256 << 10;
constexpr double kWeight = 0.125;  // of the newest measurement
constexpr double kUsualBytesPerNs = 0.064;
// Requests that run side by side share the latency of one.
constexpr double kLanes = 16;
constexpr double kGapMin = 16 << 10;
constexpr double kGapMax = 512 << 10;
constexpr uint64_t kGapUnknown = 64 << 10;

void Mix(double* mean, double value) {
  *mean = *mean == 0 ? value : *mean + (value - *mean) * kWeight;
}

}  // namespace

void LinkSpeed::Add(uint64_t bytes, int64_t elapsed_ns) {
  const auto ns = static_cast<double>(std::max<int64_t>(elapsed_ns, 1));
  if (bytes <= kShortBytes) {
    Mix(&latency_ns_, ns);
  } else if (bytes >= kLongBytes && ns > latency_ns_) {
    Mix(&bytes_per_ns_, static_cast<double>(bytes) / (ns - latency_ns_));
  }
}

uint64_t LinkSpeed::GapBytes() const {
  if (latency_ns_ == 0) return kGapUnknown;
  const double speed = bytes_per_ns_ == 0 ? kUsualBytesPerNs : bytes_per_ns_;
  const double gap = latency_ns_ * speed / kLanes;
  return static_cast<uint64_t>(std::clamp(gap, kGapMin, kGapMax));
}

}  // namespace rowfs
