#include "storage/pack/zip_pack.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <thread>

#include "storage/base/thread_pool.h"
#include "storage/read/block_cache.h"
#include "tests/storage/pack/pack_reads.h"
#include "tests/storage/pack/zip_builder.h"
#include "tests/support/memory_store.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace rowfs {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

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

std::string Deflate(std::string_view text) {
  z_stream z = {};
  EXPECT_EQ(deflateInit2(&z, 6, Z_DEFLATED, -15, 8, Z_DEFAULT_STRATEGY), Z_OK);
  Bytes in = ToBytes(text);
  Bytes out(text.size() + 1000);
  z.next_in = AsU8(MutableByteSpan(in));
  z.avail_in = static_cast<uInt>(in.size());
  z.next_out = AsU8(MutableByteSpan(out));
  z.avail_out = static_cast<uInt>(out.size());
  EXPECT_EQ(deflate(&z, Z_FINISH), Z_STREAM_END);
  out.resize(z.total_out);
  deflateEnd(&z);
  return std::string(AsText(out));
}

// Text that compresses, but not to nothing.
std::string LongText(size_t size) {
  std::string text;
  for (size_t i = 0; text.size() < size; ++i) {
    text += "line " + std::to_string(i * i * 2654435761u) + "\n";
  }
  text.resize(size);
  return text;
}

