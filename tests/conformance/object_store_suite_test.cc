#include "tests/conformance/object_store_suite.h"

namespace rowfs {

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(ObjectStoreSuite);

Result<std::string> ObjectStoreSuite::Read(const ObjectRef& object,
                                           uint64_t offset, size_t size) {
  std::string text(size, '\0');
  ROWFS_RETURN_IF_ERROR(store().ReadAt(
      object, offset,
      std::as_writable_bytes(std::span(text.data(), text.size()))));
  return text;
}

namespace {

Status Write(ObjectStore& store, const std::string& path, std::string_view text,
             PutMode mode) {
  ROWFS_ASSIGN_OR_RETURN(auto writer, store.Create(path, mode));
  ROWFS_RETURN_IF_ERROR(writer->Write(AsBytes(text)));
  return writer->Finish();
}

TEST_P(ObjectStoreSuite, StatTellsTheSize) {
  Put("a", "hello");

  ASSERT_OK_AND_ASSIGN(const ObjectMeta meta, store().Stat(Path("a")));

  EXPECT_EQ(meta.size, 5U);
  EXPECT_NE(meta.etag, "");
}

TEST_P(ObjectStoreSuite, WhatIsNotThereIsNotFound) {
  Put("a", "hello");

  EXPECT_THAT(store().Stat(Path("b")), HasCode(Code::kNotFound));
  EXPECT_THAT(Read({Path("b"), ""}, 0, 1), HasCode(Code::kNotFound));
  EXPECT_THAT(store().ReadTail(Path("b"), 9), HasCode(Code::kNotFound));
}

TEST_P(ObjectStoreSuite, ReadsExactlyTheRange) {
  Put("a", "hello world");
  ASSERT_OK_AND_ASSIGN(const ObjectMeta meta, store().Stat(Path("a")));
  const ObjectRef object{Path("a"), meta.etag};

  EXPECT_EQ(Read(object, 0, 11).value(), "hello world");
  EXPECT_EQ(Read(object, 4, 3).value(), "o w");
  EXPECT_EQ(Read(object, 10, 1).value(), "d");
}

TEST_P(ObjectStoreSuite, ReadingPastTheEndIsOutOfRange) {
  Put("a", "hello");

  EXPECT_THAT(Read({Path("a"), ""}, 3, 3), HasCode(Code::kOutOfRange));
  EXPECT_THAT(Read({Path("a"), ""}, 5, 1), HasCode(Code::kOutOfRange));
  EXPECT_THAT(Read({Path("a"), ""}, 1 << 20, 1), HasCode(Code::kOutOfRange));
}

TEST_P(ObjectStoreSuite, AChangedObjectIsNotRead) {
  if (pinned()) GTEST_SKIP() << "objects never change";
  Put("a", "hello");
  ASSERT_OK_AND_ASSIGN(const ObjectMeta before, store().Stat(Path("a")));
  Put("a", "other bytes");

  ASSERT_OK_AND_ASSIGN(const ObjectMeta after, store().Stat(Path("a")));

  EXPECT_NE(before.etag, after.etag);
  EXPECT_THAT(Read({Path("a"), before.etag}, 0, 5), HasCode(Code::kChanged));
  EXPECT_EQ(Read({Path("a"), after.etag}, 0, 5).value(), "other");
}

TEST_P(ObjectStoreSuite, TheTailComesWithTheSize) {
  Put("a", "hello world");
  Put("empty", "");

  ASSERT_OK_AND_ASSIGN(const auto tail, store().ReadTail(Path("a"), 5));
  ASSERT_OK_AND_ASSIGN(const auto all, store().ReadTail(Path("a"), 500));
  ASSERT_OK_AND_ASSIGN(const auto none, store().ReadTail(Path("empty"), 5));

  EXPECT_EQ(AsText(tail.bytes), "world");
  EXPECT_EQ(tail.meta.size, 11U);
  EXPECT_EQ(AsText(all.bytes), "hello world");
  EXPECT_EQ(none.meta.size, 0U);
  EXPECT_TRUE(none.bytes.empty());
  EXPECT_EQ(Read({Path("a"), tail.meta.etag}, 0, 2).value(), "he");
}

TEST_P(ObjectStoreSuite, ListsObjectsAndDirectoriesByName) {
  if (!store().capabilities().list) GTEST_SKIP() << "cannot list";
  Put("d/b", "xx");
  Put("d/a/1", "x");
  Put("d/a/2", "x");
  Put("d/c d%+&=#?é", "xyz");
  Put("dd", "x");

  ASSERT_OK_AND_ASSIGN(const auto entries, store().List(Path("d")));

  ASSERT_EQ(entries.size(), 3U);
  EXPECT_EQ(entries[0].name, "a");
  EXPECT_TRUE(entries[0].is_directory);
  EXPECT_EQ(entries[1].name, "b");
  EXPECT_FALSE(entries[1].is_directory);
  EXPECT_EQ(entries[1].meta.size, 2U);
  EXPECT_EQ(entries[2].name, "c d%+&=#?é");
  ASSERT_OK_AND_ASSIGN(const ObjectMeta meta, store().Stat(Path("d/b")));
  EXPECT_EQ(entries[1].meta.etag, meta.etag);
  EXPECT_THAT(store().List(Path("nowhere")), HasCode(Code::kNotFound));
}

TEST_P(ObjectStoreSuite, NamesWithOddCharactersRead) {
  Put("c d%+&=#?é", "xyz");

  EXPECT_EQ(Read({Path("c d%+&=#?é"), ""}, 1, 2).value(), "yz");
  EXPECT_THAT(store().Stat(Path("c d")), HasCode(Code::kNotFound));
}

TEST_P(ObjectStoreSuite, ADirectoryIsNoObject) {
  Put("d/b", "xx");

  EXPECT_THAT(store().Stat(Path("d")), HasCode(Code::kNotFound));
}

TEST_P(ObjectStoreSuite, WritesAppearAtFinish) {
  if (!store().capabilities().write) GTEST_SKIP() << "cannot write";
  ASSERT_OK_AND_ASSIGN(auto writer,
                       store().Create(Path("x/y/z"), PutMode::kOverwrite));
  ASSERT_OK(writer->Write(AsBytes("hello ")));
  ASSERT_OK(writer->Write(AsBytes("world")));
  EXPECT_THAT(store().Stat(Path("x/y/z")), HasCode(Code::kNotFound));

  ASSERT_OK(writer->Finish());

  EXPECT_EQ(Read({Path("x/y/z"), ""}, 0, 11).value(), "hello world");
}

TEST_P(ObjectStoreSuite, AnAbandonedWriterLeavesNothing) {
  if (!store().capabilities().write) GTEST_SKIP() << "cannot write";
  Put("d/keep", "x");
  {
    ASSERT_OK_AND_ASSIGN(auto writer,
                         store().Create(Path("d/z"), PutMode::kOverwrite));
    ASSERT_OK(writer->Write(AsBytes("hello ")));
  }

  EXPECT_THAT(store().Stat(Path("d/z")), HasCode(Code::kNotFound));
  if (!store().capabilities().list) return;
  EXPECT_EQ(store().List(Path("d")).value().size(), 1U);
}

TEST_P(ObjectStoreSuite, PutIfAbsentNeverReplaces) {
  if (!store().capabilities().write) GTEST_SKIP() << "cannot write";

  ASSERT_OK(Write(store(), Path("v/1"), "first", PutMode::kIfAbsent));

  EXPECT_THAT(Write(store(), Path("v/1"), "second", PutMode::kIfAbsent),
              HasCode(Code::kAlreadyExists));
  EXPECT_EQ(Read({Path("v/1"), ""}, 0, 5).value(), "first");
  EXPECT_OK(Write(store(), Path("v/1"), "third", PutMode::kOverwrite));
  EXPECT_EQ(Read({Path("v/1"), ""}, 0, 5).value(), "third");
}

TEST_P(ObjectStoreSuite, LargeAndEmptyObjectsCanBeWritten) {
  if (!store().capabilities().write) GTEST_SKIP() << "cannot write";
  std::string large(11 << 20, 'a');
  for (size_t i = 0; i < large.size(); i += 4099) large[i] = 'b';

  ASSERT_OK(Write(store(), Path("large"), large, PutMode::kOverwrite));
  ASSERT_OK(Write(store(), Path("empty"), "", PutMode::kIfAbsent));

  EXPECT_EQ(Read({Path("large"), ""}, 0, large.size()).value(), large);
  EXPECT_EQ(store().Stat(Path("empty")).value().size, 0U);
}

TEST_P(ObjectStoreSuite, RemoveIsQuietAboutWhatIsNotThere) {
  if (!store().capabilities().write) GTEST_SKIP() << "cannot write";
  Put("a", "hello");

  EXPECT_OK(store().Remove(Path("a")));
  EXPECT_OK(store().Remove(Path("a")));

  EXPECT_THAT(store().Stat(Path("a")), HasCode(Code::kNotFound));
}

}  // namespace
}  // namespace rowfs
