// Wraps a store and goes wrong on demand: the nth request fails, bytes end
// early, the etag moves under the reader, everything is slow.
//
// Thread-safe; faults are set before the requests they are meant for.
#ifndef ROWFS_TESTS_SUPPORT_FAULT_STORE_H_
#define ROWFS_TESTS_SUPPORT_FAULT_STORE_H_

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "storage/base/clock.h"
#include "storage/object/object_store.h"

namespace rowfs {

struct Faults {
  // Requests (reads, Stat, List, Create, Finish, Remove) counted from 1; those
  // from `fail_from` to `fail_to` fail. 0: none.
  uint64_t fail_from = 0;
  uint64_t fail_to = 0;
  Code fail_code = Code::kUnavailable;
  // Reads past this offset fail as if the object ended there.
  uint64_t ends_at = UINT64_MAX;
  // Reads from this request on find another etag. 0: never.
  uint64_t changes_at = 0;
  int64_t delay_ms = 0;
};

class FaultStore final : public ObjectStore {
 public:
  explicit FaultStore(std::shared_ptr<ObjectStore> store, Faults faults = {})
      : store_(std::move(store)), faults_(faults) {}

  uint64_t request_count() const { return requests_; }
  // Whether any fault was met: a test of errors asserts it.
  bool fired() const { return fired_; }

  StoreCapabilities capabilities() const override {
    return store_->capabilities();
  }
  std::string Uri(const std::string& path) const override {
    return store_->Uri(path);
  }
  Result<ObjectMeta> Stat(const std::string& path) override;
  Status ReadAt(const ObjectRef& object, uint64_t offset,
                MutableByteSpan out) override;
  Result<Tail> ReadTail(const std::string& path, uint64_t wanted) override;
  Result<std::vector<ListEntry>> List(const std::string& directory) override;
  Result<std::unique_ptr<ObjectWriter>> Create(const std::string& path,
                                               PutMode mode) override;
  Status Remove(const std::string& path) override;

 private:
  friend class FaultWriter;
  // Count a request; the fault that it meets, if any.
  Status Meet(const std::string& path);

  const std::shared_ptr<ObjectStore> store_;
  const Faults faults_;
  RealClock clock_;
  std::atomic<uint64_t> requests_{0};
  std::atomic<bool> fired_{false};
};

}  // namespace rowfs
#endif  // ROWFS_TESTS_SUPPORT_FAULT_STORE_H_
