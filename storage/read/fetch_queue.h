// Where reads of all threads wait for their turn at a store. Requests to one
// store, and to one of its objects, are bounded; what has to wait is merged
// with the other waiting reads of the same object that lie near, so that a
// crowd of small reads comes out as few requests. As long as there is room,
// nothing is delayed and nothing is read in excess.
//
// Thread-safe. No lock is held across a fetch.
#ifndef ROWFS_STORAGE_READ_FETCH_QUEUE_H_
#define ROWFS_STORAGE_READ_FETCH_QUEUE_H_

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "storage/base/bytes.h"
#include "storage/base/clock.h"
#include "storage/base/sync.h"
#include "storage/read/link_speed.h"

namespace rowfs {

struct FetchLimits {
  size_t per_store = 64;                 // requests at a time
  size_t per_object = 32;                // of them to one object
  uint64_t request_bytes_max = 8 << 20;  // of a merged request
};

class FetchQueue {
 public:
  // Read `range` of the object into `out` (of that size): one request.
  using Fetch = std::function<Status(ByteRange range, MutableByteSpan out)>;

  // `clock` outlives it.
  FetchQueue(const FetchLimits& limits, Clock& clock)
      : limits_(limits), clock_(clock) {}

  // Fill `out` with `range` of `object` in `store` by `fetch`, when there is
  // room; or by a request of another reader that covers it. Fails as `fetch`
  // does; a merged request that fails is tried again apart.
  Status Read(const void* store, const std::string& object, ByteRange range,
              MutableByteSpan out, const Fetch& fetch) EXCLUDES(mu_);

  // What is cheaper to read through than to leave out, as measured so far.
  uint64_t GapBytes(const void* store) EXCLUDES(mu_);

 private:
  struct Waiter {
    const std::string* object = nullptr;
    ByteRange range;
    MutableByteSpan out;
    bool may_go = false;
    bool done = false;
    CondVar woken;
  };
  struct Store {
    size_t active = 0;
    std::map<std::string, size_t> by_object;
    std::deque<Waiter*> waiting;  // longest first
    LinkSpeed speed;
  };

  Store& StoreOf(const void* store) REQUIRES(mu_);
  bool HasRoom(const Store& store, const std::string& object) const;
  void Enter(Store& store, const std::string& object) REQUIRES(mu_);
  // Give up a place and hand it on.
  void Leave(Store& store, const std::string& object) REQUIRES(mu_);
  // Take the waiting reads near `range` out of the queue; `range` grows over
  // them.
  std::vector<Waiter*> TakeMates(Store& store, const std::string& object,
                                 ByteRange* range) REQUIRES(mu_);
  // Put them back in front.
  void Return(Store& store, const std::vector<Waiter*>& mates) REQUIRES(mu_);

  const FetchLimits limits_;
  Clock& clock_;
  Mutex mu_;
  std::map<const void*, std::unique_ptr<Store>> stores_ GUARDED_BY(mu_);
};

}  // namespace rowfs
#endif  // ROWFS_STORAGE_READ_FETCH_QUEUE_H_
