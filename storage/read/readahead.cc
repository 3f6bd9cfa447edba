#include "storage/read/readahead.h"

#include <algorithm>

namespace rowfs {
namespace {

// Programs look at a file's start in two or three reads and go away.
constexpr uint32_t kContinuedMin = 2;
constexpr uint64_t kWindowMax = 128 << 20;
// Kernel threads deliver reads a little out of order; members of packs are
// padded.
constexpr uint64_t kSlackMax = 1 << 20;

}  // namespace

ByteRange Readahead::Note(ByteRange range, uint64_t size) {
  const uint64_t slack = std::min(range.size(), kSlackMax);
  const MutexLock lock(mu_);
  Pass* pass = nullptr;
  uint64_t nearest = slack + 1;
  for (Pass& other : passes_) {
    const uint64_t distance = range.begin < other.next
                                  ? other.next - range.begin
                                  : range.begin - other.next;
    if (other.used == 0 || distance >= nearest || range.end <= other.next) {
      continue;
    }
    pass = &other;
    nearest = distance;
  }
  if (pass == nullptr) {
    pass = &*std::min_element(
        passes_.begin(), passes_.end(),
        [](const Pass& a, const Pass& b) { return a.used < b.used; });
    *pass = {range.end, range.begin, range.end, 0, ++uses_};
    return {};
  }
  pass->used = ++uses_;
  pass->next = range.end;
  if (++pass->continued < kContinuedMin) return {};
  const uint64_t window = std::min(pass->next - pass->begin, kWindowMax);
  const uint64_t target = std::min(size, pass->next + window);
  const uint64_t from = std::max(pass->ahead, pass->next);
  // In strides, so that each request is worth its round trip.
  if (target <= from || (target - from < window / 2 && target < size)) {
    return {};
  }
  pass->ahead = target;
  return {from, target};
}

}  // namespace rowfs
