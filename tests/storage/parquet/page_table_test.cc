#include "storage/parquet/page_table.h"

#include "storage/parquet/page_header.h"
#include "tests/support/status_matchers.h"

namespace rowfs {
namespace {

// {1: type 0, 2: 10, 3: 8, 5: {1: 3, 2: 0, 3: 3, 4: 3}}
const std::vector<uint8_t> kDataHeader = {0x15, 0x00, 0x15, 0x14, 0x15, 0x10,
                                          0x2C, 0x15, 0x06, 0x15, 0x00, 0x15,
                                          0x06, 0x15, 0x06, 0x00, 0x00};

ByteSpan Span(const std::vector<uint8_t>& bytes) {
  return FromU8(bytes.data(), bytes.size());
}

TEST(PageHeader, TellsKindSizeAndValues) {
  ASSERT_OK_AND_ASSIGN(const PageHeader header,
                       ParsePageHeader(Span(kDataHeader)));

  EXPECT_EQ(header.kind, PageHeader::Kind::kData);
  EXPECT_EQ(header.header_size, kDataHeader.size());
  EXPECT_EQ(header.compressed_size, 8U);
  EXPECT_EQ(header.value_count, 3U);
  EXPECT_FALSE(header.row_count);
}

TEST(PageHeader, WantsMoreWhenTheBytesEndInsideIt) {
  for (size_t size = 0; size < kDataHeader.size(); ++size) {
    EXPECT_THAT(ParsePageHeader(Span(kDataHeader).first(size)),
                HasCode(Code::kOutOfRange))
        << size;
  }
}

TEST(PageHeader, RefusesWhatIsNone) {
  const std::vector<uint8_t> nothing = {0x00};
  const std::vector<uint8_t> endless(64, 0x1C);  // struct in struct
  const std::vector<uint8_t> negative = {0x15, 0x00, 0x25, 0x01, 0x00};

  EXPECT_THAT(ParsePageHeader(Span(nothing)), HasCode(Code::kCorruption));
  EXPECT_THAT(ParsePageHeader(Span(endless)), HasCode(Code::kCorruption));
  EXPECT_THAT(ParsePageHeader(Span(negative)), HasCode(Code::kCorruption));
}

TEST(PageTable, FindsThePageOfARow) {
  const ChunkPlace chunk{{100, 400}, 30, false};
  const PageStart starts[] = {{120, 80, 0}, {200, 100, 10}, {300, 100, 25}};

  ASSERT_OK_AND_ASSIGN(const PageTable table, TableFromIndex(chunk, starts));

  EXPECT_EQ(table.dictionary, (ByteRange{100, 120}));
  EXPECT_EQ(table.Find(0), 0U);
  EXPECT_EQ(table.Find(9), 0U);
  EXPECT_EQ(table.Find(10), 1U);
  EXPECT_EQ(table.Find(29), 2U);
  EXPECT_EQ(table.pages[2].row_count, 5U);
}

TEST(PageTable, RefusesAnIndexThatLies) {
  const ChunkPlace chunk{{100, 400}, 30, false};
  const std::vector<std::vector<PageStart>> lies = {
      {},                               // nothing
      {{50, 80, 0}},                    // before the chunk
      {{120, 400, 0}},                  // past its end
      {{120, 80, 1}},                   // first row missing
      {{120, 80, 0}, {150, 50, 10}},    // overlapping
      {{120, 80, 0}, {200, 50, 31}},    // more rows than there are
      {{120, 80, 20}, {200, 50, 10}}};  // backwards

  for (const auto& starts : lies) {
    EXPECT_THAT(TableFromIndex(chunk, starts), HasCode(Code::kCorruption));
  }
}

TEST(PageTable, CutsAnOpaqueChunkIntoStretches) {
  const PageTable table = OpaqueTable(10, 4);

  ASSERT_EQ(table.pages.size(), 3U);
  EXPECT_EQ(table.pages[2].row_count, 2U);
  EXPECT_EQ(table.Find(7), 1U);
}

}  // namespace
}  // namespace rowfs
