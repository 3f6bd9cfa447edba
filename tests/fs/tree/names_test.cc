// NameTable, RowsLayout, Selection: numbers and names.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "fs/tree/name_table.h"
#include "fs/tree/rows_layout.h"
#include "fs/tree/selection.h"
#include "tests/support/status_matchers.h"

namespace rowfs {
namespace {

TEST(NameTable, NumbersNamesInTheOrderTheyCome) {
  NameTable table;
  for (int i = 0; i < 5000; ++i) {
    EXPECT_EQ(table.Add("name " + std::to_string(i)).first,
              static_cast<uint64_t>(i));
  }

  EXPECT_EQ(table.size(), 5000u);
  EXPECT_EQ(table.Add("name 77"), (std::pair<uint64_t, bool>(77, false)));
  EXPECT_EQ(table.Find("name 4999"), 4999u);
  EXPECT_EQ(table.at(4999), "name 4999");
  EXPECT_FALSE(table.Find("name 5000").has_value());
  EXPECT_FALSE(NameTable().Find("x").has_value());
}

TEST(RowsLayout, HasAsManyDigitsAsTheLastRow) {
  EXPECT_EQ(RowsLayout(10, TreeOptions::Rows::kAuto).NumberName(7), "000007");
  EXPECT_EQ(RowsLayout(10'000'001, TreeOptions::Rows::kAuto).NumberName(7),
            "00000007");
  EXPECT_EQ(RowsLayout(10'000'001, TreeOptions::Rows::kAuto).ShardName(42),
            "00042");
}

TEST(RowsLayout, ShardsAboveTenThousandRows) {
  EXPECT_FALSE(RowsLayout(10'000, TreeOptions::Rows::kAuto).sharded());
  EXPECT_TRUE(RowsLayout(10'001, TreeOptions::Rows::kAuto).sharded());
  EXPECT_FALSE(RowsLayout(10'001, TreeOptions::Rows::kFlat).sharded());
  EXPECT_EQ(RowsLayout(10'001, TreeOptions::Rows::kAuto).shard_count(), 11u);
}

TEST(RowsLayout, FindsNumbersHoweverPaddedAndNothingElse) {
  const RowsLayout layout(100, TreeOptions::Rows::kFlat);

  EXPECT_EQ(layout.FindNumber("7"), 7u);
  EXPECT_EQ(layout.FindNumber("0000000000000000000000007"), 7u);
  EXPECT_FALSE(layout.FindNumber("100").has_value());
  EXPECT_FALSE(layout.FindNumber("").has_value());
  EXPECT_FALSE(layout.FindNumber("-1").has_value());
  EXPECT_FALSE(layout.FindNumber("18446744073709551623").has_value());
  EXPECT_FALSE(RowsLayout(0, TreeOptions::Rows::kAuto).FindNumber("0"));
}

std::vector<uint64_t> RowsOf(const Selection& selection) {
  std::vector<uint64_t> rows;
  for (uint64_t i = 0; i < selection.row_count(); ++i) {
    rows.push_back(selection.at(i));
  }
  return rows;
}

TEST(Selection, KeepsTheOrderAndTakesEachRowOnce) {
  ASSERT_OK_AND_ASSIGN(const Selection rows,
                       Selection::Parse("9,1,3-5,4-7,0-2", 10));

  EXPECT_EQ(RowsOf(rows), (std::vector<uint64_t>{9, 1, 3, 4, 5, 6, 7, 0, 2}));
  EXPECT_TRUE(rows.Contains(6));
  EXPECT_FALSE(rows.Contains(8));
}

TEST(Selection, AnOpenRangeGoesToTheLastRow) {
  ASSERT_OK_AND_ASSIGN(const Selection rows, Selection::Parse("7-", 10));

  EXPECT_EQ(RowsOf(rows), (std::vector<uint64_t>{7, 8, 9}));
}

TEST(Selection, SaysHowManyRowsOfOneRangeFollow) {
  ASSERT_OK_AND_ASSIGN(const Selection rows,
                       Selection::Parse("9,3-5,100-", uint64_t{1} << 40));

  EXPECT_EQ(rows.RunAt(0), 1U);
  EXPECT_EQ(rows.RunAt(1), 3U);
  EXPECT_EQ(rows.RunAt(3), 1U);
  EXPECT_EQ(rows.RunAt(4), (uint64_t{1} << 40) - 100);
}

TEST(Selection, RefusesWhatIsNoListAndRowsThatAreNotThere) {
  for (const char* text : {"", "x", "1,", ",1", "3-1", "1--2", "-1", "1 2",
                           "99999999999999999999"}) {
    EXPECT_THAT(Selection::Parse(text, 10), HasCode(Code::kInvalidArgument))
        << text;
  }
  EXPECT_THAT(Selection::Parse("10", 10), HasCode(Code::kOutOfRange));
  EXPECT_THAT(Selection::Parse("10-", 10), HasCode(Code::kOutOfRange));
  EXPECT_THAT(Selection::Parse("0", 0), HasCode(Code::kOutOfRange));
}

TEST(Selection, AMillionShuffledRowsAreFound) {
  std::vector<uint64_t> rows;
  for (uint64_t i = 0; i < 200'000; ++i) rows.push_back(i * 7919 % 200'000);
  const Selection selection = Selection::Make(rows);

  EXPECT_EQ(selection.row_count(), 200'000u);
  EXPECT_EQ(selection.at(199'999), rows[199'999]);
  EXPECT_TRUE(selection.Contains(123'456));
}

}  // namespace
}  // namespace rowfs
