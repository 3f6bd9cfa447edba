#include "storage/read/range_planner.h"

#include <random>

#include "tests/support/status_matchers.h"

namespace rowfs {
namespace {

using Ranges = std::vector<ByteRange>;

TEST(RangePlanner, MergesRangesThatTouchOrOverlap) {
  const Ranges wanted = {{20, 30}, {0, 10}, {10, 20}, {25, 40}, {50, 60}};

  const RangePlan plan = PlanRanges(wanted, {});

  EXPECT_EQ(plan.requests, (Ranges{{0, 40}, {50, 60}}));
  EXPECT_EQ(plan.slices[0].offset, 20U);
  EXPECT_EQ(plan.slices[3].offset, 25U);
  EXPECT_EQ(plan.slices[4].request, 1U);
}

TEST(RangePlanner, ReadsThroughAHoleSmallerThanTheLimit) {
  const Ranges wanted = {{0, 10}, {15, 20}, {26, 30}};

  const RangePlan plan = PlanRanges(wanted, {.gap_bytes_max = 5});

  EXPECT_EQ(plan.requests, (Ranges{{0, 20}, {26, 30}}));
}

TEST(RangePlanner, StopsMergingAtTheRequestLimit) {
  const Ranges wanted = {{0, 10}, {10, 20}, {20, 30}, {40, 90}};

  const RangePlan plan = PlanRanges(wanted, {.request_bytes_max = 20});

  EXPECT_EQ(plan.requests, (Ranges{{0, 20}, {20, 30}, {40, 90}}));
}

TEST(RangePlanner, EmptyRangesCostNothing) {
  const Ranges wanted = {{5, 5}, {7, 7}};

  const RangePlan plan = PlanRanges(wanted, {});

  EXPECT_TRUE(plan.requests.empty());
  EXPECT_EQ(plan.slices.size(), 2U);
}

TEST(RangePlanner, SurvivesRangesAtTheEndOfTheNumbers) {
  const Ranges wanted = {{UINT64_MAX - 5, UINT64_MAX}, {0, 1}};

  const RangePlan plan = PlanRanges(wanted, {.gap_bytes_max = 10});

  EXPECT_EQ(plan.requests, (Ranges{{0, 1}, {UINT64_MAX - 5, UINT64_MAX}}));
}

// Covers every wanted byte, requests are sorted and disjoint, and no more than
// a gap a merge is wasted.
TEST(RangePlanner, HoldsItsPromisesOnRandomRanges) {
  std::mt19937 random(7);
  for (int round = 0; round < 500; ++round) {
    Ranges wanted(random() % 20);
    for (ByteRange& range : wanted) {
      range.begin = random() % 1000;
      range.end = range.begin + random() % 50;
    }
    const PlanLimits limits{.gap_bytes_max = random() % 30,
                            .request_bytes_max = 1 + random() % 200};

    const RangePlan plan = PlanRanges(wanted, limits);

    std::vector<bool> useful(1100);
    for (size_t i = 0; i < wanted.size(); ++i) {
      if (wanted[i].empty()) continue;
      const ByteRange& request = plan.requests[plan.slices[i].request];
      ASSERT_TRUE(request.Contains(wanted[i]));
      ASSERT_EQ(request.begin + plan.slices[i].offset, wanted[i].begin);
      for (uint64_t k = wanted[i].begin; k < wanted[i].end; ++k) {
        useful[k] = true;
      }
    }
    for (size_t i = 0; i < plan.requests.size(); ++i) {
      const ByteRange& request = plan.requests[i];
      uint64_t hole = 0;
      for (uint64_t k = request.begin; k < request.end; ++k) {
        hole = useful[k] ? 0 : hole + 1;
        ASSERT_LE(hole, limits.gap_bytes_max);
      }
      ASSERT_LE(i == 0 ? 0 : plan.requests[i - 1].end, request.begin);
    }
  }
}

}  // namespace
}  // namespace rowfs
