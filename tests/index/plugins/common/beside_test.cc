#include "index/plugins/common/beside.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <stdexcept>

namespace rowfs::plugin {
namespace {

TEST(Beside, AllIsDoneWhenFinishReturns) {
  std::array<int, 100> done{};
  Beside beside;
  for (int& task : done) {
    beside.Add([&task](size_t lane) {
      EXPECT_LT(lane, Beside::kLanes);
      ++task;
    });
  }
  beside.Finish();
  EXPECT_EQ(0u, beside.waiting());
  for (const int times : done) EXPECT_EQ(1, times);
  EXPECT_FALSE(beside.RunOne());
}

TEST(Beside, TwoTasksOfALaneNeverRunAtTheSameTime) {
  std::array<std::atomic<int>, Beside::kLanes> running{};
  Beside beside;
  for (int i = 0; i < 500; ++i) {
    beside.Add([&running](size_t lane) {
      EXPECT_EQ(0, running[lane]++);
      --running[lane];
    });
  }
  beside.Finish();
}

TEST(Beside, WhatATaskThrowsComesOutOfFinishOnce) {
  std::atomic<int> others{0};
  Beside beside;
  beside.Add([](size_t) { throw std::runtime_error("no"); });
  beside.Add([&others](size_t) { ++others; });
  EXPECT_THROW(beside.Finish(), std::runtime_error);
  beside.Finish();
  EXPECT_EQ(1, others);
}

TEST(Beside, TasksNobodyBeganAreForgottenWithTheirCall) {
  std::atomic<int> begun{0};
  std::atomic<int> ended{0};
  {
    Beside beside;
    for (int i = 0; i < 100; ++i) {
      beside.Add([&](size_t) {
        ++begun;
        ++ended;
      });
    }
  }
  EXPECT_EQ(begun, ended);
}

}  // namespace
}  // namespace rowfs::plugin
