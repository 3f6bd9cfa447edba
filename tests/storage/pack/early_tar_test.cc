#include "storage/pack/early_tar.h"

#include <gtest/gtest.h>

#include "storage/pack/pack_source.h"
#include "tests/storage/pack/pack_reads.h"
#include "tests/storage/pack/tar_builder.h"
#include "tests/support/memory_store.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace rowfs {
namespace {

std::shared_ptr<MemoryStore> StoreOf(
    const std::vector<std::pair<std::string, std::string>>& members) {
  TarBuilder tar;
  for (const auto& [name, data] : members) tar.Add(name, data);
  auto store = std::make_shared<MemoryStore>();
  store->Put("x.tar", tar.Finish());
  return store;
}

TEST(EarlyTarTest, SaysOfEachRowWhatTheTableWillSay) {
  const auto store = StoreOf({{"README", "no sample"},
                              {"a/1.JPG", "picture"},
                              {"a/1.cls", "4"},
                              {"a/2.json", "{}"},
                              {"a/2.jpg", "other"},
                              {".hidden.jpg", "hidden"},
                              {"a/2.cls", "5"},
                              {"b/3.bin", "could be anything"},
                              {"b/4.png", "last but one"},
                              {"b/5.png", "last"}});
  const auto early = EarlyTar::Begin({store, "x.tar"}, {}, 0);
  ASSERT_NE(early, nullptr);
  EXPECT_EQ(early->found().rows, 0u);

  const auto table = early->Finish();
  ASSERT_OK(table);
  const auto* rows = dynamic_cast<const FileRows*>(table.value().get());
  ASSERT_NE(rows, nullptr);
  EXPECT_EQ(early->fingerprint(), table.value()->fingerprint());
  EXPECT_EQ(table.value()->row_count(), 5u);
  // The last one could have gone on.
  EXPECT_EQ(early->found().rows, 4u);
  EXPECT_TRUE(early->found().ended);
  for (uint64_t row = 0; row < 4; ++row) {
    const auto told = early->FilesOf(row);
    EXPECT_EQ(told.has_value(), row != 2) << row;
    if (!told) continue;
    const auto whole = rows->FilesOf(row);
    ASSERT_TRUE(whole.has_value());
    EXPECT_EQ(told->key, whole->key);
    ASSERT_EQ(told->files.size(), whole->files.size());
    for (size_t i = 0; i < whole->files.size(); ++i) {
      EXPECT_EQ(told->files[i].name, whole->files[i].name);
      EXPECT_EQ(told->files[i].size, whole->files[i].size);
      EXPECT_EQ(told->files[i].field, whole->files[i].field);
      EXPECT_EQ(TextOfSource(early->OpenFile(told->files[i])),
                TextOfSource(rows->OpenFile(whole->files[i])));
    }
  }
  EXPECT_FALSE(early->FilesOf(4).has_value());
}

TEST(EarlyTarTest, LeavesAloneWhatThereIsNothingToGainFrom) {
  const auto store = StoreOf({{"1.jpg", "a"}, {"2.jpg", "b"}});
  store->Put("no.tar", std::string(2048, 'x'));
  store->Put("x.zip", "zip");
  const TempDir temp;
  OpenContext context;
  context.cache_directory = temp / "cache";

  EXPECT_EQ(EarlyTar::Begin({store, "no.tar"}, context, 0), nullptr);
  EXPECT_EQ(EarlyTar::Begin({store, "x.zip"}, context, 0), nullptr);
  EXPECT_EQ(EarlyTar::Begin({store, "absent.tar"}, context, 0), nullptr);
  EXPECT_EQ(EarlyTar::Begin({store, "x.tar"}, context, 1 << 20), nullptr);
  const auto early = EarlyTar::Begin({store, "x.tar"}, context, 0);
  ASSERT_NE(early, nullptr);
  EXPECT_OK(early->Finish());
  // Its index is kept now.
  EXPECT_EQ(EarlyTar::Begin({store, "x.tar"}, context, 0), nullptr);
}

TEST(EarlyTarTest, CanBeGivenUp) {
  const auto store = StoreOf({{"1.jpg", "a"}, {"2.jpg", "b"}});
  const auto early = EarlyTar::Begin({store, "x.tar"}, {}, 0);
  ASSERT_NE(early, nullptr);

  early->Cancel();

  EXPECT_TRUE(early->WaitForMore(100).ended);
  EXPECT_THAT(early->Finish(), HasCode(Code::kCancelled));
}

}  // namespace
}  // namespace rowfs
