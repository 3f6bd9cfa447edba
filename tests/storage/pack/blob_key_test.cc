#include "storage/pack/blob_key.h"

#include "storage/pack/posix_path.h"
#include "tests/support/status_matchers.h"

namespace rowfs {
namespace {

TEST(BlobKey, QuotesAsPythonDoes) {
  EXPECT_EQ(QuoteText("a"), "'a'");
  EXPECT_EQ(QuoteText("it's"), "\"it's\"");
  EXPECT_EQ(QuoteText("'\""), "'\\'\"'");
  EXPECT_EQ(QuoteText("a\tb\\\x01\x7f é\u200b😀"),
            "'a\\tb\\\\\\x01\\x7f é\\u200b😀'");
  EXPECT_EQ(QuoteText("\xff"), "'\\udcff'");
}

TEST(BlobKey, TellsUnusableFromUnsafe) {
  EXPECT_OK(CheckBlobKey("a:b/c d#?%41"));
  EXPECT_OK(CheckPathKey("a:"));
  EXPECT_THAT(CheckBlobKey("a:"), HasCode(Code::kInvalidArgument));
  EXPECT_THAT(CheckBlobKey("a\xff"), HasCode(Code::kInvalidArgument));
  EXPECT_THAT(CheckPathKey("a/../b"), HasCode(Code::kInvalidArgument));
  EXPECT_THAT(CheckPathKey("a\u3000"), HasCode(Code::kInvalidArgument));
  EXPECT_THAT(CheckBlobKey(std::string(65'536, 'a')),
              HasCode(Code::kInvalidArgument));
}

TEST(PosixPath, FollowsPathlibAndPosixpath) {
  EXPECT_EQ(CleanPath("a//b/./c/"), "a/b/c");
  EXPECT_EQ(CleanPath("a/.."), "a/..");
  EXPECT_EQ(CleanPath(""), ".");
  EXPECT_EQ(CleanPath("//a"), "//a");
  EXPECT_EQ(CleanPath("///a"), "/a");
  EXPECT_EQ(NormalizePath("a/../b//c/."), "b/c");
  EXPECT_EQ(NormalizePath("../a/../.."), "../..");
  EXPECT_EQ(NormalizePath("/../a"), "/a");
  EXPECT_EQ(LastPart("/a/b/"), "b");
  EXPECT_EQ(LastPart("/"), "");
  EXPECT_EQ(JoinPath("", "x"), "x");
  EXPECT_EQ(JoinPath(".", "x"), "./x");
  EXPECT_EQ(ChildPath(".", "x"), "x");
}

}  // namespace
}  // namespace rowfs
