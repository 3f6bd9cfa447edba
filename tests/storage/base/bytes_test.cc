#include "storage/base/bytes.h"

#include "tests/support/status_matchers.h"

namespace rowfs {
namespace {

TEST(Cursor, ReadsLittleEndianAndStopsAtTheEnd) {
  const Bytes bytes = {std::byte{0x34}, std::byte{0x12}, std::byte{0xff}};
  Cursor cursor(bytes, "thing");

  ASSERT_OK_AND_ASSIGN(const uint16_t value, cursor.U16());

  EXPECT_EQ(value, 0x1234);
  EXPECT_THAT(cursor.U16(), HasCode(Code::kCorruption));
}

TEST(Cursor, RefusesAVarintAbove64Bits) {
  const Bytes bytes(11, std::byte{0xff});
  Cursor cursor(bytes, "thing");

  EXPECT_THAT(cursor.Varint(), HasCode(Code::kCorruption));
}

TEST(Cursor, ReadsBackWhatWasAppended) {
  Bytes bytes;
  AppendVarint(&bytes, UINT64_MAX);
  AppendZigzag(&bytes, INT64_MIN);
  AppendZigzag(&bytes, -1);
  Cursor cursor(bytes, "thing");

  EXPECT_EQ(cursor.Varint().value(), UINT64_MAX);
  EXPECT_EQ(cursor.Zigzag().value(), INT64_MIN);
  EXPECT_EQ(cursor.Zigzag().value(), -1);
  EXPECT_TRUE(cursor.AtEnd());
}

TEST(Slice, RefusesARangeThatOverflows) {
  const Bytes bytes(10);

  EXPECT_THAT(Slice(bytes, 5, UINT64_MAX, "thing"), HasCode(Code::kCorruption));
  EXPECT_EQ(Slice(bytes, 10, 0, "thing").value().size(), 0U);
}

}  // namespace
}  // namespace rowfs
