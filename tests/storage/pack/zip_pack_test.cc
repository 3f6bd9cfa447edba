#include "storage/pack/zip_pack.h"

#include <gtest/gtest.h>

#include "tests/storage/pack/zip_builder.h"
#include "tests/support/memory_store.h"
#include "tests/support/status_matchers.h"

namespace rowfs {
namespace {

struct OpenedZip {
  std::shared_ptr<MemoryStore> store;
  std::shared_ptr<const Pack> pack;
};

OpenedZip OpenBytes(std::string_view bytes, bool remote = false) {
  StoreCapabilities capabilities;
  capabilities.remote = remote;
  OpenedZip zip{std::make_shared<MemoryStore>(capabilities), nullptr};
  zip.store->Put("x.zip", bytes);
  auto pack = OpenZip({zip.store, "x.zip"}, {});
  EXPECT_OK(pack);
  if (pack.ok()) zip.pack = pack.value();
  return zip;
}

Result<std::string> ReadSource(const BlobSource& source) {
  if (source.bytes) return std::string(AsText(*source.bytes));
  ROWFS_ASSIGN_OR_RETURN(const Bytes bytes,
                         source.reader->Read(source.range, ReadKind::kData));
  return std::string(AsText(bytes));
}

Result<std::string> Read(const Pack& pack, std::string_view name) {
  ROWFS_ASSIGN_OR_RETURN(const uint64_t i, pack.Find(name));
  ROWFS_ASSIGN_OR_RETURN(const BlobSource source, pack.OpenMember(i));
  return ReadSource(source);
}

// The member's content, or what went wrong.
std::string Content(const Pack& pack, std::string_view name) {
  const Result<std::string> content = Read(pack, name);
  return content.ok() ? content.value()
                      : "error: " + std::string(content.status().message());
}

TEST(ZipPackTest, ReadsStoredMembersByName) {
  ZipBuilder zip;
  zip.Add("images/0000.jpg", "hello");
  zip.Add("images/0001.jpg", "world");
  zip.Add("images/", "");
  zip.Add("empty.bin", "");
  const OpenedZip opened = OpenBytes(zip.Finish());
  EXPECT_EQ(opened.pack->members().size(), 3u);
  EXPECT_EQ(Content(*opened.pack, "images/0000.jpg"), "hello");
  EXPECT_EQ(Content(*opened.pack, "images/0001.jpg"), "world");
  EXPECT_EQ(Content(*opened.pack, "empty.bin"), "");
  EXPECT_THAT(Read(*opened.pack, "images/0002.jpg"), HasCode(Code::kNotFound));
}

TEST(ZipPackTest, ARemoteMemberCostsOneRequestWithItsLocalHeader) {
  ZipBuilder zip;
  zip.Add("a", std::string(300'000, 'a'));
  zip.Add("b.bin", std::string(1000, 'b'));
  ZipFile extra{"c.bin", std::string(1000, 'c')};
  extra.local_extra = std::string("\x01\x00\x10\x00", 4) + std::string(16, 0);
  zip.Add(extra);
  const OpenedZip opened = OpenBytes(zip.Finish(), true);
  const auto opening = opened.store->TakeLog();
  ASSERT_EQ(opening.size(), 1u);
  EXPECT_EQ(opening[0].method, "ReadTail");
  EXPECT_EQ(Content(*opened.pack, "b.bin"), std::string(1000, 'b'));
  const auto log = opened.store->TakeLog();
  ASSERT_EQ(log.size(), 1u);
  EXPECT_EQ(log[0].range.size(), 30u + 5 + 1000);
  EXPECT_EQ(Content(*opened.pack, "c.bin"), std::string(1000, 'c'));
  EXPECT_EQ(opened.store->TakeLog().size(), 1u);
  EXPECT_EQ(Content(*opened.pack, "c.bin"), std::string(1000, 'c'));
  const auto again = opened.store->TakeLog();
  ASSERT_EQ(again.size(), 1u);
  EXPECT_EQ(again[0].range.size(), 1000u);
}

TEST(ZipPackTest, ReferencesSplitAtTheFirstDoubleColon) {
  const auto reference = ParsePackReference("zip://a/b.jpg::media/p.zip");
  ASSERT_TRUE(reference);
  EXPECT_EQ(reference->member, "a/b.jpg");
  EXPECT_EQ(reference->shard, "media/p.zip");
  EXPECT_FALSE(ParsePackReference("zip://a"));
  EXPECT_FALSE(ParsePackReference("zip://::p.zip"));
  EXPECT_FALSE(ParsePackReference("zip://a::"));
  EXPECT_FALSE(ParsePackReference("media/a.jpg"));
}

}  // namespace
}  // namespace rowfs
