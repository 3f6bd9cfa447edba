#include "storage/pack/shard_writer.h"

#include <fstream>
#include <iterator>

#include "storage/base/hash.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace rowfs {
namespace {

using Members = std::vector<std::pair<std::string, std::string>>;

// The SHA-256 of the shard that holds `members`.
std::string HashOfShard(const Members& members) {
  TempDir folder;
  auto shard = ShardWriter::Create(folder.path(), "s.zip").value();
  for (const auto& [key, bytes] : members) {
    EXPECT_OK(shard->Begin(key, bytes.size()));
    EXPECT_OK(shard->Write(AsBytes(bytes)));
    EXPECT_OK(shard->End());
  }
  EXPECT_OK(shard->Close());
  EXPECT_OK(shard->Publish());
  std::ifstream file(folder / "s.zip", std::ios::binary);
  const std::string text(std::istreambuf_iterator<char>(file), {});
  return ToHex(Sha256(AsBytes(text)));
}

// Made by CPython's zipfile: ZipFile("w", ZIP_STORED), open(ZipInfo(key), "w").
TEST(ShardWriter, WritesTheBytesOfZipfile) {
  EXPECT_EQ(HashOfShard({{"a.bin", std::string(64, 'A')}}),
            "edd48a2f1bfff2d0e521e3ff5c641b101d51278c45737d0477f63d6b4673726a");
  EXPECT_EQ(
      HashOfShard({{"images/0000.jpg", "hello"}, {"images/0001.jpg", "world"}}),
      "77a9ff22f0b9d90a473135d6c2127d5a9cf042082bb764a0d498a98db8160507");
  EXPECT_EQ(HashOfShard({{"empty.bin", ""}}),
            "e27a95ef2ddd1d5b49bdb18f30afdcfdfc3f172929361e9d467e8d5cb1c0af1a");
  EXPECT_EQ(HashOfShard(
                {{"images/0000.jpg", "hello"}, {"空.bin", ""}, {"é.bin", "x"}}),
            "ea7c377f9317f72747fbb9d1dc478d28db0e0008a756534681e01c49b967b8fc");
}

TEST(ShardWriter, ShowsNothingBeforePublish) {
  TempDir folder;
  {
    ASSERT_OK_AND_ASSIGN(auto shard,
                         ShardWriter::Create(folder.path(), "s.zip"));
    ASSERT_OK(shard->Begin("a", 3));
    ASSERT_OK(shard->Write(AsBytes("abc")));
    ASSERT_OK(shard->End());
    ASSERT_OK(shard->Close());
    EXPECT_FALSE(std::filesystem::exists(folder / "s.zip"));
  }
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

TEST(ShardWriter, RefusesAMemberOfAnotherSizeAndStaysRefused) {
  TempDir folder;
  ASSERT_OK_AND_ASSIGN(auto shard, ShardWriter::Create(folder.path(), "s.zip"));
  ASSERT_OK(shard->Begin("a", 3));
  ASSERT_OK(shard->Write(AsBytes("ab")));

  EXPECT_THAT(shard->End(), HasCode(Code::kCorruption));
  EXPECT_THAT(shard->Begin("b", 0), HasCode(Code::kCorruption));
  EXPECT_THAT(shard->Close(), HasCode(Code::kCorruption));
}

TEST(ShardWriter, ReplacesNothingThatIsThere) {
  TempDir folder;
  std::ofstream(folder / "s.zip") << "mine";
  ASSERT_OK_AND_ASSIGN(auto shard, ShardWriter::Create(folder.path(), "s.zip"));
  ASSERT_OK(shard->Close());

  EXPECT_THAT(shard->Publish(), HasCode(Code::kAlreadyExists));
}

}  // namespace
}  // namespace rowfs
