#include "storage/pack/tar_pack.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <zlib.h>
#include <zstd.h>

#include <filesystem>
#include <fstream>

#include "tests/storage/pack/pack_reads.h"
#include "tests/storage/pack/tar_builder.h"
#include "tests/support/memory_store.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace rowfs {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

struct OpenedTar {
  std::shared_ptr<MemoryStore> store;
  std::shared_ptr<const Pack> pack;
};

OpenedTar OpenBytes(std::string_view bytes, bool remote = false) {
  StoreCapabilities capabilities;
  capabilities.remote = remote;
  OpenedTar tar{std::make_shared<MemoryStore>(capabilities), nullptr};
  tar.store->Put("x.tar", bytes);
  auto pack = OpenTar({tar.store, "x.tar"}, {});
  EXPECT_OK(pack);
  if (pack.ok()) tar.pack = pack.value();
  return tar;
}

std::string Gzip(std::string_view text) {
  z_stream z = {};
  EXPECT_EQ(deflateInit2(&z, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY),
            Z_OK);
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

std::string Zstd(std::string_view text) {
  Bytes out(ZSTD_compressBound(text.size()));
  out.resize(
      ZSTD_compress(out.data(), out.size(), text.data(), text.size(), 3));
  return std::string(AsText(out));
}

std::string Noise(size_t size) {
  std::string text;
  for (uint64_t i = 0; text.size() < size; ++i) {
    text += std::to_string(i * 6364136223846793005u + 1442695040888963407u);
  }
  text.resize(size);
  return text;
}

TEST(TarPackTest, MembersAreRangesOfTheShard) {
  TarBuilder tar;
  tar.Add("d/", "", '5');
  tar.Add("d/a.txt", "aaaa");
  tar.Add("d/b.txt", std::string(1000, 'b'));
  tar.Add("fifo", "", '6');
  tar.Add("old.txt", "old", '\0');
  const OpenedTar opened = OpenBytes(tar.Finish());
  EXPECT_THAT(NamesOf(*opened.pack),
              ElementsAre("d/a.txt", "d/b.txt", "old.txt"));
  EXPECT_EQ(Content(*opened.pack, "d/a.txt"), "aaaa");
  EXPECT_EQ(Content(*opened.pack, "d/b.txt"), std::string(1000, 'b'));
  EXPECT_EQ(Content(*opened.pack, "old.txt"), "old");
  ASSERT_OK_AND_ASSIGN(const BlobSource source, opened.pack->OpenMember(0));
  EXPECT_EQ(source.range, (ByteRange{1024, 1028}));
  EXPECT_EQ(opened.pack->damage(), "");
}

TEST(TarPackTest, LongNamesComeFromPaxAndGnuHeaders) {
  const std::string name = "deep/" + std::string(120, 'n') + "/x.txt";
  TarBuilder tar;
  tar.Add("PaxHeader", TarBuilder::PaxRecord("path", name), 'x');
  tar.Add("cut", "pax");
  tar.Add("././@LongLink", name + "2" + std::string(1, '\0'), 'L');
  tar.Add("cut", "gnu");
  tar.Add("global", TarBuilder::PaxRecord("comment", "nothing"), 'g');
  tar.Add("plain.txt", "plain");
  const OpenedTar opened = OpenBytes(tar.Finish());
  EXPECT_THAT(NamesOf(*opened.pack),
              ElementsAre(name, name + "2", "plain.txt"));
  EXPECT_EQ(Content(*opened.pack, name), "pax");
  EXPECT_EQ(Content(*opened.pack, name + "2"), "gnu");
  EXPECT_EQ(Content(*opened.pack, "plain.txt"), "plain");
}

TEST(TarPackTest, ASizeInPaxIsTheOneThatCounts) {
  TarBuilder tar;
  tar.Add("PaxHeader", TarBuilder::PaxRecord("size", "600"), 'x');
  tar.AddSized("a.txt", std::string(600, 'a'), 0);
  tar.Add("b.txt", "b");
  const OpenedTar opened = OpenBytes(tar.Finish());
  EXPECT_EQ(Content(*opened.pack, "a.txt"), std::string(600, 'a'));
  EXPECT_EQ(Content(*opened.pack, "b.txt"), "b");
}

TEST(TarPackTest, LinksLeadToMembersOrNowhere) {
  TarBuilder tar;
  tar.Add("p/a.bin", "target");
  tar.Add("p/hard.bin", "", '1', "p/a.bin");
  tar.Add("p/soft.bin", "", '2', "../p/./a.bin");
  tar.Add("p/chain.bin", "", '2', "soft.bin");
  tar.Add("p/out.bin", "", '2', "../../etc/hostname");
  tar.Add("p/root.bin", "", '2', "/etc/hostname");
  tar.Add("p/self.bin", "", '2', "self.bin");
  tar.Add("p/early.bin", "", '2', "late.bin");
  tar.Add("p/late.bin", "late");
  const OpenedTar opened = OpenBytes(tar.Finish());
  EXPECT_EQ(Content(*opened.pack, "p/hard.bin"), "target");
  EXPECT_EQ(Content(*opened.pack, "p/soft.bin"), "target");
  EXPECT_EQ(Content(*opened.pack, "p/chain.bin"), "target");
  EXPECT_EQ(Content(*opened.pack, "p/early.bin"), "late");
  for (const char* name : {"p/out.bin", "p/root.bin", "p/self.bin"}) {
    EXPECT_THAT(Content(*opened.pack, name), HasSubstr("is a link")) << name;
  }
}

TEST(TarPackTest, SparseFilesHaveTheirHoles) {
  const std::string content =
      std::string(1000, '\0') + "middle" + std::string(500, '\0');
  TarBuilder tar;
  // PAX 0.1 and 1.0.
  tar.Add("x",
          TarBuilder::PaxRecord("GNU.sparse.size", "1506") +
              TarBuilder::PaxRecord("GNU.sparse.map", "1000,6,1506,0"),
          'x');
  tar.Add("a.bin", "middle");
  tar.Add("x",
          TarBuilder::PaxRecord("GNU.sparse.major", "1") +
              TarBuilder::PaxRecord("GNU.sparse.minor", "0") +
              TarBuilder::PaxRecord("GNU.sparse.name", "b.bin") +
              TarBuilder::PaxRecord("GNU.sparse.realsize", "1506"),
          'x');
  std::string map = "2\n1000\n6\n1506\n0\n";
  map.resize(512);
  tar.Add("GNUSparseFile/b.bin", map + "middle");
  // Pieces out of order, and more than there is.
  tar.Add("x",
          TarBuilder::PaxRecord("GNU.sparse.size", "1506") +
              TarBuilder::PaxRecord("GNU.sparse.map", "1000,600"),
          'x');
  tar.Add("c.bin", "middle");
  tar.Add("d.bin", "plain");
  const OpenedTar opened = OpenBytes(tar.Finish());
  EXPECT_EQ(Content(*opened.pack, "a.bin"), content);
  EXPECT_EQ(Content(*opened.pack, "b.bin"), content);
  EXPECT_THAT(Content(*opened.pack, "c.bin"), HasSubstr("error: "));
  EXPECT_EQ(Content(*opened.pack, "d.bin"), "plain");
}

TEST(TarPackTest, ConcatenatedTarsAreOne) {
  TarBuilder one;
  one.Add("a.txt", "a");
  TarBuilder two;
  two.Add("b.txt", "b");
  const OpenedTar opened = OpenBytes(one.Finish() + two.Finish());
  EXPECT_THAT(NamesOf(*opened.pack), ElementsAre("a.txt", "b.txt"));
  EXPECT_EQ(Content(*opened.pack, "b.txt"), "b");
}

TEST(TarPackTest, ACutTarKeepsWhatIsWhole) {
  TarBuilder tar;
  tar.Add("a.txt", "aaaa");
  tar.Add("b.txt", std::string(2000, 'b'));
  const std::string whole = tar.Finish();
  const OpenedTar data = OpenBytes(whole.substr(0, 2048));
  EXPECT_EQ(Content(*data.pack, "a.txt"), "aaaa");
  EXPECT_THAT(Content(*data.pack, "b.txt"), HasSubstr("cut off"));
  EXPECT_THAT(std::string(data.pack->damage()), HasSubstr("inside b.txt"));
  const OpenedTar header = OpenBytes(whole.substr(0, 1100));
  EXPECT_THAT(NamesOf(*header.pack), ElementsAre("a.txt"));
  EXPECT_THAT(std::string(header.pack->damage()), HasSubstr("header"));
  const OpenedTar no_end = OpenBytes(tar.Unfinished());
  EXPECT_EQ(Content(*no_end.pack, "b.txt"), std::string(2000, 'b'));
  EXPECT_THAT(std::string(no_end.pack->damage()), HasSubstr("no end mark"));
}

TEST(TarPackTest, ADamagedHeaderCostsItsOwnMemberAlone) {
  TarBuilder tar;
  tar.Add("a.txt", "aaaa");
  tar.Add("b.txt", std::string(2000, 'b'));
  tar.Add("c.txt", "cccc");
  std::string bytes = tar.Finish();
  bytes[1024 + 3] = 'X';
  const OpenedTar opened = OpenBytes(bytes);
  EXPECT_THAT(NamesOf(*opened.pack), ElementsAre("a.txt", "c.txt"));
  EXPECT_EQ(Content(*opened.pack, "c.txt"), "cccc");
  EXPECT_THAT(std::string(opened.pack->damage()), HasSubstr("byte 1024"));
}

TEST(TarPackTest, WhatIsNoTarIsRefusedByName) {
  auto store = std::make_shared<MemoryStore>();
  store->Put("x.tar", std::string(2000, 'x'));
  const auto pack = OpenTar({store, "x.tar"}, {});
  EXPECT_THAT(pack, HasCode(Code::kCorruption));
  EXPECT_THAT(std::string(pack.status().message()), HasSubstr("x.tar"));
}

TEST(TarPackTest, CompressedTarsReadFromAnywhere) {
  const std::string noise = Noise(5'000'000);
  TarBuilder tar;
  tar.Add("a.txt", noise);
  tar.Add("b.txt", "bbbb");
  const std::string plain = tar.Finish();
  for (const std::string& bytes :
       {Gzip(plain),
        Gzip(plain.substr(0, 2'000'000)) + Gzip(plain.substr(2'000'000)),
        Zstd(plain),
        Zstd(plain.substr(0, 3'000'000)) + Zstd(plain.substr(3'000'000))}) {
    const OpenedTar opened = OpenBytes(bytes);
    EXPECT_EQ(Content(*opened.pack, "b.txt"), "bbbb");
    EXPECT_TRUE(Content(*opened.pack, "a.txt") == noise);
    for (const uint64_t at : {4'999'000u, 10u, 2'500'000u}) {
      Bytes part(100);
      ASSERT_OK(opened.pack->ReadMember(0, at, part));
      EXPECT_EQ(AsText(part), noise.substr(at, 100));
    }
    EXPECT_EQ(opened.pack->damage(), "");
    // Cut off: what is whole stays.
    const OpenedTar cut = OpenBytes(bytes.substr(0, bytes.size() / 2));
    EXPECT_THAT(NamesOf(*cut.pack), ElementsAre("a.txt"));
    EXPECT_THAT(Content(*cut.pack, "a.txt"), HasSubstr("error: "));
    EXPECT_NE(cut.pack->damage(), "");
  }
}

TEST(TarPackTest, ARemoteTarSkipsWhatIsInLongMembers) {
  TarBuilder tar;
  for (int i = 0; i < 4; ++i) {
    tar.Add(std::to_string(i) + ".bin", std::string(10'000'000, 'x'));
  }
  const OpenedTar opened = OpenBytes(tar.Finish(), true);
  EXPECT_EQ(opened.pack->members().size(), 4u);
  uint64_t bytes = 0;
  for (const auto& request : opened.store->TakeLog()) {
    bytes += request.range.size();
  }
  EXPECT_LT(bytes, 5'000'000u);
}

TEST(TarPackTest, TheIndexIsMadeOnceAndKept) {
  const TempDir dir;
  TarBuilder tar;
  tar.Add("a.txt", "aaaa");
  tar.Add("b.bin", Noise(3'000'000));
  for (const std::string& bytes : {tar.Finish(), Gzip(tar.Finish())}) {
    auto store = std::make_shared<MemoryStore>();
    store->Put("x.tar", bytes);
    OpenContext context;
    context.cache_directory = dir.path();
    ASSERT_OK(OpenTar({store, "x.tar"}, context));
    store->TakeLog();
    ASSERT_OK_AND_ASSIGN(const auto again, OpenTar({store, "x.tar"}, context));
    EXPECT_LE(store->TakeLog().size(), 2u);  // what it is, and its magic
    EXPECT_EQ(Content(*again, "a.txt"), "aaaa");
    // Another object of that name is indexed anew.
    TarBuilder other;
    other.Add("c.txt", "cccc");
    store->Put("x.tar", other.Finish());
    ASSERT_OK_AND_ASSIGN(const auto changed,
                         OpenTar({store, "x.tar"}, context));
    EXPECT_THAT(NamesOf(*changed), ElementsAre("c.txt"));
  }
}

TEST(TarPackTest, ADamagedIndexIsMadeAnew) {
  const TempDir dir;
  TarBuilder tar;
  tar.Add("a.txt", "aaaa");
  auto store = std::make_shared<MemoryStore>();
  store->Put("x.tar", tar.Finish());
  OpenContext context;
  context.cache_directory = dir.path();
  ASSERT_OK(OpenTar({store, "x.tar"}, context));
  size_t files = 0;
  for (const auto& entry :
       std::filesystem::directory_iterator(dir.path() + "/packs")) {
    ++files;
    struct ::stat status {};
    ASSERT_EQ(::stat(entry.path().c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777, 0600u);
    std::fstream file(entry.path(), std::ios::in | std::ios::out);
    file.seekp(45);
    file.put('X');
  }
  EXPECT_EQ(files, 1u);
  ASSERT_OK_AND_ASSIGN(const auto again, OpenTar({store, "x.tar"}, context));
  EXPECT_EQ(Content(*again, "a.txt"), "aaaa");
}

TEST(TarPackTest, AByteThatIsWrongNeverGivesAnotherMembersBytes) {
  TarBuilder tar;
  tar.Add("a.txt", "aaaa");
  tar.Add("b.txt", "bbbb");
  const std::string whole = tar.Finish();
  for (size_t at = 0; at < whole.size(); ++at) {
    std::string bytes = whole;
    bytes[at] = static_cast<char>(bytes[at] ^ 1);
    auto store = std::make_shared<MemoryStore>();
    store->Put("x.tar", bytes);
    const auto pack = OpenTar({store, "x.tar"}, {});
    if (!pack.ok()) continue;
    EXPECT_EQ(Content(*pack.value(), "a.txt").find("bb"), std::string::npos);
    EXPECT_EQ(Content(*pack.value(), "b.txt").find("aa"), std::string::npos);
  }
}

}  // namespace
}  // namespace rowfs
