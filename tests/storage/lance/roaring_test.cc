#include "storage/lance/roaring.h"

#include <random>
#include <set>

#include "tests/support/status_matchers.h"

namespace rowfs {
namespace {

constexpr uint64_t kNoLimit = uint64_t{1} << 32;

// Values in clumps, gaps and runs, so that every container kind occurs.
std::vector<uint32_t> RandomValues(uint32_t seed) {
  std::mt19937 engine(seed);
  const auto random = [&] { return static_cast<uint32_t>(engine()); };
  std::set<uint32_t> values;
  for (int i = 0; i < 6; ++i) {
    const uint32_t base = random() % 20 << 16;
    const uint32_t count = random() % 3 == 0 ? 20000 : random() % 200;
    const uint32_t spread = 1 + random() % 65536;
    for (uint32_t j = 0; j < count; ++j)
      values.insert(base + random() % spread);
  }
  return {values.begin(), values.end()};
}

// The same set with a run container where `key` is.
Bytes EncodeRuns(std::span<const std::pair<uint16_t, uint16_t>> runs,
                 uint32_t size) {
  Bytes out;
  AppendU32(&out, 12347);  // one container
  AppendU8(&out, 1);       // it has runs
  AppendU16(&out, 3);      // key
  AppendU16(&out, static_cast<uint16_t>(size - 1));
  AppendU16(&out, static_cast<uint16_t>(runs.size()));
  for (const auto& [start, length] : runs) {
    AppendU16(&out, start);
    AppendU16(&out, length);
  }
  return out;
}

TEST(RoaringBitmap, AnswersLikeASet) {
  for (uint32_t seed = 0; seed < 4; ++seed) {
    SCOPED_TRACE(seed);
    const std::vector<uint32_t> values = RandomValues(seed);
    const std::set<uint32_t> set(values.begin(), values.end());

    ASSERT_OK_AND_ASSIGN(
        const RoaringBitmap bitmap,
        RoaringBitmap::Decode(RoaringBitmap::FromSorted(values).Encode(),
                              kNoLimit, "b"));

    EXPECT_EQ(bitmap.ToVector(), values);
    EXPECT_EQ(bitmap.size(), values.size());
    uint64_t rank = 0;
    std::vector<uint64_t> absent;
    for (uint32_t i = 0; i < 150000; ++i) {
      EXPECT_TRUE(i % 997 != 0 || bitmap.Rank(i) == rank) << i;
      if (set.contains(i)) {
        EXPECT_TRUE(i % 101 != 0 || bitmap.Contains(i)) << i;
        ++rank;
      } else {
        absent.push_back(i);
      }
    }
    for (uint64_t k = 0; k < absent.size(); k += 503) {
      EXPECT_EQ(bitmap.SelectAbsent(k), absent[k]) << k;
    }
    EXPECT_EQ(bitmap.Rank(kNoLimit), values.size());
  }
}

TEST(RoaringBitmap, ReadsRuns) {
  const std::pair<uint16_t, uint16_t> runs[] = {{0, 2}, {10, 0}, {65530, 5}};

  ASSERT_OK_AND_ASSIGN(
      const RoaringBitmap bitmap,
      RoaringBitmap::Decode(EncodeRuns(runs, 10), kNoLimit, "b"));

  constexpr uint32_t kBase = 3 << 16;
  const std::vector<uint32_t> expected = {
      kBase,         kBase + 1,     kBase + 2,     kBase + 10,
      kBase + 65530, kBase + 65531, kBase + 65532, kBase + 65533,
      kBase + 65534, kBase + 65535};
  EXPECT_EQ(bitmap.ToVector(), expected);
  EXPECT_EQ(bitmap.SelectAbsent(kBase), kBase + 3);
  EXPECT_EQ(bitmap.SelectAbsent(kBase + 7), kBase + 11);
  EXPECT_EQ(bitmap.SelectAbsent(kBase - 1), kBase - 1);
  EXPECT_EQ(bitmap.Rank(kBase + 11), 4U);
  EXPECT_TRUE(bitmap.Contains(kBase + 65535));
  EXPECT_FALSE(bitmap.Contains(kBase + 9));
}

TEST(RoaringBitmap, RefusesRunsThatOverlapOverflowOrDoNotAddUp) {
  const std::pair<uint16_t, uint16_t> overlap[] = {{0, 5}, {3, 1}};
  const std::pair<uint16_t, uint16_t> overflow[] = {{65530, 6}};
  const std::pair<uint16_t, uint16_t> sum[] = {{0, 1}};

  for (const Bytes& bytes :
       {EncodeRuns(overlap, 8), EncodeRuns(overflow, 7), EncodeRuns(sum, 3)}) {
    EXPECT_THAT(RoaringBitmap::Decode(bytes, kNoLimit, "b"),
                HasCode(Code::kCorruption));
  }
}

TEST(RoaringBitmap, RefusesAValueAtTheLimit) {
  const std::vector<uint32_t> values = {1, 5, 99};
  const Bytes bytes = RoaringBitmap::FromSorted(values).Encode();

  EXPECT_OK(RoaringBitmap::Decode(bytes, 100, "b"));
  EXPECT_THAT(RoaringBitmap::Decode(bytes, 99, "b"),
              HasCode(Code::kCorruption));
}

TEST(RoaringBitmap, IsAnErrorCutAnywhere) {
  const Bytes bytes = RoaringBitmap::FromSorted(RandomValues(2)).Encode();

  for (size_t size = 0; size < bytes.size(); size += 1 + size / 40) {
    EXPECT_THAT(
        RoaringBitmap::Decode(ByteSpan(bytes).first(size), kNoLimit, "b"),
        HasCode(Code::kCorruption))
        << size;
  }
}

TEST(RoaringBitmap, SurvivesFlippedBits) {
  const std::vector<uint32_t> values = {1, 5, 99, 70000, 70001};
  const Bytes bytes = RoaringBitmap::FromSorted(values).Encode();

  for (size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    Bytes broken = bytes;
    broken[bit / 8] ^= std::byte{1} << (bit % 8);
    const auto read = RoaringBitmap::Decode(broken, kNoLimit, "b");
    EXPECT_TRUE(!read.ok() || read.value().ToVector().size() == 5) << bit;
  }
}

TEST(RoaringBitmap, OfNothingIsEmpty) {
  ASSERT_OK_AND_ASSIGN(
      const RoaringBitmap bitmap,
      RoaringBitmap::Decode(RoaringBitmap::FromSorted({}).Encode(), 0, "b"));

  EXPECT_EQ(bitmap.size(), 0U);
  EXPECT_EQ(bitmap.SelectAbsent(7), 7U);
  EXPECT_EQ(bitmap.Rank(100), 0U);
}

}  // namespace
}  // namespace rowfs
