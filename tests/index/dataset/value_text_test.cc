#include "index/dataset/value_text.h"

#include <cmath>
#include <limits>

#include "index/dataset/temporal_text.h"
#include "tests/support/status_matchers.h"

namespace rowfs {
namespace {

TypePtr ListOf(TypeId id, uint32_t width = 0) {
  DataType type;
  type.id = width == 0 ? TypeId::kList : TypeId::kFixedSizeList;
  type.width = width;
  type.children.push_back({.name = "item", .type = MakeType(id)});
  return MakeType(std::move(type));
}

std::string Text(const Array& array, uint64_t index = 0) {
  return WriteJson(ValueJson(array, index, {}));
}

template <typename T>
Array Fixed(TypePtr type, T value) {
  ArrayBuilder builder(std::move(type));
  builder.AppendFixed(std::as_bytes(std::span(&value, 1)));
  return builder.Finish();
}

TEST(ValueJson, KeepsEveryDigitOfAnInteger) {
  EXPECT_EQ(Text(Fixed<int64_t>(MakeType(TypeId::kInt64), INT64_MIN)),
            "-9223372036854775808");
  EXPECT_EQ(Text(Fixed<uint64_t>(MakeType(TypeId::kUint64), UINT64_MAX)),
            "18446744073709551615");
}

TEST(ValueJson, WritesFloatsShortestAndNamesWhatJsonLacks) {
  EXPECT_EQ(Text(Fixed(MakeType(TypeId::kFloat), 0.1F)), "0.1");
  EXPECT_EQ(Text(Fixed(MakeType(TypeId::kDouble), 0.1)), "0.1");
  EXPECT_EQ(Text(Fixed(MakeType(TypeId::kDouble), -0.0)), "-0.0");
  EXPECT_EQ(Text(Fixed(MakeType(TypeId::kDouble), std::nan(""))), "\"NaN\"");
  EXPECT_EQ(Text(Fixed(MakeType(TypeId::kFloat),
                       -std::numeric_limits<float>::infinity())),
            "\"-Infinity\"");
}

TEST(ValueJson, WritesHalvesByTheirOwnPrecision) {
  const auto half = [](uint16_t bits) {
    return Text(Fixed<uint16_t>(MakeType(TypeId::kHalfFloat), bits));
  };

  EXPECT_EQ(half(0x2E66), "0.1");  // numpy prints float16(0.1) as 0.1
  EXPECT_EQ(half(0x3C00), "1");
  EXPECT_EQ(half(0x7BFF), "65500");
  EXPECT_EQ(half(0x0001), "6e-08");
  EXPECT_EQ(half(0xFC00), "\"-Infinity\"");
}

TEST(ValueJson, WritesDecimalsAsStrings) {
  DataType type;
  type.id = TypeId::kDecimal128;
  type.precision = 38;
  type.scale = 3;
  const std::array<uint64_t, 2> minus_one = {UINT64_MAX, UINT64_MAX};
  const std::array<uint64_t, 2> large = {12345, 0};

  EXPECT_EQ(Text(Fixed(MakeType(type), minus_one)), "\"-0.001\"");
  EXPECT_EQ(Text(Fixed(MakeType(type), large)), "\"12.345\"");
}

TEST(ValueJson, WritesBinaryAsBase64AndInvalidTextAsReplacement) {
  ArrayBuilder binary(MakeType(TypeId::kBinary));
  binary.AppendBytes(AsBytes(std::string_view("\0\xFF", 2)));
  ArrayBuilder text(MakeType(TypeId::kString));
  text.AppendBytes(AsBytes("a\xFF\n"));

  EXPECT_EQ(Text(binary.Finish()), "\"AP8=\"");
  EXPECT_EQ(Text(text.Finish()), "\"a\xEF\xBF\xBD\\n\"");
}

TEST(ValueJson, WritesWhatEndsALineForSomeReadersAsEscapes) {
  ArrayBuilder text(MakeType(TypeId::kString));
  text.AppendBytes(AsBytes("a\u0085b\u2028c\u2029d\u2027"));
  EXPECT_EQ(Text(text.Finish()), "\"a\\u0085b\\u2028c\\u2029d\u2027\"");
}

TEST(ValueJson, TellsNullFromEmptyInLists) {
  ArrayBuilder list(ListOf(TypeId::kInt32));
  list.AppendNull();
  list.AppendValid();
  list.child(0).AppendInt(1);
  list.child(0).AppendNull();
  list.AppendValid();
  const Array array = list.Finish();

  EXPECT_EQ(Text(array, 0), "null");
  EXPECT_EQ(Text(array, 1), "[]");
  EXPECT_EQ(Text(array, 2), "[1, null]");
}

TEST(TemporalText, WritesIso8601) {
  EXPECT_EQ(DateText(0), "1970-01-01");
  EXPECT_EQ(DateText(-1), "1969-12-31");
  EXPECT_EQ(DateText(19782), "2024-02-29");
  EXPECT_EQ(TimestampText(-1, TimeUnit::kNano, ""),
            "1969-12-31T23:59:59.999999999");
  EXPECT_EQ(TimestampText(INT64_MIN, TimeUnit::kNano, "UTC"),
            "1677-09-21T00:12:43.145224192Z");
  EXPECT_EQ(TimestampText(1500, TimeUnit::kMilli, "Europe/Berlin"),
            "1970-01-01T00:00:01.5Z[Europe/Berlin]");
  EXPECT_EQ(DurationText(1500, TimeUnit::kMilli), "PT1.5S");
  EXPECT_EQ(DurationText(-1, TimeUnit::kMicro), "-PT0.000001S");
  EXPECT_EQ(TimeText(45'296'789, TimeUnit::kMilli), "12:34:56.789");
}

TEST(NpyBytes, WritesAVectorThatNumpyReads) {
  ArrayBuilder builder(ListOf(TypeId::kFloat, 2));
  builder.child(0).AppendDouble(1);
  builder.child(0).AppendNull();
  builder.AppendValid();
  const Array array = builder.Finish();

  ASSERT_OK_AND_ASSIGN(const Bytes bytes, NpyBytes(array, 0));

  EXPECT_EQ(bytes.size(), NpySize(*array.type));
  EXPECT_EQ((bytes.size() - 8) % 64, 0U);
  EXPECT_NE(AsText(bytes).find("'<f4'"), std::string_view::npos);
  EXPECT_NE(AsText(bytes).find("(2,)"), std::string_view::npos);
  EXPECT_EQ(LoadU32(ByteSpan(bytes).last(8)), 0x3F800000U);
  EXPECT_EQ(LoadU32(ByteSpan(bytes).last(4)), 0x7FC00000U);
}

TEST(NpyBytes, RefusesANullInteger) {
  ArrayBuilder builder(ListOf(TypeId::kInt32, 1));
  builder.child(0).AppendNull();
  builder.AppendValid();
  const Array array = builder.Finish();

  EXPECT_THAT(NpyBytes(array, 0), HasCode(Code::kUnsupported));
}

}  // namespace
}  // namespace rowfs
