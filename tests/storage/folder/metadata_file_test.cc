#include "storage/folder/metadata_file.h"

#include "tests/support/status_matchers.h"

namespace rowfs {
namespace {

using ::testing::HasSubstr;

TEST(ParseCsv, ReadsQuotedFieldsWithCommasQuotesAndLines) {
  ASSERT_OK_AND_ASSIGN(
      const std::vector<Json> rows,
      ParseCsv("file_name,caption\r\na.jpg,\"one, \"\"two\"\"\nthree\"\r\n",
               "m.csv"));

  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].Find("caption")->text, "one, \"two\"\nthree");
}

TEST(ParseCsv, TypesUnquotedValues) {
  ASSERT_OK_AND_ASSIGN(
      const std::vector<Json> rows,
      ParseCsv("a,b,c,d,e\n5,0.5,true,007,\"5\"\n,,,,\n", "m"));

  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0].Find("a")->AsInt(), 5);
  EXPECT_EQ(rows[0].Find("b")->text, "0.5");
  EXPECT_EQ(rows[0].Find("c")->kind, Json::Kind::kBool);
  EXPECT_EQ(rows[0].Find("d")->kind, Json::Kind::kString);
  EXPECT_EQ(rows[0].Find("e")->kind, Json::Kind::kString);
  EXPECT_EQ(rows[1].Find("a")->kind, Json::Kind::kNull);
}

TEST(ParseCsv, NamesTheLineThatDoesNotFit) {
  const auto rows = ParseCsv("a,b\n1,2\n1,2,3\n", "m.csv");

  ASSERT_THAT(rows, HasCode(Code::kInvalidArgument));
  EXPECT_THAT(std::string(rows.status().message()), HasSubstr("m.csv line 3"));
}

TEST(ParseCsv, RefusesAQuoteThatStaysOpen) {
  EXPECT_THAT(ParseCsv("a\n\"x", "m"), HasCode(Code::kInvalidArgument));
  EXPECT_THAT(ParseCsv("a\n\"x\"y\n", "m"), HasCode(Code::kInvalidArgument));
}

TEST(ParseJsonLines, SkipsBlankLinesAndNamesABadOne) {
  ASSERT_OK_AND_ASSIGN(const std::vector<Json> rows,
                       ParseJsonLines("\xEF\xBB\xBF{\"a\": 1}\n\n{}\n", "m"));
  EXPECT_EQ(rows.size(), 2U);

  const auto bad = ParseJsonLines("{}\n[1]\n", "m.jsonl");
  ASSERT_THAT(bad, HasCode(Code::kInvalidArgument));
  EXPECT_THAT(std::string(bad.status().message()), HasSubstr("line 2"));
}

}  // namespace
}  // namespace rowfs
