#include "storage/lance/row_batch.h"

#include <vector>

#include "storage/lance/value_block.h"
#include "tests/support/status_matchers.h"

namespace rowfs {
namespace {

// `count` rows of `bytes` each, as far as the limit in force lets them.
Result<Array> Rows(uint64_t count, uint64_t bytes) {
  ROWFS_RETURN_IF_ERROR(DecodedBytes(count, bytes * 8, "rows").status());
  ArrayBuilder rows(MakeType(TypeId::kBinary));
  const Bytes value(bytes);
  for (uint64_t i = 0; i < count; ++i) rows.AppendBytes(value);
  return rows.Finish();
}

TEST(RowBatch, RowsThatAreSuddenlyLargerAreReadInSmallerBatches) {
  RowBatch batch(8192, 8192);
  uint64_t row = 0;
  uint64_t most = 0;
  std::vector<uint64_t> sizes;
  while (row < 20000) {
    const uint64_t bytes = row < 16384 ? 10 : 10000;
    ASSERT_OK_AND_ASSIGN(
        const auto columns,
        batch.Read(2, 20000 - row, [&](size_t column, uint64_t rows) {
          return Rows(rows, column == 0 ? 1 : bytes);
        }));
    ASSERT_EQ(columns.size(), 2U);
    EXPECT_EQ(columns[0].length, batch.rows());
    EXPECT_EQ(columns[1].length, batch.rows());
    most = std::max(most, bytes * batch.rows());
    row += batch.rows();
    sizes.push_back(batch.rows());
  }
  EXPECT_EQ(row, 20000U);
  EXPECT_EQ(sizes[0], 8192U);
  EXPECT_EQ(sizes[1], 8192U);
  EXPECT_LT(most, kBatchBytesMax);
  EXPECT_LT(sizes.size(), 12U);
}

TEST(RowBatch, OneRowIsReadHoweverLarge) {
  RowBatch batch(4, 16);
  ASSERT_OK_AND_ASSIGN(const auto columns,
                       batch.Read(1, 16, [](size_t, uint64_t rows) {
                         return Rows(rows, 2 * kBatchBytesMax);
                       }));
  EXPECT_EQ(batch.rows(), 1U);
  EXPECT_EQ(columns[0].length, 1U);
}

TEST(RowBatch, ADictionaryIsNotOfTheRows) {
  ASSERT_OK_AND_ASSIGN(const Array words, Rows(1, 2 * kBatchBytesMax));
  const auto dictionary = std::make_shared<const Array>(words);
  RowBatch batch(8192, 8192);
  for (int i = 0; i < 3; ++i) {
    const auto read = batch.Read(1, 8192, [&](size_t, uint64_t rows) {
      Array array{.type = MakeType(TypeId::kInt32), .length = rows};
      array.data = std::make_shared<const Bytes>(4 * rows);
      array.dictionary = dictionary;
      return Result<Array>(std::move(array));
    });
    ASSERT_OK(read);
    EXPECT_EQ(batch.rows(), 8192U);
  }
}

TEST(RowBatch, OtherErrorsAreNotTriedAgain) {
  RowBatch batch(4, 16);
  int calls = 0;
  const auto read = batch.Read(1, 16, [&](size_t, uint64_t) -> Result<Array> {
    ++calls;
    return Status(Code::kCorruption, "damaged");
  });
  EXPECT_EQ(read.status().code(), Code::kCorruption);
  EXPECT_EQ(calls, 1);
}

TEST(DecodeLimit, HoldsOnItsThreadAndEndsWithIt) {
  {
    const DecodeLimit limit(100);
    EXPECT_EQ(DecodedBytes(101, 8, "bytes").status().code(),
              Code::kResourceExhausted);
    {
      const DecodeLimit inner(1000);
      EXPECT_EQ(DecodeLimit::Bytes(), 1000U);
    }
    EXPECT_EQ(DecodeLimit::Bytes(), 100U);
  }
  EXPECT_OK(DecodedBytes(101, 8, "bytes"));
  EXPECT_EQ(DecodeLimit::Bytes(), kDecodedBytesMax);
}

}  // namespace
}  // namespace rowfs
