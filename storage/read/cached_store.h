// Wraps a remote store: what was listed need not be asked about one by one,
// small objects that are read whole are kept on disk, every request is counted
// and traced, and without a network the last answers are given.
//
// A listing is as good as asking about each of its objects for a few seconds:
// what uses it later reads with the etag pinned, so the bytes are right or the
// read says that the object has changed and asks again. A write through this
// store makes it forget.
//
// Thread-safe.
#ifndef ROWFS_STORAGE_READ_CACHED_STORE_H_
#define ROWFS_STORAGE_READ_CACHED_STORE_H_

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "storage/base/clock.h"
#include "storage/base/sync.h"
#include "storage/object/object_store.h"
#include "storage/read/disk_cache.h"
#include "storage/read/object_reader.h"

namespace rowfs {

class CachedStore final : public ObjectStore {
 public:
  struct Options {
    DiskCache* disk = nullptr;  // null: nothing is kept between runs
    ReadStats* stats = nullptr;
    ReadTrace* trace = nullptr;
    Clock* clock = nullptr;  // never null
    bool offline = false;
  };

  // Everything in `options` outlives it.
  CachedStore(std::shared_ptr<ObjectStore> store, const Options& options)
      : store_(std::move(store)), options_(options) {}

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
  ObjectStore& direct() override { return *store_; }

 private:
  friend class CachedWriter;
  struct Listing {
    std::vector<ListEntry> entries;
    int64_t listed_ns = 0;
  };

  // What a listing said about `path` a moment ago.
  std::optional<ObjectMeta> FindListed(const std::string& path) EXCLUDES(mu_);
  // What an earlier run found out about it, size UINT64_MAX: there is none.
  std::optional<ObjectMeta> FindKept(const std::string& path) const;
  void Forget() EXCLUDES(mu_);
  // The bytes [begin, begin + out.size()) from disk; false when any is missing.
  bool ReadKept(const std::string& path, const std::string& etag,
                uint64_t begin, MutableByteSpan out) const;
  void Keep(const std::string& path, const std::string& etag, uint64_t begin,
            ByteSpan bytes) const;
  Result<Tail> TailOf(const std::string& path, const ObjectMeta& meta,
                      uint64_t wanted);
  Status NotKept(const std::string& path) const;
  void Note(const std::string& path, std::string_view what, ByteRange range,
            int64_t begin_ns, const Status& status) const;
  int64_t Now() const { return options_.clock->MonotonicNs(); }

  const std::shared_ptr<ObjectStore> store_;
  const Options options_;
  Mutex mu_;
  std::map<std::string, Listing> listings_ GUARDED_BY(mu_);  // by directory
};

}  // namespace rowfs
#endif  // ROWFS_STORAGE_READ_CACHED_STORE_H_
