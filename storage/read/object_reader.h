// One open object: its bytes at any offset, through the cache and the planner.
// Everything above storage/object reads through this, so what a read costs is
// decided and counted in one place.
//
// Thread-safe after Open.
#ifndef ROWFS_STORAGE_READ_OBJECT_READER_H_
#define ROWFS_STORAGE_READ_OBJECT_READER_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "storage/base/bytes.h"
#include "storage/base/log.h"
#include "storage/base/sync.h"
#include "storage/base/thread_pool.h"
#include "storage/object/object_store.h"
#include "storage/read/range_planner.h"
#include "storage/read/readahead.h"

namespace rowfs {

class BlockCache;
class FetchQueue;
class MetaKeeper;
class ReadTrace;

// What a read is for. Blob payload is kData; manifests, footers, page tables,
// table cells and indexes are kMetadata.
enum class ReadKind { kMetadata, kData };

// What was asked of the stores. Counters only; shared by everything one process
// opens.
struct ReadStats {
  struct Counter {
    std::atomic<uint64_t> requests{0};
    std::atomic<uint64_t> bytes{0};
  };
  Counter metadata;
  Counter data;
  std::atomic<uint64_t> cache_hits{0};
  std::atomic<uint64_t> cache_misses{0};

  Counter& of(ReadKind kind) {
    return kind == ReadKind::kData ? data : metadata;
  }
};

// What readers share. Every pointer outlives the readers; all may be null: not
// counted, nothing kept, one request at a time, no bounds, nothing ahead,
// nobody watching.
struct ReadContext {
  ReadStats* stats = nullptr;
  BlockCache* cache = nullptr;
  ThreadPool* pool = nullptr;
  FetchQueue* queue = nullptr;
  MetaKeeper* metas = nullptr;
  ReadaheadBudget* ahead = nullptr;
  ReadTrace* trace = nullptr;
  Logger* log = nullptr;
  // Identifies what names the objects (a manifest): an object that is written
  // once under its name is the same as long as this is. Empty: nothing is.
  std::string pin;
};

class ObjectReader : public std::enable_shared_from_this<ObjectReader> {
 public:
  // Learn size and etag, and keep the last `tail_bytes` at hand. One request
  // (Stat when `tail_bytes` is 0). Errors of ObjectStore::Stat. With `pinned`
  // (the object is written once under its name, which something identified by
  // `context.pin` gives) no request when size and etag are kept from an earlier
  // run.
  static Result<std::shared_ptr<const ObjectReader>> Open(
      const Location& location, uint64_t tail_bytes, const ReadContext& context,
      bool pinned = false);
  // A pinned object that need not be looked at before it is read: no request on
  // a remote store, size and etag come with the first read.
  static Result<std::shared_ptr<const ObjectReader>> OpenLater(
      const Location& location, const ReadContext& context);
  // An object whose size and etag are known already; no request.
  static std::shared_ptr<const ObjectReader> Make(const Location& location,
                                                  const ObjectMeta& meta,
                                                  const ReadContext& context);

  // One request where they are not known yet; then size 0 and no etag when it
  // fails.
  uint64_t size() const { return meta().size; }
  const ObjectMeta& meta() const;
  // kCorruption, naming the object, when it is known to end before `end`.
  Status CheckEnd(uint64_t end) const;
  const Location& location() const { return location_; }
  std::string uri() const { return location_.uri(); }

  // Read exactly out.size() bytes at `offset`. kCorruption, naming the object,
  // when it ends first; else the errors of ObjectStore::ReadAt. No request for
  // bytes in the kept tail or the cache, one for the rest, or one for every
  // 8 MiB, at once, on remote stores. Nothing beyond the range is read, but
  // that the continuation of a long sequential pass of kData may be brought
  // ahead, in the background. A changed object is kChanged and a line in the
  // log.
  Status ReadAt(uint64_t offset, MutableByteSpan out, ReadKind kind) const;
  Result<Bytes> Read(ByteRange range, ReadKind kind) const;

  // Several ranges, planned together, sent in parallel on the context's pool.
  // result[i] is wanted[i]. Gaps are read through only on remote stores and
  // only for kMetadata, as far as the store's speed makes that worth it.
  Result<std::vector<Bytes>> ReadMany(std::span<const ByteRange> wanted,
                                      ReadKind kind) const;

 private:
  // What is known of the object; set once, and then for good.
  struct Known {
    ObjectMeta meta;
    std::string cache_key;
  };

  ObjectReader(Location location, std::optional<ObjectMeta> meta, Bytes tail,
               const ReadContext& context);

  // Null as long as nothing has been read of an object opened with OpenLater.
  std::shared_ptr<const Known> known() const EXCLUDES(mu_);
  // An answer said `meta`; kChanged when another said otherwise.
  Status Learn(const ObjectMeta& meta) const EXCLUDES(mu_);
  void KeepMeta(const ObjectMeta& meta) const;

  Status CheckRange(ByteRange range) const;
  // What one request brings at most.
  uint64_t PartBytes() const;
  uint64_t GapBytes(ReadKind kind) const;
  // Append the reads that fill `out` from `offset` on.
  void AddParts(uint64_t offset, MutableByteSpan out, ReadKind kind,
                std::vector<std::function<Status()>>* tasks) const;
  // ReadAt without thinking ahead.
  Status ReadNow(uint64_t offset, MutableByteSpan out, ReadKind kind) const;
  Status ReadThroughCache(ByteRange range, MutableByteSpan out,
                          ReadKind kind) const;
  // Wait for a turn, ask the store, count.
  Status Fetch(const Known* known, ByteRange range, MutableByteSpan out,
               ReadKind kind) const;
  Status Ask(const Known* known, ByteRange range, MutableByteSpan out,
             ReadKind kind) const;
  void BringAhead(ByteRange range) const;
  void NoteChange(const Status& status) const;

  const Location location_;
  const Bytes tail_;  // the last tail_.size() bytes of the object
  const ReadContext context_;
  const uint64_t id_;  // of this reader among all
  const bool remote_;
  mutable Readahead readahead_;
  mutable Mutex mu_;
  mutable std::shared_ptr<const Known> known_ GUARDED_BY(mu_);
  mutable bool change_noted_ GUARDED_BY(mu_) = false;
};

}  // namespace rowfs
#endif  // ROWFS_STORAGE_READ_OBJECT_READER_H_
