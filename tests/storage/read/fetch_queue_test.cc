#include "storage/read/fetch_queue.h"

#include <atomic>
#include <thread>

#include "storage/base/thread_pool.h"
#include "tests/support/status_matchers.h"

namespace rowfs {
namespace {

std::byte At(uint64_t offset) {
  return static_cast<std::byte>(offset * 31 % 251);
}

// A store whose answers wait until they are let go.
class GatedStore {
 public:
  Status Fetch(ByteRange range, MutableByteSpan out) {
    const MutexLock lock(mu_);
    requests_.push_back(range);
    ++inside_;
    most_inside_ = std::max(most_inside_, inside_);
    changed_.NotifyAll();
    while (!open_) changed_.Wait(mu_);
    --inside_;
    if (range.size() > size_max_) return {Code::kUnavailable, "too long"};
    for (size_t i = 0; i < out.size(); ++i) out[i] = At(range.begin + i);
    return {};
  }
  void WaitForRequests(size_t count) {
    const MutexLock lock(mu_);
    while (requests_.size() < count) changed_.Wait(mu_);
  }
  void Open() {
    const MutexLock lock(mu_);
    open_ = true;
    changed_.NotifyAll();
  }
  void RefuseAbove(uint64_t size) { size_max_ = size; }
  std::vector<ByteRange> requests() {
    const MutexLock lock(mu_);
    return requests_;
  }
  size_t most_inside() {
    const MutexLock lock(mu_);
    return most_inside_;
  }

 private:
  Mutex mu_;
  CondVar changed_;
  bool open_ GUARDED_BY(mu_) = false;
  uint64_t size_max_ = UINT64_MAX;
  size_t inside_ GUARDED_BY(mu_) = 0;
  size_t most_inside_ GUARDED_BY(mu_) = 0;
  std::vector<ByteRange> requests_ GUARDED_BY(mu_);
};

class FetchQueueTest : public ::testing::Test {
 protected:
  // One request to an object at a time; the first is held inside.
  void HoldFirst() {
    Start({1 << 20, (1 << 20) + 10});
    store_.WaitForRequests(1);
  }
  void Start(ByteRange range, const std::string& object = "o") {
    const size_t before = started_.load();
    pool_.Submit([this, range, object] {
      Bytes bytes(range.size());
      ++started_;
      const Status status = queue_.Read(
          this, object, range, bytes, [this](ByteRange r, MutableByteSpan out) {
            return store_.Fetch(r, out);
          });
      EXPECT_OK(status);
      for (size_t i = 0; i < bytes.size(); ++i) {
        ASSERT_EQ(bytes[i], At(range.begin + i));
      }
      ++done_;
    });
    while (started_ == before) std::this_thread::yield();
  }
  // Until all that were started are either inside or in the queue, there is no
  // telling from outside; a few turns of the scheduler do.
  void Settle() { RealClock().SleepMs(50); }
  void Finish(size_t count) {
    store_.Open();
    while (done_ < count) std::this_thread::yield();
  }

  RealClock clock_;
  GatedStore store_;
  FetchQueue queue_{{.per_store = 2, .per_object = 1}, clock_};
  std::atomic<size_t> started_{0};
  std::atomic<size_t> done_{0};
  ThreadPool pool_{16, 64};
};

TEST_F(FetchQueueTest, WithRoomEachReadIsItsOwnRequest) {
  store_.Open();
  for (uint64_t i = 0; i < 5; ++i) {
    Bytes bytes(10);
    EXPECT_OK(queue_.Read(this, "o", {i * 10, i * 10 + 10}, bytes,
                          [this](ByteRange r, MutableByteSpan out) {
                            return store_.Fetch(r, out);
                          }));
  }

  EXPECT_EQ(store_.requests().size(), 5U);
}

TEST_F(FetchQueueTest, WaitingReadsOfOneObjectAreMerged) {
  HoldFirst();
  for (uint64_t i = 0; i < 8; ++i) Start({i * 1000, i * 1000 + 100});
  Settle();
  Finish(9);

  ASSERT_EQ(store_.requests().size(), 2U);
  EXPECT_EQ(store_.requests()[1], (ByteRange{0, 7100}));
}

TEST_F(FetchQueueTest, ReadsFarApartAreNotMerged) {
  HoldFirst();
  Start({0, 100});
  Start({400 << 10, (400 << 10) + 100});
  Settle();
  Finish(3);

  EXPECT_EQ(store_.requests().size(), 3U);
}

TEST_F(FetchQueueTest, RequestsToAStoreAndToAnObjectAreBounded) {
  HoldFirst();
  for (uint64_t i = 0; i < 4; ++i) {
    Start({0, 100}, "o" + std::to_string(i));
  }
  store_.WaitForRequests(2);
  Settle();

  EXPECT_EQ(store_.requests().size(), 2U);
  Finish(5);
  EXPECT_EQ(store_.most_inside(), 2U);
  EXPECT_EQ(store_.requests().size(), 5U);
}

TEST_F(FetchQueueTest, AMergedRequestThatFailsIsTriedApart) {
  store_.RefuseAbove(100);
  HoldFirst();
  for (uint64_t i = 0; i < 3; ++i) Start({i * 1000, i * 1000 + 100});
  Settle();
  Finish(4);

  EXPECT_GT(store_.requests().size(), 4U);
}

TEST_F(FetchQueueTest, AFailureIsTheReadersOwn) {
  Bytes bytes(10);
  EXPECT_THAT(queue_.Read(this, "o", {0, 10}, bytes,
                          [](ByteRange, MutableByteSpan) {
                            return Status(Code::kNotFound, "gone");
                          }),
              HasCode(Code::kNotFound));
  store_.Open();
  EXPECT_OK(queue_.Read(this, "o", {0, 10}, bytes,
                        [this](ByteRange r, MutableByteSpan out) {
                          return store_.Fetch(r, out);
                        }));
}

}  // namespace
}  // namespace rowfs
