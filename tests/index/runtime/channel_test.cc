#include "index/runtime/channel.h"

#include <unistd.h>

#include "index/runtime/protocol.h"
#include "storage/base/clock.h"
#include "tests/support/status_matchers.h"

namespace rowfs {
namespace {

TEST(Frames, ArriveWholeAndInOrder) {
  ASSERT_OK_AND_ASSIGN(const auto sockets, MakeSocketPair());
  ASSERT_OK(SendFrame(sockets.first.get(), AsBytes("one")));
  ASSERT_OK(SendFrame(sockets.first.get(), AsBytes("two")));
  Bytes buffer;

  ASSERT_OK_AND_ASSIGN(ByteSpan frame,
                       ReceiveFrame(sockets.second.get(), 0, &buffer));
  EXPECT_EQ(AsText(frame), "one");
  ASSERT_OK_AND_ASSIGN(frame, ReceiveFrame(sockets.second.get(), 0, &buffer));
  EXPECT_EQ(AsText(frame), "two");
}

TEST(Frames, SayWhenTheOtherSideIsGone) {
  ASSERT_OK_AND_ASSIGN(auto sockets, MakeSocketPair());
  sockets.first.Reset();
  Bytes buffer;

  EXPECT_THAT(ReceiveFrame(sockets.second.get(), 0, &buffer),
              HasCode(Code::kUnavailable));
  EXPECT_THAT(SendFrame(sockets.second.get(), AsBytes("x")),
              HasCode(Code::kUnavailable));
}

TEST(Frames, WaitUntilTheDeadline) {
  ASSERT_OK_AND_ASSIGN(const auto sockets, MakeSocketPair());
  RealClock clock;
  const int64_t deadline_ns = clock.MonotonicNs() + 20'000'000;
  Bytes buffer;

  EXPECT_THAT(ReceiveFrame(sockets.second.get(), deadline_ns, &buffer),
              HasCode(Code::kDeadlineExceeded));
  EXPECT_GE(clock.MonotonicNs(), deadline_ns);
}

TEST(Frames, LargerThanAllowedAreRefused) {
  ASSERT_OK_AND_ASSIGN(const auto sockets, MakeSocketPair());
  ASSERT_OK(SendFrame(sockets.first.get(), Bytes(kFrameBytesMax + 5)));
  Bytes buffer;

  EXPECT_THAT(ReceiveFrame(sockets.second.get(), 0, &buffer),
              HasCode(Code::kCorruption));
}

TEST(Frames, NeverWaitForAReaderThatDoesNotRead) {
  ASSERT_OK_AND_ASSIGN(const auto sockets, MakeSocketPair());
  Status status;
  for (int i = 0; i < 10'000 && status.ok(); ++i) {
    status = SendFrame(sockets.first.get(), Bytes(1000));
  }

  EXPECT_THAT(status, HasCode(Code::kUnavailable));
}

TEST(SharedRegion, IsSeenOnBothSides) {
  ASSERT_OK_AND_ASSIGN(const Fd fd, SharedRegion::Make(1 << 20));
  ASSERT_OK_AND_ASSIGN(
      SharedRegion writer,
      SharedRegion::Map(fd.get(), 1 << 20, SharedRegion::Access::kWrite));
  ASSERT_OK_AND_ASSIGN(
      const SharedRegion reader,
      SharedRegion::Map(fd.get(), 4096, SharedRegion::Access::kRead));

  writer.writable()[100] = std::byte{42};

  EXPECT_EQ(reader.bytes()[100], std::byte{42});
}

TEST(SharedRegion, CannotChangeItsSize) {
  ASSERT_OK_AND_ASSIGN(const Fd fd, SharedRegion::Make(8192));

  EXPECT_NE(ftruncate(fd.get(), 0), 0);
  EXPECT_NE(ftruncate(fd.get(), 1 << 20), 0);
}

TEST(SharedRegion, GivesItsMemoryBack) {
  ASSERT_OK_AND_ASSIGN(const Fd fd, SharedRegion::Make(1 << 20));
  ASSERT_OK_AND_ASSIGN(
      SharedRegion region,
      SharedRegion::Map(fd.get(), 1 << 20, SharedRegion::Access::kWrite));
  region.writable()[0] = std::byte{1};
  region.writable()[8192] = std::byte{2};

  region.Release(4096);

  EXPECT_EQ(region.bytes()[0], std::byte{1});
  EXPECT_EQ(region.bytes()[8192], std::byte{0});
}

}  // namespace
}  // namespace rowfs
