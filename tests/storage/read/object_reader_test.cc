#include "storage/read/object_reader.h"

#include <filesystem>
#include <fstream>
#include <optional>
#include <thread>

#include "storage/base/json.h"
#include "storage/base/keep_scope.h"
#include "storage/read/block_cache.h"
#include "storage/read/disk_cache.h"
#include "storage/read/meta_keeper.h"
#include "storage/read/read_trace.h"
#include "tests/support/fault_store.h"
#include "tests/support/memory_store.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace rowfs {
namespace {

constexpr StoreCapabilities kRemote{
    .list = true, .write = true, .remote = true};

std::string Text(size_t size) {
  std::string text(size, 'x');
  for (size_t i = 0; i < size; ++i) text[i] = static_cast<char>('a' + i % 23);
  return text;
}

class ObjectReaderTest : public ::testing::Test {
 protected:
  // A store with one object "o" of `size` bytes.
  void MakeStore(size_t size, StoreCapabilities capabilities = kRemote) {
    text_ = Text(size);
    store_ = std::make_shared<MemoryStore>(capabilities);
    store_->Put("o", text_);
    context_.stats = &stats_;
    context_.pool = &pool_;
  }
  std::shared_ptr<const ObjectReader> Open(uint64_t tail_bytes) {
    auto reader = ObjectReader::Open({store_, "o"}, tail_bytes, context_);
    EXPECT_OK(reader);
    return std::move(reader).value();
  }
  std::string Part(uint64_t begin, uint64_t end) const {
    return text_.substr(begin, end - begin);
  }
  static std::string Read(const ObjectReader& reader, ByteRange range,
                          ReadKind kind = ReadKind::kData) {
    const auto bytes = reader.Read(range, kind);
    EXPECT_OK(bytes);
    return std::string(AsText(bytes.value()));
  }

