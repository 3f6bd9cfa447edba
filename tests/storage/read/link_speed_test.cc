#include "storage/read/link_speed.h"

#include <gtest/gtest.h>

namespace rowfs {
namespace {

constexpr int64_t kMs = 1'000'000;

TEST(LinkSpeed, AnUnknownStoreGetsTheUsualGap) {
  EXPECT_EQ(LinkSpeed().GapBytes(), 64U << 10);
}

TEST(LinkSpeed, TheGapIsLatencyTimesBandwidthOfOneLane) {
  LinkSpeed speed;
  speed.Add(1000, 32 * kMs);
  // 1 MB in 10 ms behind the latency: 100 bytes a microsecond.
  speed.Add(1'000'000, 42 * kMs);

  EXPECT_EQ(speed.GapBytes(), 32U * 100'000 / 16);
}

TEST(LinkSpeed, AFarStoreGetsALargerGapThanANearOne) {
  LinkSpeed near;
  LinkSpeed far;
  near.Add(1000, kMs);
  far.Add(1000, 60 * kMs);

  EXPECT_EQ(near.GapBytes(), 16U << 10);
  EXPECT_GT(far.GapBytes(), 200U << 10);
}

TEST(LinkSpeed, OneSlowAnswerDoesNotDecide) {
  LinkSpeed speed;
  for (int i = 0; i < 20; ++i) speed.Add(1000, 10 * kMs);
  const uint64_t before = speed.GapBytes();
  speed.Add(1000, 30 * kMs);

  EXPECT_LT(speed.GapBytes(), before * 3 / 2);
  speed.Add(1000, INT64_MAX);
  EXPECT_LE(speed.GapBytes(), 512U << 10);
}

}  // namespace
}  // namespace rowfs
