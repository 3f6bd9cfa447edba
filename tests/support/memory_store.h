// An ObjectStore in a map that writes down what it was asked for, so that tests
// assert which ranges a read cost.
//
// Thread-safe.
#ifndef ROWFS_TESTS_SUPPORT_MEMORY_STORE_H_
#define ROWFS_TESTS_SUPPORT_MEMORY_STORE_H_

#include <map>
#include <string>
#include <vector>

#include "storage/base/sync.h"
#include "storage/object/object_store.h"

namespace rowfs {

class MemoryStore final : public ObjectStore {
 public:
  // One thing a caller asked for. `range` is what ReadAt and ReadTail brought.
  struct Request {
    std::string method;  // "Stat", "ReadAt", "ReadTail", "List", ...
    std::string path;
    ByteRange range;
    bool operator==(const Request&) const = default;
  };

  explicit MemoryStore(StoreCapabilities capabilities = {})
      : capabilities_(capabilities) {}

  // Set the bytes of `path`; its etag changes each time.
  void Put(const std::string& path, ByteSpan bytes) EXCLUDES(mu_);
  void Put(const std::string& path, std::string_view text) EXCLUDES(mu_) {
    Put(path, AsBytes(text));
  }
  // What was asked for since the last call, in order.
  std::vector<Request> TakeLog() EXCLUDES(mu_);

  StoreCapabilities capabilities() const override { return capabilities_; }
  std::string Uri(const std::string& path) const override {
    return "memory://" + path;
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
  friend class MemoryWriter;
  struct Object {
    Bytes bytes;
    uint64_t version = 0;
  };

  static ObjectMeta MetaOf(const Object& object);
  Result<const Object*> Find(const std::string& path) REQUIRES(mu_);
  Status Publish(const std::string& path, ByteSpan bytes, PutMode mode)
      EXCLUDES(mu_);

  const StoreCapabilities capabilities_;
  Mutex mu_;
  std::map<std::string, Object> objects_ GUARDED_BY(mu_);
  std::vector<Request> log_ GUARDED_BY(mu_);
  uint64_t versions_ GUARDED_BY(mu_) = 0;
};

}  // namespace rowfs
#endif  // ROWFS_TESTS_SUPPORT_MEMORY_STORE_H_