TEST(ZipPackTest, ReadsStoredMembersByName) {
  ZipBuilder zip;
  zip.Add("images/0000.jpg", "hello");
  zip.Add("images/0001.jpg", "world");
  zip.Add("images/", "");
  zip.Add("empty.bin", "");
  const OpenedZip opened = OpenBytes(zip.Finish());
  EXPECT_THAT(NamesOf(*opened.pack),
              ElementsAre("images/0000.jpg", "images/0001.jpg", "empty.bin"));
  EXPECT_EQ(Content(*opened.pack, "images/0000.jpg"), "hello");
  EXPECT_EQ(Content(*opened.pack, "images/0001.jpg"), "world");
  EXPECT_EQ(Content(*opened.pack, "empty.bin"), "");
  EXPECT_THAT(opened.pack->Find("images/0002.jpg"), HasCode(Code::kNotFound));
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

TEST(ZipPackTest, ALocalStoredMemberIsARangeOfTheShard) {
  ZipBuilder zip;
  ZipFile file{"a.bin", "payload"};
  file.local_extra = std::string("UT\x01\x00", 4) + "x";
  zip.Add(file);
  const std::string bytes = zip.Finish();
  const OpenedZip opened = OpenBytes(bytes);
  ASSERT_OK_AND_ASSIGN(const BlobSource source, opened.pack->OpenMember(0));
  EXPECT_EQ(source.reader->uri(), "memory://x.zip");
  EXPECT_EQ(source.range.begin, bytes.find("payload"));
  EXPECT_EQ(source.range.size(), 7u);
}

TEST(ZipPackTest, DeflatedMembersReadFromAnywhere) {
  const std::string text = LongText(6'000'000);
  ZipBuilder zip;
  ZipFile file{"a.txt", Deflate(text)};
  file.method = 8;
  file.size = static_cast<uint32_t>(text.size());
  file.crc = Crc32(AsBytes(text));
  zip.Add(file);
  zip.Add("b.txt", "b");
  const OpenedZip opened = OpenBytes(zip.Finish());
  EXPECT_TRUE(Content(*opened.pack, "a.txt") == text);
  for (const uint64_t at : {5'999'990u, 3u, 2'345'678u, 4'000'000u, 0u}) {
    Bytes part(10);
    ASSERT_OK(opened.pack->ReadMember(0, at, part));
    EXPECT_EQ(AsText(part), text.substr(at, 10)) << at;
  }
}

TEST(ZipPackTest, DeflatedBytesThatAreWrongAreAnError) {
  const std::string text = LongText(1000);
  ZipBuilder zip;
  ZipFile file{"crc.txt", Deflate(text)};
  file.method = 8;
  file.size = 1000;
  file.crc = 7;
  zip.Add(file);
  file.name = "short.txt";
  file.crc = Crc32(AsBytes(text));
  file.size = 1001;
  zip.Add(file);
  file.name = "cut.txt";
  file.size = 1000;
  file.data.resize(file.data.size() / 2);
  zip.Add(file);
  zip.Add("good.txt", "good");
  const OpenedZip opened = OpenBytes(zip.Finish());
  EXPECT_THAT(Content(*opened.pack, "crc.txt"), HasSubstr("checksum"));
  EXPECT_THAT(Content(*opened.pack, "short.txt"), HasSubstr("error: "));
  EXPECT_THAT(Content(*opened.pack, "cut.txt"), HasSubstr("cut off"));
  EXPECT_EQ(Content(*opened.pack, "good.txt"), "good");
}

TEST(ZipPackTest, ABadMemberCostsItselfAlone) {
  ZipBuilder zip;
  zip.Add("good.txt", "good");
  ZipFile encrypted{"encrypted.txt", "secret"};
  encrypted.flags = 1;
  zip.Add(encrypted);
  ZipFile other{"lzma.txt", "bytes"};
  other.method = 14;
  zip.Add(other);
  ZipFile far{"far.txt", "far"};
  far.offset = 4'000'000'000u;
  zip.Add(far);
  ZipFile runs{"runs.txt", "runs"};
  runs.size = 60;
  runs.stored = 60;
  zip.Add(runs);
  ZipFile huge{"huge.txt", "huge"};
  huge.size = 0xfffffff0;
  huge.stored = 0xfffffff0;
  zip.Add(huge);
  ZipFile uneven{"uneven.txt", "uneven"};
  uneven.size = 5;
  zip.Add(uneven);
  ZipFile renamed{"renamed.txt", "renamed"};
  renamed.local_name = "another.txt";
  zip.Add(renamed);
  zip.Add("last.txt", "last");
  const OpenedZip opened = OpenBytes(zip.Finish());
  const Pack& pack = *opened.pack;
  EXPECT_EQ(pack.members().size(), 9u);
  EXPECT_EQ(Content(pack, "good.txt"), "good");
  EXPECT_EQ(Content(pack, "last.txt"), "last");
  EXPECT_THAT(Content(pack, "encrypted.txt"), HasSubstr("is encrypted"));
  EXPECT_THAT(Content(pack, "lzma.txt"), HasSubstr("method 14"));
  EXPECT_THAT(Content(pack, "far.txt"), HasSubstr("outside the file"));
  EXPECT_THAT(Content(pack, "runs.txt"), HasSubstr("overlaps"));
  EXPECT_THAT(Content(pack, "huge.txt"), HasSubstr("outside the file"));
  EXPECT_THAT(Content(pack, "uneven.txt"), HasSubstr("sizes"));
  EXPECT_THAT(Content(pack, "renamed.txt"), HasSubstr("another name"));
}

TEST(ZipPackTest, TwoEntriesForOneMemberAreRefused) {
  ZipBuilder zip;
  zip.Add("a.txt", "first");
  ZipFile twin{"b.txt", "other"};
  twin.offset = 0;
  zip.Add(twin);
  zip.Add("c.txt", "third");
  const OpenedZip opened = OpenBytes(zip.Finish());
  EXPECT_THAT(Content(*opened.pack, "a.txt"), HasSubstr("overlaps"));
  EXPECT_THAT(Content(*opened.pack, "b.txt"), HasSubstr("overlaps"));
  EXPECT_EQ(Content(*opened.pack, "c.txt"), "third");
}

TEST(ZipPackTest, MembersOutOfOrderAreCheckedAgainstTheirNeighbours) {
  ZipBuilder first;
  first.Add("a.txt", "aaaa");
  first.Add("b.txt", "bbbb");
  std::string bytes = first.Finish();
  // Swap the two entries of the directory.
  const size_t begin = bytes.find("PK\x01\x02");
  const std::string one = bytes.substr(begin, 46 + 5);
  bytes.replace(begin, 51, bytes.substr(begin + 51, 51));
  bytes.replace(begin + 51, 51, one);
  const OpenedZip opened = OpenBytes(bytes);
  EXPECT_THAT(NamesOf(*opened.pack), ElementsAre("b.txt", "a.txt"));
  EXPECT_EQ(Content(*opened.pack, "a.txt"), "aaaa");
  EXPECT_EQ(Content(*opened.pack, "b.txt"), "bbbb");
}

TEST(ZipPackTest, OfSeveralEndRecordsTheOneThatFitsCounts) {
  ZipBuilder inner;
  inner.Add("inner.txt", "inner");
  ZipBuilder outer;
  outer.Add("outer.txt", "outer");
  const std::string end = std::string("PK\x05\x06", 4) + std::string(18, '\0');
  EXPECT_EQ(Content(*OpenBytes(outer.Finish(end)).pack, "outer.txt"), "outer");
  ZipBuilder again;
  again.Add("outer.txt", "outer");
  EXPECT_EQ(Content(*OpenBytes(again.Finish(inner.Finish())).pack, "outer.txt"),
            "outer");
}

TEST(ZipPackTest, BytesInFrontAndBehindAreTolerated) {
  ZipBuilder zip;
  zip.Add("a.txt", "aaaa");
  zip.Add("b.txt", "bbbb");
  const std::string bytes = zip.Finish("a comment");
  for (const std::string& file : {"#!/bin/sh\n" + bytes, bytes + "trailing",
                                  std::string(70'000, 'x') + bytes}) {
    const OpenedZip opened = OpenBytes(file);
    EXPECT_EQ(Content(*opened.pack, "a.txt"), "aaaa");
    EXPECT_EQ(Content(*opened.pack, "b.txt"), "bbbb");
  }
}

TEST(ZipPackTest, ManyMembersNeedNoZip64Record) {
  ZipBuilder zip;
  for (int i = 0; i < 65'535; ++i) zip.Add(std::to_string(i), "x");
  const OpenedZip exact = OpenBytes(zip.Finish("", 0xffff));
  EXPECT_EQ(exact.pack->members().size(), 65'535u);
  EXPECT_EQ(Content(*exact.pack, "65534"), "x");
  // More than the count can say: the directory itself counts.
  zip = ZipBuilder();
  for (int i = 0; i < 65'537; ++i) zip.Add(std::to_string(i), "x");
  EXPECT_EQ(OpenBytes(zip.Finish()).pack->members().size(), 65'537u);
}

TEST(ZipPackTest, NamesComeInUtf8) {
  ZipBuilder zip;
  zip.Add("na\xC3\xAFve.txt", "utf-8 without a flag");
  zip.Add("\x82.txt", "code page 437");
  ZipFile wrong{"\xFF\xFE.txt", "flagged and no utf-8"};
  wrong.flags = 0x800;
  zip.Add(wrong);
  ZipFile path{"plain.txt", "unicode path"};
  const std::string unicode = "\xE8\xA6\x8B.txt";
  Bytes field;
  AppendU16(&field, 0x7075);
  AppendU16(&field, static_cast<uint16_t>(5 + unicode.size()));
  AppendU8(&field, 1);
  AppendU32(&field, Crc32(AsBytes("plain.txt")));
  AppendText(&field, unicode);
  path.extra = AsText(field);
  zip.Add(path);
  const OpenedZip opened = OpenBytes(zip.Finish());
  EXPECT_EQ(Content(*opened.pack, "na\xC3\xAFve.txt"), "utf-8 without a flag");
  EXPECT_EQ(Content(*opened.pack, "\xC3\xA9.txt"), "code page 437");
  EXPECT_EQ(Content(*opened.pack, "\xC2\xA0\xE2\x96\xA0.txt"),
            "flagged and no utf-8");
  EXPECT_EQ(Content(*opened.pack, unicode), "unicode path");
  EXPECT_EQ(opened.pack->members().Get(3).raw_name, "plain.txt");
}

TEST(ZipPackTest, ADamagedDirectoryKeepsWhatStandsBeforeTheDamage) {
  ZipBuilder zip;
  zip.Add("a.txt", "aaaa");
  zip.Add("b.txt", "bbbb");
  std::string bytes = zip.Finish();
  bytes[bytes.rfind("PK\x01\x02")] = 'X';
  const OpenedZip opened = OpenBytes(bytes);
  EXPECT_THAT(NamesOf(*opened.pack), ElementsAre("a.txt"));
  EXPECT_EQ(Content(*opened.pack, "a.txt"), "aaaa");
  EXPECT_THAT(std::string(opened.pack->damage()), HasSubstr("behind entry 1"));
}

TEST(ZipPackTest, WhatIsNoZipIsRefusedByName) {
  auto store = std::make_shared<MemoryStore>();
  store->Put("x.zip", std::string(1000, 'x'));
  const auto pack = OpenZip({store, "x.zip"}, {});
  EXPECT_THAT(pack, HasCode(Code::kCorruption));
  EXPECT_THAT(std::string(pack.status().message()), HasSubstr("x.zip"));
  store->Put("empty.zip", "");
  EXPECT_THAT(OpenZip({store, "empty.zip"}, {}), HasCode(Code::kCorruption));
}

TEST(ZipPackTest, CutAnywhereItIsRefusedOrReadsRight) {
  ZipBuilder zip;
  zip.Add("a.txt", "aaaa");
  zip.Add("b.txt", std::string(300, 'b'));
  const std::string whole = zip.Finish();
  for (size_t size = 0; size < whole.size(); ++size) {
    auto store = std::make_shared<MemoryStore>();
    store->Put("x.zip", whole.substr(0, size));
    const auto pack = OpenZip({store, "x.zip"}, {});
    if (!pack.ok()) continue;
    for (const std::string& name : NamesOf(*pack.value())) {
      const std::string content = Content(*pack.value(), name);
      EXPECT_TRUE(content.starts_with("error: ") || content == "aaaa" ||
                  content == std::string(300, 'b'));
    }
  }
}

TEST(ZipPackTest, AByteThatIsWrongNeverGivesAnotherMembersBytes) {
  ZipBuilder zip;
  zip.Add("a.txt", "aaaa");
  zip.Add("b.txt", "bbbb");
  const std::string whole = zip.Finish();
  for (size_t at = 0; at < whole.size(); ++at) {
    for (const char flip : {'\x01', '\x80', '\xFF'}) {
      std::string bytes = whole;
      bytes[at] = static_cast<char>(bytes[at] ^ flip);
      auto store = std::make_shared<MemoryStore>();
      store->Put("x.zip", bytes);
      const auto pack = OpenZip({store, "x.zip"}, {});
      if (!pack.ok()) continue;
      EXPECT_EQ(Content(*pack.value(), "a.txt").find("bb"), std::string::npos);
      EXPECT_EQ(Content(*pack.value(), "b.txt").find("aa"), std::string::npos);
    }
  }
}

TEST(ZipPackTest, ALongDirectoryOfARemoteZipIsReadOnce) {
  const TempDir dir;
  ZipBuilder zip;
  for (int i = 0; i < 3000; ++i) {
    zip.Add(std::string(100, 'n') + std::to_string(i), "x");
  }
  StoreCapabilities capabilities;
  capabilities.remote = true;
  auto store = std::make_shared<MemoryStore>(capabilities);
  store->Put("x.zip", zip.Finish());
  OpenContext context;
  context.cache_directory = dir.path();
  ASSERT_OK(OpenZip({store, "x.zip"}, context));
  EXPECT_EQ(store->TakeLog().size(), 2u);
  ASSERT_OK_AND_ASSIGN(const auto again, OpenZip({store, "x.zip"}, context));
  EXPECT_EQ(store->TakeLog().size(), 1u);
  EXPECT_EQ(again->members().size(), 3000u);
  EXPECT_EQ(Content(*again, std::string(100, 'n') + "42"), "x");
}

char LetterOf(size_t i) { return static_cast<char>('a' + i % 26); }

TEST(ZipPackTest, MembersReadInOrderComeInFewRequests) {
  constexpr size_t kMembers = 2000;
  constexpr size_t kBytes = 5000;
  ZipBuilder zip;
  for (size_t i = 0; i < kMembers; ++i) {
    zip.Add(std::to_string(i) + ".bin", std::string(kBytes, LetterOf(i)));
  }
  StoreCapabilities capabilities;
  capabilities.remote = true;
  auto store = std::make_shared<MemoryStore>(capabilities);
  store->Put("x.zip", zip.Finish());
  BlockCache cache(64 << 20, nullptr);
  ReadStats stats;
  ReadaheadBudget ahead;
  ahead.bytes_max = 32 << 20;
  ThreadPool pool(2, 64);
  OpenContext context;
  context.read = {
      .stats = &stats, .cache = &cache, .pool = &pool, .ahead = &ahead};
  ASSERT_OK_AND_ASSIGN(const auto pack, OpenZip({store, "x.zip"}, context));
  store->TakeLog();
  for (size_t i = 0; i < kMembers; ++i) {
    EXPECT_EQ(TextOfSource(pack->OpenMember(i)),
              std::string(kBytes, LetterOf(i)));
    // A reader that never outruns what is brought ahead of it.
    while (ahead.in_use > 0) std::this_thread::yield();
  }
  EXPECT_LT(store->TakeLog().size(), 100u);
  EXPECT_LT(stats.data.requests, 100u);  // what was asked, once
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
