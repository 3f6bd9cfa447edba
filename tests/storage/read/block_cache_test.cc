#include "storage/read/block_cache.h"

#include <atomic>
#include <optional>
#include <random>
#include <thread>

#include "storage/base/thread_pool.h"
#include "tests/support/status_matchers.h"

namespace rowfs {
namespace {

// An object whose byte i is i * 31 + i / 256, and what was fetched of it.
class Source {
 public:
  Status Fetch(ByteRange range, MutableByteSpan out) {
    ranges.push_back(range);
    if (!failure.ok()) return failure;
    for (uint64_t i = range.begin; i < range.end; ++i) {
      out[i - range.begin] = At(i);
    }
    return {};
  }
  static std::byte At(uint64_t i) {
    return static_cast<std::byte>(i * 31 + i / 256);
  }

  std::vector<ByteRange> ranges;
  Status failure;
};

// Reads through `cache` and checks the bytes.
Status ReadAndCheck(BlockCache& cache, Source& source, ByteRange range,
                    ReadKind kind = ReadKind::kData,
                    const std::string& key = "object") {
  Bytes out(range.size());
  const auto hit = cache.Read(key, range, kind, out,
                              [&](ByteRange wanted, MutableByteSpan bytes) {
                                return source.Fetch(wanted, bytes);
                              });
  if (!hit.ok()) return hit.status();
  for (uint64_t i = range.begin; i < range.end; ++i) {
    if (out[i - range.begin] != Source::At(i)) {
      return {Code::kInternal, "wrong byte at " + std::to_string(i)};
    }
  }
  return {};
}

using Ranges = std::vector<ByteRange>;

TEST(BlockCache, FetchesExactlyWhatWasAskedFor) {
  BlockCache cache(4 << 20);
  Source source;

  ASSERT_OK(ReadAndCheck(cache, source, {100, 300'000}));
  ASSERT_OK(ReadAndCheck(cache, source, {100, 300'000}));
  ASSERT_OK(ReadAndCheck(cache, source, {131'072, 131'073}));

  EXPECT_EQ(source.ranges, (Ranges{{100, 300'000}}));
}

TEST(BlockCache, AsksOnlyForTheMissingPart) {
  BlockCache cache(1 << 20);
  Source source;

  ASSERT_OK(ReadAndCheck(cache, source, {100, 200}));
  ASSERT_OK(ReadAndCheck(cache, source, {150, 250}));
  ASSERT_OK(ReadAndCheck(cache, source, {50, 120}));
  ASSERT_OK(ReadAndCheck(cache, source, {400, 500}));
  ASSERT_OK(ReadAndCheck(cache, source, {200, 450}));

  EXPECT_EQ(
      source.ranges,
      (Ranges{{100, 200}, {200, 250}, {50, 100}, {400, 500}, {250, 400}}));
}

TEST(BlockCache, KeepsObjectsApart) {
  BlockCache cache(1 << 20);
  Source source;

  ASSERT_OK(ReadAndCheck(cache, source, {0, 10}, ReadKind::kData, "a"));
  ASSERT_OK(ReadAndCheck(cache, source, {0, 10}, ReadKind::kData, "b"));

  EXPECT_EQ(source.ranges.size(), 2U);
}

TEST(BlockCache, StaysWithinItsBudget) {
  BlockCache cache(1 << 20);
  Source source;

  for (uint64_t i = 0; i < 100; ++i) {
    ASSERT_OK(ReadAndCheck(cache, source, {i * 100'000, i * 100'000 + 50'000}));
    ASSERT_LE(cache.bytes(), uint64_t{1} << 20);
  }

  source.ranges.clear();
  ASSERT_OK(ReadAndCheck(cache, source, {9'900'000, 9'950'000}));
  EXPECT_TRUE(source.ranges.empty());
  ASSERT_OK(ReadAndCheck(cache, source, {0, 50'000}));
  EXPECT_EQ(source.ranges, (Ranges{{0, 50'000}}));
}

TEST(BlockCache, AReadLargerThanTheBudgetIsServedAndNotKept) {
  BlockCache cache(100'000);
  Source source;

  ASSERT_OK(ReadAndCheck(cache, source, {0, 1'000'000}));

  EXPECT_EQ(cache.bytes(), 0U);
}

TEST(BlockCache, DataDoesNotPushMetadataOut) {
  BlockCache cache(1 << 20);
  Source source;
  ASSERT_OK(
      ReadAndCheck(cache, source, {0, 100'000}, ReadKind::kMetadata, "m"));

  for (uint64_t i = 0; i < 50; ++i) {
    ASSERT_OK(ReadAndCheck(cache, source, {i * 100'000, i * 100'000 + 90'000}));
  }

  source.ranges.clear();
  ASSERT_OK(
      ReadAndCheck(cache, source, {0, 100'000}, ReadKind::kMetadata, "m"));
  EXPECT_TRUE(source.ranges.empty());
}

TEST(BlockCache, FailuresAreNotKept) {
  BlockCache cache(1 << 20);
  Source source;
  source.failure = Status(Code::kUnavailable, "down");

  EXPECT_THAT(ReadAndCheck(cache, source, {0, 10}),
              HasCode(Code::kUnavailable));
  source.failure = {};
  EXPECT_OK(ReadAndCheck(cache, source, {0, 10}));
}

// The first reader's fetch waits until all others have come to read the same.
TEST(BlockCache, ReadersOfBytesInFlightShareOneFetch) {
  BlockCache cache(1 << 20);
  ThreadPool pool(8, 100);
  std::atomic<int> started{0};
  std::atomic<int> fetches{0};
  const auto fetch = [&](ByteRange range, MutableByteSpan out) -> Status {
    ++fetches;
    while (started < 8) std::this_thread::yield();
    for (uint64_t i = 0; i < out.size(); ++i) {
      out[i] = Source::At(range.begin + i);
    }
    return {};
  };
  std::vector<std::function<Status()>> tasks(8, [&]() -> Status {
    Bytes out(1000);
    ++started;
    ROWFS_RETURN_IF_ERROR(
        cache.Read("o", {500, 1500}, ReadKind::kData, out, fetch).status());
    return out[0] == Source::At(500) ? Status() : Status(Code::kInternal, "");
  });

  EXPECT_OK(RunAll(pool, tasks));

  EXPECT_EQ(fetches, 1);
}

TEST(BlockCache, ServesRightBytesToManyThreadsUnderEviction) {
  BlockCache cache(200'000);
  ThreadPool pool(8, 100);
  std::vector<std::function<Status()>> tasks;
  for (unsigned seed = 0; seed < 8; ++seed) {
    tasks.emplace_back([&cache, seed]() -> Status {
      std::mt19937 random(seed);
      Source source;
      for (int i = 0; i < 300; ++i) {
        const uint64_t begin = random() % 400'000;
        const uint64_t size = 1 + random() % 40'000;
        ROWFS_RETURN_IF_ERROR(
            ReadAndCheck(cache, source, {begin, begin + size}));
      }
      return {};
    });
  }

  EXPECT_OK(RunAll(pool, tasks));

  EXPECT_LE(cache.bytes(), 200'000U);
  cache.Clear();
  EXPECT_EQ(cache.bytes(), 0U);
}

// Half of what is brought ahead is there, the other half waits for `go_on`.
class Half {
 public:
  static constexpr ByteRange kRange{0, 100'000};

  Half(BlockCache& cache, Status end) : end_(std::move(end)) {
    thread_ = std::thread([this, &cache] {
      loaded_ = cache.Load("object", kRange, true,
                           [this](ByteRange range, MutableByteSpan out,
                                  const ReadProgress& progress) {
                             return Fetch(range, out, progress);
                           });
    });
    while (!told_) std::this_thread::yield();
  }
  ~Half() { static_cast<void>(Finish()); }
  Half(const Half&) = delete;
  Half& operator=(const Half&) = delete;

  Status Finish() {
    go_on_ = true;
    if (thread_.joinable()) thread_.join();
    return loaded_ ? loaded_->status() : Status();
  }

 private:
  Status Fetch(ByteRange range, MutableByteSpan out,
               const ReadProgress& progress) {
    Source source;
    const uint64_t middle = range.size() / 2;
    ROWFS_RETURN_IF_ERROR(
        source.Fetch({range.begin, range.begin + middle}, out.first(middle)));
    progress(middle);
    told_ = true;
    while (!go_on_) std::this_thread::yield();
    ROWFS_RETURN_IF_ERROR(
        source.Fetch({range.begin + middle, range.end}, out.subspan(middle)));
    return end_;
  }

  const Status end_;
  std::atomic<bool> told_{false};
  std::atomic<bool> go_on_{false};
  std::optional<Result<CacheResult>> loaded_;
  std::thread thread_;
};

TEST(BlockCache, WhatHasArrivedAheadIsReadBeforeTheRest) {
  BlockCache cache(1 << 20);
  Source source;
  Half half(cache, {});

  ASSERT_OK(ReadAndCheck(cache, source, {0, 50'000}));
  ASSERT_OK(ReadAndCheck(cache, source, {49'000, 50'000}));
  ASSERT_OK(half.Finish());
  ASSERT_OK(ReadAndCheck(cache, source, {0, 100'000}));

  EXPECT_TRUE(source.ranges.empty());
}

TEST(BlockCache, WhatArrivedBeforeAFailureWasServedAndIsNotKept) {
  BlockCache cache(1 << 20);
  Source source;
  const Status failure(Code::kUnavailable, "gone");
  Half half(cache, failure);

  ASSERT_OK(ReadAndCheck(cache, source, {0, 50'000}));
  EXPECT_THAT(half.Finish(), HasCode(Code::kUnavailable));
  EXPECT_TRUE(source.ranges.empty());

  ASSERT_OK(ReadAndCheck(cache, source, {0, 50'000}));
  EXPECT_EQ(source.ranges, (Ranges{{0, 50'000}}));
}

// Loads and says what was fetched of it.
Ranges LoadAhead(BlockCache& cache, ByteRange range) {
  Source source;
  EXPECT_OK(
      cache
          .Load("object", range, false,
                [&](ByteRange wanted, MutableByteSpan out,
                    const ReadProgress&) { return source.Fetch(wanted, out); })
          .status());
  return source.ranges;
}

TEST(BlockCache, OnlyWhatIsMissingIsBroughtAhead) {
  BlockCache cache(4 << 20);
  Source source;
  ASSERT_OK(ReadAndCheck(cache, source, {0, 300'000}));

  EXPECT_EQ(LoadAhead(cache, {100'000, 400'000}), (Ranges{{300'000, 400'000}}));
  EXPECT_EQ(LoadAhead(cache, {100'000, 400'000}), Ranges{});
}

TEST(BlockCache, NothingWaitsForAnotherReadToBringMoreAhead) {
  BlockCache cache(1 << 20);
  Half half(cache, {});

  EXPECT_EQ(LoadAhead(cache, {50'000, 150'000}), (Ranges{{100'000, 150'000}}));
  EXPECT_EQ(LoadAhead(cache, {10'000, 90'000}), Ranges{});
}

TEST(BlockCache, WhatIsBroughtAheadTakesAQuarterAndGoesOnceItWasRead) {
  BlockCache cache(4 << 20);
  Source source;
  ASSERT_OK(ReadAndCheck(cache, source, {10 << 20, 11 << 20}));
  source.ranges.clear();

  constexpr uint64_t kPart = 300'000;
  for (uint64_t i = 0; i < 3; ++i) {
    LoadAhead(cache, {i * kPart, (i + 1) * kPart});
  }
  ASSERT_OK(ReadAndCheck(cache, source, {kPart, 2 * kPart}));
  LoadAhead(cache, {3 * kPart, 4 * kPart});

  // The one that was read is gone, those that were not are there.
  ASSERT_OK(ReadAndCheck(cache, source, {0, kPart}));
  ASSERT_OK(ReadAndCheck(cache, source, {2 * kPart, 4 * kPart}));
  ASSERT_OK(ReadAndCheck(cache, source, {10 << 20, 11 << 20}));
  EXPECT_TRUE(source.ranges.empty());
  ASSERT_OK(ReadAndCheck(cache, source, {kPart, 2 * kPart}));
  EXPECT_EQ(source.ranges.size(), 1U);
}

TEST(BlockCache, PiecesAreWhatTheCacheHolds) {
  BlockCache cache(4 << 20);
  const auto fetch = [](ByteRange wanted, MutableByteSpan bytes) {
    Source source;
    return source.Fetch(wanted, bytes);
  };
  const auto read = [&](ByteRange range) {
    std::vector<SharedSpan> pieces;
    EXPECT_OK(cache.ReadPieces("object", range, ReadKind::kData, fetch, &pieces)
                  .status());
    return pieces;
  };
  const auto first = read({100, 20'000});
  const auto again = read({1000, 2000});

  ASSERT_EQ(first.size(), 1U);
  ASSERT_EQ(again.size(), 1U);
  EXPECT_EQ(again[0].bytes.data(), first[0].bytes.data() + 900);
  cache.Clear();
  EXPECT_EQ(again[0].bytes[0], Source::At(1000));
}

}  // namespace
}  // namespace rowfs
