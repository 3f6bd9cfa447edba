#include "storage/object/uri.h"

#include "tests/support/status_matchers.h"

namespace rowfs {
namespace {

TEST(Uri, TakesSchemeAuthorityAndPathApart) {
  const auto uri = FindUri("S3://bucket/a/b c");

  ASSERT_TRUE(uri.has_value());
  EXPECT_EQ(uri->scheme, "s3");
  EXPECT_EQ(uri->authority, "bucket");
  EXPECT_EQ(uri->path, "/a/b c");
  EXPECT_EQ(FindUri("http://host")->path, "");
}

TEST(Uri, APathHasNoScheme) {
  EXPECT_FALSE(FindUri("/dir/a://b").has_value());
  EXPECT_FALSE(FindUri("relative").has_value());
  EXPECT_FALSE(FindUri("://x").has_value());
  EXPECT_FALSE(FindUri("1x://x").has_value());
}

TEST(Uri, DecodesPercentCharacters) {
  EXPECT_EQ(PercentDecode("a%20b%2Fc%c3%A9").value(), "a b/c\xc3\xa9");
  EXPECT_THAT(PercentDecode("100%"), HasCode(Code::kInvalidArgument));
  EXPECT_THAT(PercentDecode("%4"), HasCode(Code::kInvalidArgument));
  EXPECT_THAT(PercentDecode("%zz"), HasCode(Code::kInvalidArgument));
  EXPECT_THAT(PercentDecode("a%00b"), HasCode(Code::kInvalidArgument));
}

TEST(Uri, EncodesWhatIsNotUnreserved) {
  EXPECT_EQ(PercentEncode("a b/c~\xc3\xa9", "/"), "a%20b/c~%C3%A9");
  EXPECT_EQ(PercentEncode("a/+", ""), "a%2F%2B");
}

}  // namespace
}  // namespace rowfs
