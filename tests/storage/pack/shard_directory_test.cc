#include "storage/pack/shard_directory.h"

#include <fstream>

#include "storage/object/local_store.h"
#include "storage/pack/pack_writer.h"
#include "storage/pack/shard_check.h"
#include "tests/support/memory_store.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace rowfs {
namespace {

// A shard of two members, as bytes.
std::string TwoMembers() {
  TempDir folder;
  PackOptions options;
  options.folder = folder / "m";
  auto pack = PackWriter::Open(options).value();
  EXPECT_OK(pack->Add("a.bin", AsBytes(std::string(64, 'A'))).status());
  EXPECT_OK(pack->Add("d/é", AsBytes("text")).status());
  EXPECT_OK(pack->Finish());
  std::ifstream file(folder / "m/pack-0000.zip", std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

struct InMemory {
  explicit InMemory(const std::string& bytes)
      : store(std::make_shared<MemoryStore>()) {
    store->Put("s.zip", ToBytes(bytes));
    shard.location = {store, "s.zip"};
    shard.meta = store->Stat("s.zip").value();
  }
  std::shared_ptr<MemoryStore> store;
  ShardObject shard;
};

TEST(ShardDirectory, ReadsWhatTheWriterWrote) {
  const InMemory memory(TwoMembers());

  ASSERT_OK_AND_ASSIGN(const ShardDirectory directory,
                       ReadShardDirectory(memory.shard));
  ASSERT_EQ(directory.members.size(), 2u);
  EXPECT_EQ(directory.members[0].name, "a.bin");
  EXPECT_EQ(directory.members[1].name, "d/é");
  EXPECT_EQ(directory.members[1].size, 4u);
  EXPECT_EQ(directory.members[1].header_offset, 30 + 5 + 64);
}

// Every prefix and every changed byte gives an answer or an error.
TEST(ShardDirectory, SurvivesDamageAnywhere) {
  const std::string good = TwoMembers();
  ThreadPool pool(1, 4);
  std::atomic<uint64_t> done = 0;
  for (size_t i = 0; i < good.size(); ++i) {
    const InMemory cut(good.substr(0, i));
    EXPECT_FALSE(ReadShardDirectory(cut.shard).ok());
    for (const char c : {'\0', '\xff', '\x7f'}) {
      std::string bytes = good;
      bytes[i] = c;
      const InMemory memory(bytes);
      const auto directory = ReadShardDirectory(memory.shard);
      if (directory.ok()) {
        CheckShardMembers(memory.shard, directory.value(), pool, &done);
      }
    }
  }
}

TEST(ShardDirectory, NamesTheMemberWithOtherBytes) {
  std::string bytes = TwoMembers();
  bytes[40] = 'B';
  const InMemory memory(bytes);
  ASSERT_OK_AND_ASSIGN(const ShardDirectory directory,
                       ReadShardDirectory(memory.shard));
  ThreadPool pool(2, 4);
  std::atomic<uint64_t> done = 0;

  const ShardVerdict verdict =
      CheckShardMembers(memory.shard, directory, pool, &done);

  EXPECT_EQ(verdict.kind, ShardVerdict::Kind::kBadMember);
  EXPECT_EQ(verdict.text, "a.bin");
}

TEST(ShardDirectory, NamesSurviveBothEncodings) {
  EXPECT_EQ(DecodeMemberName("\x82", 0).value(), "é");
  EXPECT_EQ(EncodeMemberName("é", 0), "\x82");
  EXPECT_EQ(EncodeMemberName("空", 0), "空");
  EXPECT_EQ(EncodeMemberName("é", kZipUtf8), "é");
  EXPECT_THAT(DecodeMemberName("a\xff", kZipUtf8), HasCode(Code::kCorruption));
}

}  // namespace
}  // namespace rowfs
