#include "storage/read/readahead.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace rowfs {
namespace {

constexpr uint64_t kSize = uint64_t{1} << 30;
constexpr uint64_t kRead = 128 << 10;

TEST(Readahead, TwoReadsBringNothing) {
  Readahead ahead;

  EXPECT_TRUE(ahead.Note({0, kRead}, kSize).empty());
  EXPECT_TRUE(ahead.Note({kRead, 2 * kRead}, kSize).empty());
}

TEST(Readahead, APassIsBroughtAheadInGrowingStrides) {
  Readahead ahead;
  uint64_t asked = 0;
  uint64_t end = 0;
  for (uint64_t at = 0; at < 64 * kRead; at += kRead) {
    const ByteRange more = ahead.Note({at, at + kRead}, kSize);
    if (more.empty()) continue;
    ++asked;
    EXPECT_GE(more.begin, at + kRead);
    EXPECT_GE(more.begin, end);
    end = more.end;
    EXPECT_LE(end, 2 * (at + kRead));
  }

  EXPECT_GE(end, 64 * kRead);
  EXPECT_LT(asked, 16U);
}

TEST(Readahead, RandomReadsBringNothing) {
  Readahead ahead;
  std::mt19937_64 random(7);
  for (int i = 0; i < 1000; ++i) {
    const uint64_t at = random() % (kSize / 20'000) * 20'000;
    EXPECT_TRUE(ahead.Note({at, at + 20'000}, kSize).empty()) << i;
  }
}

TEST(Readahead, PassesSideBySideAreToldApart) {
  Readahead ahead;
  int brought[2] = {0, 0};
  for (uint64_t i = 0; i < 16; ++i) {
    for (const uint64_t pass : {0U, 1U}) {
      const uint64_t at = pass * (kSize / 2) + i * kRead;
      const ByteRange more = ahead.Note({at, at + kRead}, kSize);
      if (more.empty()) continue;
      ++brought[pass];
      EXPECT_EQ(more.begin / (kSize / 2), pass);
    }
  }

  EXPECT_GT(brought[0], 0);
  EXPECT_GT(brought[1], 0);
}

TEST(Readahead, ReadsALittleOutOfOrderAreOnePass) {
  Readahead ahead;
  uint64_t end = 0;
  const std::vector<uint64_t> order = {0, 2, 1, 3, 5, 4, 6, 7, 8, 9, 10, 11};
  for (const uint64_t i : order) {
    const ByteRange more = ahead.Note({i * kRead, (i + 1) * kRead}, kSize);
    end = std::max(end, more.end);
  }

  EXPECT_GT(end, 12 * kRead);
}

TEST(Readahead, NothingIsBroughtBehindTheEnd) {
  Readahead ahead;
  const uint64_t size = 5 * kRead + 7;
  uint64_t end = 0;
  for (uint64_t at = 0; at < size; at += kRead) {
    const ByteRange more = ahead.Note({at, std::min(size, at + kRead)}, size);
    end = std::max(end, more.end);
  }

  EXPECT_EQ(end, size);
}

}  // namespace
}  // namespace rowfs
