#include "storage/pack/pack_writer.h"

#include <fstream>

#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace rowfs {
namespace {

PackOptions Options(const std::string& folder) {
  PackOptions options;
  options.folder = folder;
  return options;
}

TEST(PackWriter, RollsByProjectedSizeAndReturnsReferences) {
  TempDir folder;
  PackOptions options = Options(folder / "media");
  options.pack_bytes_max = 22 + 2 * (10 + 76 + 2);
  ASSERT_OK_AND_ASSIGN(auto pack, PackWriter::Open(options));

  const std::string ten(10, 'x');
  EXPECT_EQ(pack->Add("a", AsBytes(ten)).value(),
            "zip://a::media/pack-0000.zip");
  EXPECT_EQ(pack->Add("b", AsBytes(ten)).value(),
            "zip://b::media/pack-0000.zip");
  EXPECT_EQ(pack->Add("c", AsBytes(ten)).value(),
            "zip://c::media/pack-0001.zip");
  ASSERT_OK(pack->Finish());
  EXPECT_EQ(ListZipNames(folder / "media"),
            (std::vector<std::string>{"pack-0000.zip", "pack-0001.zip"}));
}

TEST(PackWriter, KeepsAGroupInOneShardAndCountsThoseThatSplit) {
  TempDir folder;
  PackOptions options = Options(folder / "media");
  options.pack_bytes_max = 400;
  ASSERT_OK_AND_ASSIGN(auto pack, PackWriter::Open(options));
  const std::string bytes(60, 'x');

  ASSERT_OK(pack->Add("1", AsBytes(bytes), "one").status());
  ASSERT_OK(pack->Add("2", AsBytes(bytes), "one").status());
  // More than half full: the next group gets a shard of its own.
  EXPECT_EQ(pack->Add("3", AsBytes(bytes), "two").value(),
            "zip://3::media/pack-0001.zip");
  EXPECT_EQ(pack->Add("4", AsBytes(std::string(300, 'y')), "two").value(),
            "zip://4::media/pack-0002.zip");
  EXPECT_EQ(pack->groups_split(), 1u);
}

TEST(PackWriter, LeavesNothingBehindWithoutFinish) {
  TempDir folder;
  {
    ASSERT_OK_AND_ASSIGN(auto pack, PackWriter::Open(Options(folder / "a/b")));
    ASSERT_OK(pack->Add("k", AsBytes("bytes")).status());
  }
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

TEST(PackWriter, RefusesRepeatedAndUnusableKeysAndGoesOn) {
  TempDir folder;
  ASSERT_OK_AND_ASSIGN(auto pack, PackWriter::Open(Options(folder / "m")));
  ASSERT_OK(pack->Add("k", AsBytes("1")).status());

  EXPECT_THAT(pack->Add("k", AsBytes("2")), HasCode(Code::kAlreadyExists));
  for (const std::string key :
       {"", " k", "k\n", "/k", "a\\b", "a::b", "a:", "a//b", "../k"}) {
    EXPECT_THAT(pack->Add(key, AsBytes("2")), HasCode(Code::kInvalidArgument));
  }
  EXPECT_THAT(pack->Add(std::string("a\0b", 3), AsBytes("2")),
              HasCode(Code::kInvalidArgument));
  EXPECT_OK(pack->Finish());
  EXPECT_EQ(pack->blobs_written(), 1u);
}

TEST(PackWriter, RefusesAStreamThatIsShortOrLong) {
  for (const uint64_t size : {4u, 6u}) {
    TempDir folder;
    ASSERT_OK_AND_ASSIGN(auto pack, PackWriter::Open(Options(folder / "m")));
    bool given = false;

    EXPECT_THAT(pack->Add("k", size,
                          [&]() -> Result<ByteSpan> {
                            return std::exchange(given, true)
                                       ? ByteSpan()
                                       : AsBytes("12345");
                          }),
                HasCode(Code::kCorruption));
  }
}

TEST(PackWriter, RefusesAFolderWithAZip) {
  TempDir folder;
  std::ofstream(folder / "other.zip") << "";

  EXPECT_THAT(PackWriter::Open(Options(folder.path())).status(),
              HasCode(Code::kAlreadyExists));
  EXPECT_TRUE(std::filesystem::exists(folder / "other.zip"));
}

}  // namespace
}  // namespace rowfs
