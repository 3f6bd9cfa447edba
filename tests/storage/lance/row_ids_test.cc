#include "storage/lance/row_ids.h"

#include "storage/lance/table.pb.h"
#include "tests/support/status_matchers.h"

namespace rowfs {
namespace {

namespace pb = lance::pb;

std::vector<uint64_t> All(const std::string& bytes, uint64_t count) {
  const auto ids = RowIdSequence::Decode(AsBytes(bytes), count);
  EXPECT_OK(ids);
  std::vector<uint64_t> out;
  for (uint64_t i = 0; ids.ok() && i < count; ++i) {
    out.push_back(ids.value().At(i));
  }
  return out;
}

TEST(RowIdSequence, ReadsEverySegmentForm) {
  pb::RowIdSequence message;
  auto* range = message.add_segments()->mutable_range();
  range->set_start(10);
  range->set_end(12);
  auto* holes = message.add_segments()->mutable_range_with_holes();
  holes->set_start(20);
  holes->set_end(27);
  holes->mutable_holes()->mutable_u16_array()->set_base(21);
  holes->mutable_holes()->mutable_u16_array()->set_offsets(
      std::string("\0\0\1\0\5\0", 6));  // 21, 22, 26
  auto* bitmap = message.add_segments()->mutable_range_with_bitmap();
  bitmap->set_start(100);
  bitmap->set_end(111);
  bitmap->set_bitmap("\x81\xfa");  // 100, 107, 109 and spare bits
  auto* array = message.add_segments()->mutable_array()->mutable_u32_array();
  array->set_base(1000);
  array->set_offsets(std::string("\7\0\0\0\0\0\0\0", 8));
  auto* sorted =
      message.add_segments()->mutable_sorted_array()->mutable_u64_array();
  sorted->set_values(std::string("\xff\xff\xff\xff\xff\xff\xff\xff", 8));

  const std::vector<uint64_t> expected = {
      10, 11, 20, 23, 24, 25, 100, 107, 109, 1007, 1000, UINT64_MAX};
  EXPECT_EQ(All(message.SerializeAsString(), 12), expected);
}

TEST(RowIdSequence, ReadsBackWhatItEncoded) {
  const std::vector<uint64_t> ids = {5, 6, 7,   8,   9,   3,
                                     1, 2, 100, 101, 102, 103};

  EXPECT_EQ(All(RowIdSequence::Encode(ids), ids.size()), ids);
  EXPECT_EQ(All(RowIdSequence::Encode({}), 0), std::vector<uint64_t>());
}

TEST(RowIdSequence, RefusesAnotherNumberOfIdsThanRows) {
  const std::string bytes = RowIdSequence::Encode({1, 2, 3, 4, 5});

  EXPECT_THAT(RowIdSequence::Decode(AsBytes(bytes), 4),
              HasCode(Code::kCorruption));
  EXPECT_THAT(RowIdSequence::Decode(AsBytes(bytes), 6),
              HasCode(Code::kCorruption));
}

TEST(RowIdSequence, RefusesSegmentsThatContradictThemselves) {
  pb::RowIdSequence backwards;
  backwards.add_segments()->mutable_range()->set_start(5);
  pb::RowIdSequence outside;
  auto* holes = outside.add_segments()->mutable_range_with_holes();
  holes->set_end(3);
  holes->mutable_holes()->mutable_u64_array()->set_values(
      std::string("\7\0\0\0\0\0\0\0", 8));
  pb::RowIdSequence short_bitmap;
  short_bitmap.add_segments()->mutable_range_with_bitmap()->set_end(9);
  pb::RowIdSequence unknown;
  unknown.add_segments();
  pb::RowIdSequence cut;
  cut.add_segments()->mutable_array()->mutable_u16_array()->set_offsets("abc");
  pb::RowIdSequence overflow;
  auto* array = overflow.add_segments()->mutable_array()->mutable_u16_array();
  array->set_base(UINT64_MAX);
  array->set_offsets(std::string("\1\0", 2));

  for (const auto& message :
       {backwards, outside, short_bitmap, unknown, cut, overflow}) {
    for (const uint64_t rows : {uint64_t{0}, uint64_t{1}, uint64_t{3}}) {
      EXPECT_THAT(
          RowIdSequence::Decode(AsBytes(message.SerializeAsString()), rows),
          HasCode(Code::kCorruption));
    }
  }
}

}  // namespace
}  // namespace rowfs