  std::string text_;
  std::shared_ptr<MemoryStore> store_;
  ReadStats stats_;
  ThreadPool pool_{4, 16};
  BlockCache cache_{1 << 20};
  ReadContext context_;
};

using Request = MemoryStore::Request;
using Log = std::vector<Request>;

TEST_F(ObjectReaderTest, OpenCostsOneRequest) {
  MakeStore(1000);

  const auto reader = Open(100);

  EXPECT_EQ(reader->size(), 1000U);
  EXPECT_EQ(store_->TakeLog(), (Log{{"ReadTail", "o", {900, 1000}}}));
  EXPECT_EQ(stats_.metadata.requests, 1U);
  EXPECT_EQ(stats_.metadata.bytes, 100U);
}

TEST_F(ObjectReaderTest, TheTailIsNotReadAgain) {
  MakeStore(1000);
  const auto reader = Open(100);
  store_->TakeLog();

  EXPECT_EQ(Read(*reader, {950, 1000}), Part(950, 1000));
  EXPECT_TRUE(store_->TakeLog().empty());
  EXPECT_EQ(Read(*reader, {850, 950}), Part(850, 950));
  EXPECT_EQ(store_->TakeLog(), (Log{{"ReadAt", "o", {850, 900}}}));
}

TEST_F(ObjectReaderTest, AReadIsOneRequestOfExactlyItsBytes) {
  MakeStore(1'000'000);
  context_.cache = &cache_;
  const auto reader = Open(0);
  store_->TakeLog();

  EXPECT_EQ(Read(*reader, {12'345, 200'000}), Part(12'345, 200'000));

  EXPECT_EQ(store_->TakeLog(), (Log{{"ReadAt", "o", {12'345, 200'000}}}));
  EXPECT_EQ(stats_.data.requests, 1U);
  EXPECT_EQ(stats_.data.bytes, 187'655U);
  EXPECT_EQ(stats_.cache_misses, 1U);
}

TEST_F(ObjectReaderTest, RemoteBytesAreCachedAndLocalOnesAreNot) {
  MakeStore(1000);
  context_.cache = &cache_;
  const auto remote = Open(0);
  EXPECT_EQ(Read(*remote, {0, 10}), Read(*remote, {0, 10}));
  EXPECT_EQ(store_->TakeLog().size(), 2U);
  EXPECT_EQ(stats_.cache_hits, 1U);

  MakeStore(1000, {});
  const auto local = Open(0);
  EXPECT_EQ(Read(*local, {0, 10}), Read(*local, {0, 10}));
  EXPECT_EQ(store_->TakeLog().size(), 3U);
}

TEST_F(ObjectReaderTest, ReadManyMergesWhatTouches) {
  MakeStore(1000);
  const auto reader = Open(0);
  store_->TakeLog();
  const std::vector<ByteRange> wanted = {{10, 20}, {30, 40}, {20, 30}, {5, 5}};

  ASSERT_OK_AND_ASSIGN(const auto parts,
                       reader->ReadMany(wanted, ReadKind::kData));

  EXPECT_EQ(AsText(parts[0]), Part(10, 20));
  EXPECT_EQ(AsText(parts[1]), Part(30, 40));
  EXPECT_EQ(AsText(parts[2]), Part(20, 30));
  EXPECT_TRUE(parts[3].empty());
  EXPECT_EQ(store_->TakeLog(), (Log{{"ReadAt", "o", {10, 40}}}));
}

TEST_F(ObjectReaderTest, OnlyMetadataIsReadThroughHoles) {
  MakeStore(1000);
  const auto reader = Open(0);
  store_->TakeLog();
  const std::vector<ByteRange> wanted = {{10, 20}, {600, 640}};

  EXPECT_OK(reader->ReadMany(wanted, ReadKind::kData));
  EXPECT_EQ(store_->TakeLog().size(), 2U);
  EXPECT_OK(reader->ReadMany(wanted, ReadKind::kMetadata));
  EXPECT_EQ(store_->TakeLog(), (Log{{"ReadAt", "o", {10, 640}}}));

  MakeStore(1000, {});
  const auto local = Open(0);
  store_->TakeLog();
  EXPECT_OK(local->ReadMany(wanted, ReadKind::kMetadata));
  EXPECT_EQ(store_->TakeLog().size(), 2U);
}

TEST_F(ObjectReaderTest, LongRemoteReadsGoAsSeveralRequests) {
  MakeStore(20 << 20);
  context_.cache = &cache_;
  const auto remote = Open(0);
  store_->TakeLog();
  const std::vector<ByteRange> wanted = {{5, 20 << 20}};

  EXPECT_EQ(Read(*remote, {0, 20 << 20}), text_);
  EXPECT_EQ(store_->TakeLog().size(), 3U);
  ASSERT_OK_AND_ASSIGN(const auto parts,
                       remote->ReadMany(wanted, ReadKind::kData));
  EXPECT_EQ(AsText(parts[0]), text_.substr(5));

  MakeStore(20 << 20, {});
  const auto local = Open(0);
  store_->TakeLog();
  EXPECT_EQ(Read(*local, {0, 20 << 20}), text_);
  EXPECT_EQ(store_->TakeLog().size(), 1U);
}

TEST_F(ObjectReaderTest, ReadManyUsesTheTail) {
  MakeStore(1000);
  const auto reader = Open(100);
  store_->TakeLog();
  const std::vector<ByteRange> wanted = {{0, 10}, {990, 1000}};

  ASSERT_OK_AND_ASSIGN(const auto parts,
                       reader->ReadMany(wanted, ReadKind::kData));

  EXPECT_EQ(AsText(parts[1]), Part(990, 1000));
  EXPECT_EQ(store_->TakeLog(), (Log{{"ReadAt", "o", {0, 10}}}));
}

TEST_F(ObjectReaderTest, PastTheEndIsCorruptionWithoutARequest) {
  MakeStore(1000);
  const auto reader = Open(0);
  store_->TakeLog();
  const std::vector<ByteRange> wanted = {{0, 10}, {990, 1001}};

  EXPECT_THAT(reader->Read({990, 1001}, ReadKind::kData),
              HasCode(Code::kCorruption));
  EXPECT_THAT(reader->Read({UINT64_MAX - 1, UINT64_MAX}, ReadKind::kData),
              HasCode(Code::kCorruption));
  EXPECT_THAT(reader->ReadMany(wanted, ReadKind::kData),
              HasCode(Code::kCorruption));
  Bytes out(10);
  EXPECT_THAT(reader->ReadAt(UINT64_MAX - 1, out, ReadKind::kData),
              HasCode(Code::kCorruption));
  EXPECT_TRUE(store_->TakeLog().empty());
}

TEST_F(ObjectReaderTest, AnObjectThatEndsEarlyIsCorruption) {
  MakeStore(1000);
  const auto faulty =
      std::make_shared<FaultStore>(store_, Faults{.ends_at = 500});
  ASSERT_OK_AND_ASSIGN(const auto reader,
                       ObjectReader::Open({faulty, "o"}, 0, context_));

  EXPECT_THAT(reader->Read({495, 505}, ReadKind::kData),
              HasCode(Code::kCorruption));
  EXPECT_TRUE(faulty->fired());
}

TEST_F(ObjectReaderTest, AReplacedObjectIsChanged) {
  MakeStore(1000);
  const auto reader = Open(0);
  store_->Put("o", "new bytes");

  EXPECT_THAT(reader->Read({0, 5}, ReadKind::kData), HasCode(Code::kChanged));
}

TEST_F(ObjectReaderTest, EachFailedRequestFailsTheReadWithItsCode) {
  MakeStore(1000);
  const std::vector<ByteRange> wanted = {{0, 10}, {100, 110}, {200, 210}};
  for (uint64_t nth = 1;; ++nth) {
    const auto faulty = std::make_shared<FaultStore>(
        store_, Faults{.fail_from = nth, .fail_to = nth});
    const auto reader = ObjectReader::Open({faulty, "o"}, 10, context_);
    Status status = reader.status();
    if (status.ok()) {
      status = reader.value()->ReadMany(wanted, ReadKind::kData).status();
    }

    if (!faulty->fired()) {
      EXPECT_OK(status);
      EXPECT_EQ(nth, 5U);
      break;
    }
    EXPECT_THAT(status, HasCode(Code::kUnavailable));
  }
}

TEST_F(ObjectReaderTest, TheTraceShowsEachRequest) {
  MakeStore(1000);
  const TempDir folder;
  RealClock clock;
  const std::string path = folder.path() + "/trace";
  ASSERT_OK_AND_ASSIGN(const auto trace, ReadTrace::Open(path, clock));
  context_.trace = trace.get();

  const auto reader = Open(64);
  Read(*reader, {0, 10});
  Read(*reader, {990, 1000});

  std::ifstream lines(path);
  std::vector<std::string> seen;
  for (std::string line; std::getline(lines, line);) {
    ASSERT_OK_AND_ASSIGN(const Json json, ParseJson(line));
    seen.push_back(json.Find("object")->text + " " + json.Find("what")->text +
                   " " + std::to_string(*json.Find("length")->AsUint()));
  }
  EXPECT_EQ(seen, (std::vector<std::string>{"memory://o open 64",
                                            "memory://o read 10"}));
}

class PinnedReaderTest : public ObjectReaderTest {
 protected:
  PinnedReaderTest() {
    MakeStore(1000);
    context_.cache = &disk_backed_;
    context_.metas = &metas_;
    context_.pin = "manifest 1";
  }
  Log Asked() { return store_->TakeLog(); }

  const TempDir folder_;
  RealClock clock_;
  DiskCache disk_{folder_ / "blocks", 1 << 24, clock_};
  BlockCache disk_backed_{1 << 20, &disk_};
  MetaKeeper metas_{disk_};
};

TEST_F(PinnedReaderTest, TheFirstReadIsTheOnlyRequest) {
  ASSERT_OK_AND_ASSIGN(const auto reader,
                       ObjectReader::OpenLater({store_, "o"}, context_));
  EXPECT_EQ(Read(*reader, {100, 200}), Part(100, 200));
  EXPECT_EQ(Read(*reader, {100, 200}), Part(100, 200));
  EXPECT_EQ(reader->size(), 1000U);

  // MemoryStore has no ReadFirst of its own: Stat and ReadAt stand for it.
  EXPECT_EQ(Asked().size(), 2U);
}

TEST_F(PinnedReaderTest, ALaterRunAsksForNothing) {
  {
    ASSERT_OK_AND_ASSIGN(const auto reader,
                         ObjectReader::Open({store_, "o"}, 64, context_, true));
    Read(*reader, {0, 10});
  }
  disk_backed_.Clear();
  Asked();
  ASSERT_OK_AND_ASSIGN(const auto reader,
                       ObjectReader::Open({store_, "o"}, 64, context_, true));
  EXPECT_EQ(Read(*reader, {0, 10}), Part(0, 10));
  EXPECT_EQ(Read(*reader, {936, 1000}), Part(936, 1000));

  EXPECT_EQ(Asked(), Log());
}

TEST_F(PinnedReaderTest, AnotherPinAsksAgain) {
  ASSERT_OK(ObjectReader::Open({store_, "o"}, 64, context_, true));
  Asked();
  context_.pin = "manifest 2";
  ASSERT_OK(ObjectReader::Open({store_, "o"}, 64, context_, true));

  EXPECT_EQ(Asked().size(), 1U);
}

TEST_F(PinnedReaderTest, AReplacedObjectIsChangedAndLoggedOnce) {
  std::vector<std::string> lines;
  Logger log(LogLevel::kWarn,
             [&](std::string_view line) { lines.emplace_back(line); });
  context_.log = &log;
  ASSERT_OK_AND_ASSIGN(const auto reader,
                       ObjectReader::OpenLater({store_, "o"}, context_));
  Read(*reader, {0, 10});
  store_->Put("o", std::string(1000, 'z'));
  Bytes bytes(10);

  EXPECT_THAT(reader->ReadAt(500, bytes, ReadKind::kData),
              HasCode(Code::kChanged));
  EXPECT_THAT(reader->ReadAt(600, bytes, ReadKind::kData),
              HasCode(Code::kChanged));
  EXPECT_EQ(Read(*reader, {0, 10}), Part(0, 10));
  EXPECT_EQ(lines.size(), 1U);
}

TEST_F(PinnedReaderTest, AfterAChangeALaterRunLooksForItself) {
  {
    ASSERT_OK_AND_ASSIGN(const auto reader,
                         ObjectReader::OpenLater({store_, "o"}, context_));
    Read(*reader, {0, 10});
    store_->Put("o", text_);
    Bytes bytes(10);
    EXPECT_THAT(reader->ReadAt(500, bytes, ReadKind::kData),
                HasCode(Code::kChanged));
  }
  ASSERT_OK_AND_ASSIGN(const auto reader,
                       ObjectReader::OpenLater({store_, "o"}, context_));

  EXPECT_EQ(Read(*reader, {500, 510}), Part(500, 510));
}

TEST_F(PinnedReaderTest, WhatEndsTooSoonIsSaidWhenItIsRead) {
  ASSERT_OK_AND_ASSIGN(const auto reader,
                       ObjectReader::OpenLater({store_, "o"}, context_));
  Bytes bytes(10);

  EXPECT_OK(reader->CheckEnd(5000));
  EXPECT_THAT(reader->ReadAt(2000, bytes, ReadKind::kData),
              HasCode(Code::kCorruption));
}

TEST_F(ObjectReaderTest, ASequentialPassIsBroughtAheadAndARandomOneIsNot) {
  MakeStore(4 << 20);
  ReadaheadBudget budget{.bytes_max = 1 << 20};
  BlockCache cache(16 << 20);
  context_.cache = &cache;
  context_.ahead = &budget;
  constexpr uint64_t kRead = 64 << 10;
  const auto reader = Open(0);
  for (const uint64_t at : {40U, 3U, 25U, 11U}) {
    EXPECT_EQ(Read(*reader, {at * kRead, (at + 1) * kRead}),
              Part(at * kRead, (at + 1) * kRead));
  }
  EXPECT_EQ(stats_.data.requests, 4U);

  for (uint64_t at = 0; at < text_.size(); at += kRead) {
    EXPECT_EQ(Read(*reader, {at, at + kRead}), Part(at, at + kRead));
    while (budget.in_use > 0) std::this_thread::yield();
  }

  EXPECT_LT(stats_.data.requests, 4U + text_.size() / kRead / 2);
  EXPECT_LE(stats_.data.bytes, text_.size() + 4 * kRead);
}

// Bytes on disk after a reader went from end to end of an object.
uint64_t KeptBytes(const std::string& folder) {
  uint64_t bytes = 0;
  for (const auto& entry :
       std::filesystem::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file()) bytes += entry.file_size();
  }
  return bytes;
}

TEST_F(ObjectReaderTest, LongPassesAreKeptOnDiskOnlyWhenThatIsWanted) {
  constexpr uint64_t kSize = 64 << 20;
  MakeStore(kSize);
  RealClock clock;
  for (const bool wanted : {false, true}) {
    const TempDir folder;
    DiskCache disk(folder / "cache", 1 << 30, clock);
    BlockCache cache(256 << 20, &disk);
    ReadaheadBudget budget{.bytes_max = 64 << 20};
    context_.cache = &cache;
    context_.ahead = &budget;
    const auto reader = Open(0);
    std::optional<KeepScope> keep;
    if (wanted) keep.emplace();
    for (uint64_t at = 0; at < kSize; at += 1 << 20) {
      ASSERT_EQ(Read(*reader, {at, at + (1 << 20)}), Part(at, at + (1 << 20)));
    }
    while (budget.in_use > 0) std::this_thread::yield();

    if (wanted) {
      EXPECT_GE(KeptBytes(folder / "cache"), kSize);
    } else {
      EXPECT_LE(KeptBytes(folder / "cache"), kSize / 4 * 3);
      EXPECT_GE(KeptBytes(folder / "cache"), kSize / 8);
    }
    EXPECT_LE(stats_.data.bytes, kSize * (wanted ? 2 : 1));
  }
}

}  // namespace
}  // namespace rowfs
