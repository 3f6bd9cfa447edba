// Encodings byte by byte, and what they refuse.
#include "storage/lance/encoding.h"

#include <gtest/gtest.h>
#include <lz4.h>

#include <array>

#include "storage/lance/codec.h"
#include "storage/lance/json_binary.h"
#include "tests/support/status_matchers.h"

namespace rowfs {
namespace {

using lance::pb::CompressiveEncoding;

CompressiveEncoding Flat(uint64_t bits) {
  CompressiveEncoding encoding;
  encoding.mutable_flat()->set_bits_per_value(bits);
  return encoding;
}

Bytes FromHex(std::string_view hex) {
  Bytes bytes;
  for (size_t i = 0; i + 1 < hex.size(); i += 2) {
    bytes.push_back(static_cast<std::byte>(
        std::stoi(std::string(hex.substr(i, 2)), nullptr, 16)));
  }
  return bytes;
}

Result<std::vector<uint64_t>> DecodeBlock(const CompressiveEncoding& encoding,
                                          ByteSpan bytes, uint64_t count) {
  ROWFS_ASSIGN_OR_RETURN(const auto decoder, BlockDecoder::Make(encoding));
  ValueBlock block = decoder->NewBlock();
  ROWFS_RETURN_IF_ERROR(decoder->Decode(bytes, count, &block));
  return ToIntegers(block);
}

TEST(Encoding, FlatTakesExactlyItsBytes) {
  ASSERT_OK_AND_ASSIGN(const auto values,
                       DecodeBlock(Flat(16), FromHex("010002000300"), 3));

  EXPECT_EQ(values, (std::vector<uint64_t>{1, 2, 3}));
  EXPECT_EQ(DecodeBlock(Flat(16), FromHex("0100"), 2).status().code(),
            Code::kCorruption);
  EXPECT_EQ(DecodeBlock(Flat(16), {}, uint64_t{1} << 60).status().code(),
            Code::kResourceExhausted);
}

TEST(Encoding, RangeAndDeltaNeedNoBuffer) {
  CompressiveEncoding range;
  range.mutable_range()->set_uncompressed_bits_per_value(64);
  range.mutable_range()->set_start(5);
  range.mutable_range()->set_step(3);
  CompressiveEncoding delta;
  delta.mutable_delta()->set_uncompressed_bits_per_value(64);
  delta.mutable_delta()->set_base(1);
  *delta.mutable_delta()->mutable_deltas() = range;

  ASSERT_OK_AND_ASSIGN(const auto values, DecodeBlock(range, {}, 4));
  ASSERT_OK_AND_ASSIGN(const auto sums, DecodeBlock(delta, {}, 4));

  EXPECT_EQ(values, (std::vector<uint64_t>{5, 8, 11, 14}));
  EXPECT_EQ(sums, (std::vector<uint64_t>{1, 6, 14, 25}));
  range.mutable_range()->set_start(UINT64_MAX - 4);
  EXPECT_EQ(DecodeBlock(range, {}, 4).status().code(), Code::kCorruption);
}

TEST(Encoding, RunsOfABlockStandBehindTheSizeOfTheirValues) {
  CompressiveEncoding rle;
  *rle.mutable_rle()->mutable_values() = Flat(16);
  *rle.mutable_rle()->mutable_run_lengths() = Flat(8);
  const Bytes bytes = FromHex(
      "0400000000000000"
      "07000900"
      "0301");

  ASSERT_OK_AND_ASSIGN(const auto values, DecodeBlock(rle, bytes, 4));

  EXPECT_EQ(values, (std::vector<uint64_t>{7, 7, 7, 9}));
  EXPECT_FALSE(DecodeBlock(rle, bytes, 5).ok());  // runs make four
  EXPECT_FALSE(DecodeBlock(rle, ByteSpan(bytes).first(11), 4).ok());
  EXPECT_FALSE(DecodeBlock(rle, FromHex("ffffffffffffffff07000301"), 4).ok());
  EXPECT_FALSE(DecodeBlock(rle,
                           FromHex("02000000000000000700"
                                   "00"),
                           1)
                   .ok());
}

TEST(Encoding, BitPackedBlocksHaveTheirWidthInFront) {
  // Values 0..1023 of one bit each: lane by lane, rows in FastLanes order.
  CompressiveEncoding packed;
  packed.mutable_inline_bitpacking()->set_uncompressed_bits_per_value(8);
  Bytes bytes = FromHex("01");
  bytes.resize(1 + 128, std::byte{0x01});  // row 0 of each of 128 lanes

  ASSERT_OK_AND_ASSIGN(const auto values, DecodeBlock(packed, bytes, 1024));

  for (uint64_t i = 0; i < 1024; ++i) {
    ASSERT_EQ(values[i], i < 128 ? 1u : 0u) << i;
  }
  EXPECT_FALSE(DecodeBlock(packed, ByteSpan(bytes).first(100), 1024).ok());
  bytes[0] = std::byte{9};
  EXPECT_FALSE(DecodeBlock(packed, bytes, 1024).ok());
}

TEST(Encoding, StringBlocksCheckEveryOffset) {
  CompressiveEncoding strings;
  *strings.mutable_variable()->mutable_offsets() = Flat(32);
  const std::string good =
      "20000000"
      "14000000"
      "00000000"
      "01000000"
      "02000000"
      "6162";
  ASSERT_OK_AND_ASSIGN(const auto decoder, BlockDecoder::Make(strings));
  ValueBlock block = decoder->NewBlock();

  ASSERT_TRUE(decoder->Decode(FromHex(good), 2, &block).ok());

  EXPECT_EQ(AsText(block.data), "ab");
  EXPECT_EQ(block.offsets, (std::vector<uint64_t>{0, 1, 2}));
  for (const auto& [at, byte] : {std::pair<size_t, int>{0, 33},
                                 {4, 0},
                                 {4, 99},
                                 {8, 1},
                                 {12, 9},
                                 {16, 200}}) {
    Bytes bad = FromHex(good);
    bad[at] = static_cast<std::byte>(byte);
    ValueBlock out = decoder->NewBlock();
    EXPECT_EQ(decoder->Decode(bad, 2, &out).code(), Code::kCorruption) << at;
  }
}

TEST(Encoding, BombsAreRefusedBeforeTheyGrow) {
  Bytes lz4;
  AppendU32(&lz4, 1u << 30);
  AppendText(&lz4, "tiny");
  Bytes zstd;
  AppendU64(&zstd, uint64_t{1} << 40);
  AppendText(&zstd, "tiny");
  Bytes out;

  EXPECT_FALSE(DecompressLz4(lz4, kDecodedBytesMax, &out).ok());
  EXPECT_EQ(DecompressZstd(zstd, kDecodedBytesMax, &out).code(),
            Code::kResourceExhausted);
  EXPECT_LT(out.capacity(), 1u << 20);
}

TEST(Encoding, UnknownEncodingsAreUnsupported) {
  EXPECT_EQ(BlockDecoder::Make({}).status().code(), Code::kUnsupported);
  EXPECT_EQ(ChunkDecoder::Make({}).status().code(), Code::kUnsupported);
  EXPECT_EQ(CellDecoder::MakeFixed({}).status().code(), Code::kUnsupported);
  EXPECT_EQ(CellDecoder::MakeVariable({}).status().code(), Code::kUnsupported);
}

TEST(SymbolTable, ExpandsSymbolsAndEscapes) {
  Bytes table;
  AppendU64(&table, uint64_t{0x46535354} << 32 | uint64_t{1} << 24 | 2);
  AppendText(&table, "ab\0\0\0\0\0\0xyz\0\0\0\0\0");
  table.resize(8 + 16);
  std::memcpy(table.data() + 8, "ab", 2);
  std::memcpy(table.data() + 16, "xyz", 3);
  AppendU8(&table, 2);
  AppendU8(&table, 3);
  ASSERT_OK_AND_ASSIGN(const SymbolTable symbols, SymbolTable::Decode(table));
  Bytes out;

  ASSERT_TRUE(symbols.Expand(FromHex("0100ff4100"), 1000, &out).ok());

  EXPECT_EQ(AsText(out), "xyzabAab");
  EXPECT_EQ(symbols.Expand(FromHex("02"), 1000, &out).code(),
            Code::kCorruption);
  EXPECT_EQ(symbols.Expand(FromHex("ff"), 1000, &out).code(),
            Code::kCorruption);
  EXPECT_EQ(symbols.Expand(FromHex("0000"), 9, &out).code(),
            Code::kResourceExhausted);
}

TEST(JsonBinary, BecomesText) {
  const auto text = [](std::string_view hex) {
    const auto json = DecodeJsonBinary(FromHex(hex));
    return json.ok() ? json.value() : "error";
  };

  EXPECT_EQ(text("20000000"
                 "20000002"
                 "5007"),
            "7");
  EXPECT_EQ(text("20000000"
                 "20000002"
                 "40fe"),
            "-2");
  EXPECT_EQ(text("20000000"
                 "00000000"),
            "null");
  EXPECT_EQ(text("80000002"
                 "40000000"
                 "10000001"
                 "61"),
            "[true,\"a\"]");
  EXPECT_EQ(text("40000001"
                 "10000001"
                 "30000000"
                 "6b"),
            "{\"k\":false}");
  EXPECT_EQ(text("20000000"
                 "2000000a"
                 "70000000000000007b02"),
            "1.23");
  EXPECT_EQ(text("8fffffff"), "error");
  EXPECT_EQ(text("20000000"
                 "10000009"
                 "61"),
            "error");
  EXPECT_EQ(text(""), "error");
}

TEST(ValueBlocks, ItemsThatAreAllNullTakeNoBits) {
  ValueBlock block{.shape = ValueBlock::Shape::kList,
                   .count = 2,
                   .dimension = 3,
                   .has_item_validity = true};
  block.item_validity = Bytes(1);
  block.children.push_back(ValueBlock::Fixed(0));
  block.children[0].count = 6;
  const TypePtr type = MakeType(DataType{
      .id = TypeId::kFixedSizeList,
      .width = 3,
      .children = {{.name = "item", .type = MakeType(TypeId::kInt32)}}});

  ASSERT_OK_AND_ASSIGN(const Array array, ToArray(std::move(block), type));

  EXPECT_OK(Validate(array, "lists"));
  EXPECT_EQ(array.children[0].length, 6U);
  EXPECT_EQ(array.children[0].null_count, 6U);
}

}  // namespace
}  // namespace rowfs
