// Time as a dependency, so that tests need no waiting. RealClock is the
// machine's.
//
// Thread-safe.
#ifndef ROWFS_STORAGE_BASE_CLOCK_H_
#define ROWFS_STORAGE_BASE_CLOCK_H_

#include <chrono>
#include <cstdint>
#include <thread>

namespace rowfs {

class Clock {
 public:
  virtual ~Clock() = default;
  // Nanoseconds since the Unix epoch.
  virtual int64_t NowNs() = 0;
  // Monotonic nanoseconds, for measuring and deadlines.
  virtual int64_t MonotonicNs() = 0;
  virtual void SleepMs(int64_t ms) = 0;
};

class RealClock final : public Clock {
 public:
  int64_t NowNs() override {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(
               std::chrono::system_clock::now().time_since_epoch())
        .count();
  }
  int64_t MonotonicNs() override {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(
               std::chrono::steady_clock::now().time_since_epoch())
        .count();
  }
  void SleepMs(int64_t ms) override {
    std::this_thread::sleep_for(std::chrono::milliseconds(ms));
  }
};

}  // namespace rowfs
#endif  // ROWFS_STORAGE_BASE_CLOCK_H_
