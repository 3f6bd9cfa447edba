#include "storage/read/object_reader.h"

#include "storage/read/block_cache.h"
#include "tests/support/fault_store.h"
#include "tests/support/memory_store.h"
#include "tests/support/status_matchers.h"

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

TEST_F(ObjectReaderTest, TheObserverSeesEachRequest) {
  MakeStore(1000);
  std::vector<std::string> seen;
  const std::function<void(const ReadEvent&)> observer =
      [&](const ReadEvent& event) {
        seen.push_back(std::string(event.uri) + " " +
                       std::to_string(event.range.size()));
      };
  context_.observer = &observer;

  const auto reader = Open(64);
  Read(*reader, {0, 10});
  Read(*reader, {990, 1000});

  EXPECT_EQ(seen, (std::vector<std::string>{"memory://o 64", "memory://o 10"}));
}

}  // namespace
}  // namespace rowfs
