#include "storage/read/cached_store.h"

#include "storage/read/meta_keeper.h"
#include "tests/support/fake_clock.h"
#include "tests/support/memory_store.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace rowfs {
namespace {

constexpr StoreCapabilities kRemote{
    .list = true, .write = true, .remote = true};

std::string Names(const std::vector<ListEntry>& entries) {
  std::string names;
  for (const ListEntry& entry : entries) names += entry.name + " ";
  return names;
}

class CachedStoreTest : public ::testing::Test {
 protected:
  CachedStoreTest() {
    inner_->Put("d/a", "alpha");
    inner_->Put("d/b", std::string(100'000, 'b'));
  }
  std::shared_ptr<CachedStore> Make(bool offline = false) {
    return std::make_shared<CachedStore>(
        inner_, CachedStore::Options{.disk = &disk_,
                                     .stats = &stats_,
                                     .clock = &clock_,
                                     .offline = offline});
  }
  // "Stat List ReadAt ..." since the last call.
  std::string Asked() {
    std::string methods;
    for (const auto& request : inner_->TakeLog())
      methods += request.method + " ";
    return methods;
  }

  const TempDir folder_;
  FakeClock clock_;
  RealClock real_clock_;
  DiskCache disk_{folder_ / "blocks", 1 << 24, real_clock_};
  ReadStats stats_;
  std::shared_ptr<MemoryStore> inner_ = std::make_shared<MemoryStore>(kRemote);
};

TEST_F(CachedStoreTest, AListingSpeaksForItsObjects) {
  const auto store = Make();
  ASSERT_OK(store->List("d"));
  Asked();

  EXPECT_EQ(store->Stat("d/a").value().size, 5U);
  EXPECT_EQ(AsText(store->ReadTail("d/a", 100).value().bytes), "alpha");

  EXPECT_EQ(Asked(), "ReadAt ");
}

TEST_F(CachedStoreTest, AnOldListingSpeaksForNothing) {
  const auto store = Make();
  ASSERT_OK(store->List("d"));
  clock_.SleepMs(6'000);
  Asked();

  ASSERT_OK(store->Stat("d/a"));
  ASSERT_OK(store->List("d"));

  EXPECT_EQ(Asked(), "Stat List ");
}

TEST_F(CachedStoreTest, AnObjectReplacedSinceItWasListedIsReadAnew) {
  const auto store = Make();
  ASSERT_OK(store->List("d"));
  inner_->Put("d/a", "omega!");

  EXPECT_EQ(AsText(store->ReadTail("d/a", 100).value().bytes), "omega!");
}

TEST_F(CachedStoreTest, AWriteMakesItForget) {
  const auto store = Make();
  ASSERT_OK(store->List("d"));
  ASSERT_OK(WriteWhole({store, "d/c"}, AsBytes("c"), PutMode::kIfAbsent));

  EXPECT_EQ(Names(store->List("d").value()), "a b c ");
  ASSERT_OK(store->Remove("d/a"));
  EXPECT_EQ(Names(store->List("d").value()), "b c ");
  EXPECT_THAT(store->Stat("d/a"), HasCode(Code::kNotFound));
}

TEST_F(CachedStoreTest, ASmallObjectIsReadOnceForAllRuns) {
  {
    const auto store = Make();
    ASSERT_OK(store->List("d"));
    ASSERT_OK(ReadWhole({store, "d/b"}, 1 << 20));
  }
  Asked();
  const auto store = Make();
  ASSERT_OK(store->List("d"));
  ASSERT_OK_AND_ASSIGN(const Bytes bytes, ReadWhole({store, "d/b"}, 1 << 20));

  EXPECT_EQ(Asked(), "List ");
  EXPECT_EQ(AsText(bytes), std::string(100'000, 'b'));
}

TEST_F(CachedStoreTest, OfflineServesTheLastAnswersAndNamesTheRest) {
  {
    const auto store = Make();
    ASSERT_OK(store->List("d"));
    ASSERT_OK(store->ReadTail("d/a", 100));
    EXPECT_THAT(store->Stat("d/none"), HasCode(Code::kNotFound));
    EXPECT_THAT(store->List("e"), HasCode(Code::kNotFound));
  }
  Asked();
  const auto store = Make(/*offline=*/true);

  EXPECT_EQ(Names(store->List("d").value()), "a b ");
  EXPECT_THAT(store->List("e"), HasCode(Code::kNotFound));
  EXPECT_THAT(store->List("f"), HasCode(Code::kUnavailable));
  EXPECT_THAT(store->Stat("d/none"), HasCode(Code::kNotFound));
  const auto b = ReadWhole({store, "d/b"}, 1 << 20);
  EXPECT_THAT(b, HasCode(Code::kUnavailable));
  EXPECT_THAT(std::string(b.status().message()),
              ::testing::HasSubstr("memory://d/b: not in the cache"));
  EXPECT_THAT(store->Create("d/c", PutMode::kOverwrite),
              HasCode(Code::kUnavailable));
  EXPECT_EQ(Asked(), "");
}

TEST_F(CachedStoreTest, OfflineAListingSpeaksForWhatWasReadByIt) {
  {
    const auto store = Make();
    ASSERT_OK(store->List("d"));
    ASSERT_OK(store->ReadTail("d/a", 100));
  }
  clock_.SleepMs(60'000);
  const auto store = Make(/*offline=*/true);

  EXPECT_EQ(AsText(store->ReadTail("d/a", 100).value().bytes), "alpha");
}

TEST_F(CachedStoreTest, RequestsAreCounted) {
  const auto store = Make();
  ASSERT_OK(store->List("d"));
  ASSERT_OK(store->List("d"));
  ASSERT_OK(store->ReadTail("d/a", 100));

  EXPECT_EQ(stats_.metadata.requests, 2U);
  EXPECT_EQ(stats_.metadata.bytes, 5U);
}

TEST_F(CachedStoreTest, FactsAreKeptExactly) {
  MetaKeeper keeper(disk_);
  const ObjectMeta meta{.size = 1, .etag = "\"e\"", .mtime_ns = -5};
  keeper.PutMeta("k", meta);
  keeper.PutListing("l", {{"x", true, {}}, {"y", false, meta}});
  keeper.PutListing("empty", {});

  ASSERT_TRUE(keeper.GetMeta("k"));
  EXPECT_EQ(keeper.GetMeta("k")->etag, "\"e\"");
  EXPECT_EQ(keeper.GetMeta("k")->mtime_ns, -5);
  EXPECT_EQ(Names(*keeper.GetListing("l")), "x y ");
  EXPECT_TRUE(keeper.GetListing("empty")->empty());
  EXPECT_FALSE(keeper.GetListing("none"));
  EXPECT_FALSE(keeper.GetMeta("l"));
  keeper.PutMeta("k", {.size = 7});
  EXPECT_EQ(keeper.GetMeta("k")->size, 7U);
}

}  // namespace
}  // namespace rowfs
