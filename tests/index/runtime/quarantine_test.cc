#include "index/runtime/quarantine.h"

#include "tests/support/status_matchers.h"

namespace rowfs {
namespace {

class FakeClock final : public Clock {
 public:
  int64_t NowNs() override { return now_ns; }
  int64_t MonotonicNs() override { return now_ns; }
  void SleepMs(int64_t ms) override { now_ns += ms * 1'000'000; }

  int64_t now_ns = 1;
};

const Status kCrash(Code::kInternal, "crashed");

TEST(Quarantine, RemembersForItsTime) {
  FakeClock clock;
  Quarantine quarantine(10, 1000, &clock);
  quarantine.Put(1, kCrash);

  EXPECT_THAT(quarantine.Find(1), HasCode(Code::kInternal));
  EXPECT_OK(quarantine.Find(2));
  clock.SleepMs(999);
  EXPECT_THAT(quarantine.Find(1), HasCode(Code::kInternal));
  clock.SleepMs(1);
  EXPECT_OK(quarantine.Find(1));
}

TEST(Quarantine, StartsAgainAtTheNextCrash) {
  FakeClock clock;
  Quarantine quarantine(10, 1000, &clock);
  quarantine.Put(1, kCrash);
  clock.SleepMs(2000);

  quarantine.Put(1, kCrash);

  EXPECT_THAT(quarantine.Find(1), HasCode(Code::kInternal));
}

TEST(Quarantine, ForgetsTheOldestWhenFull) {
  FakeClock clock;
  Quarantine quarantine(2, 1000, &clock);
  for (const uint64_t call : {1u, 2u, 3u}) quarantine.Put(call, kCrash);

  EXPECT_OK(quarantine.Find(1));
  EXPECT_THAT(quarantine.Find(2), HasCode(Code::kInternal));
  EXPECT_THAT(quarantine.Find(3), HasCode(Code::kInternal));
}

}  // namespace
}  // namespace rowfs
