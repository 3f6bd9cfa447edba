#include "index/dataset/names.h"

#include <gtest/gtest.h>

namespace rowfs {
namespace {

TEST(EscapeName, KeepsAnOrdinaryName) {
  EXPECT_EQ(EscapeName("a b.jpg"), "a b.jpg");
  EXPECT_EQ(EscapeName("\xE7\x8C\xAB"), "\xE7\x8C\xAB");
}

TEST(EscapeName, WritesWhatAPathCannotHoldAsPercent) {
  EXPECT_EQ(EscapeName("a/b"), "a%2Fb");
  EXPECT_EQ(EscapeName(std::string_view("a\0b\n", 4)), "a%00b%0A");
  EXPECT_EQ(EscapeName("100%"), "100%25");
  EXPECT_EQ(EscapeName("."), "%2E");
  EXPECT_EQ(EscapeName(".."), "%2E%2E");
  EXPECT_EQ(EscapeName("..."), "...");
  EXPECT_EQ(EscapeName(""), "%");
}

TEST(EscapeName, CutsALongNameAtACharacterAndMarksIt) {
  std::string value(253, 'a');
  value += "\xF0\x9F\x98\x80\xF0\x9F\x98\x80";

  const std::string name = EscapeName(value);

  EXPECT_LE(name.size(), kNameBytesMax);
  EXPECT_EQ(name.substr(0, 246), std::string(246, 'a'));
  EXPECT_EQ(name[name.size() - 9], '~');
  EXPECT_NE(name, EscapeName(value + "x"));
}

TEST(EscapeName, NeverCutsAPercentSequence) {
  const std::string name = EscapeName(std::string(100, '/'));

  const std::string kept = name.substr(0, name.size() - 9);
  EXPECT_EQ(kept.size() % 3, 0U);
}

TEST(UniqueNames, NumbersRepeats) {
  UniqueNames names;

  EXPECT_EQ(names.Take("a"), "a");
  EXPECT_EQ(names.Take("a~2"), "a~2");
  EXPECT_EQ(names.Take("a"), "a~3");
}

TEST(UniqueNames, StaysWithinTheLimit) {
  UniqueNames names;
  const std::string longest(kNameBytesMax, 'x');

  EXPECT_EQ(names.Take(longest), longest);
  const std::string second = names.Take(longest);

  EXPECT_EQ(second.size(), kNameBytesMax);
  EXPECT_TRUE(second.ends_with("~2"));
}

TEST(UniqueNames, MovesAStemWhenOneDerivedNameIsTaken) {
  UniqueNames names;
  names.Reserve("video.frames");
  const std::string suffixes[] = {".mp4", ".frames"};

  EXPECT_EQ(names.TakeStem("video", suffixes), "video~2");
  EXPECT_TRUE(names.Has("video~2.mp4"));
  EXPECT_FALSE(names.Has("video.mp4"));
}

}  // namespace
}  // namespace rowfs
