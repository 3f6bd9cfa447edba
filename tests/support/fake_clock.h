// A Clock that stands still until somebody sleeps.
//
// Thread-safe.
#ifndef ROWFS_TESTS_SUPPORT_FAKE_CLOCK_H_
#define ROWFS_TESTS_SUPPORT_FAKE_CLOCK_H_

#include <atomic>

#include "storage/base/clock.h"

namespace rowfs {

class FakeClock final : public Clock {
 public:
  int64_t NowNs() override { return now_ns_; }
  int64_t MonotonicNs() override { return now_ns_; }
  void SleepMs(int64_t ms) override { now_ns_ += ms * 1'000'000; }

 private:
  std::atomic<int64_t> now_ns_{int64_t{1'700'000'000} * 1'000'000'000};
};

}  // namespace rowfs
#endif  // ROWFS_TESTS_SUPPORT_FAKE_CLOCK_H_
