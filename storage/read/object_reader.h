// One open object: its bytes at any offset, through the cache and the planner.
// Everything above storage/object reads through this, so what a read costs is
// decided and counted in one place.
//
// Thread-safe after Open; immutable.
#ifndef ROWFS_STORAGE_READ_OBJECT_READER_H_
#define ROWFS_STORAGE_READ_OBJECT_READER_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "storage/base/bytes.h"
#include "storage/base/thread_pool.h"
#include "storage/object/object_store.h"
#include "storage/read/range_planner.h"

namespace rowfs {

class BlockCache;

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

// One request as it went to a store; what `--trace` and `--stats` print.
struct ReadEvent {
  std::string_view uri;
  ByteRange range;
  ReadKind kind = ReadKind::kMetadata;
  int64_t elapsed_ns = 0;
};

// What readers share. Every pointer outlives the readers; `cache`, `pool` and
// `observer` may be null (no cache, no parallel requests, nobody watching).
struct ReadContext {
  ReadStats* stats = nullptr;
  BlockCache* cache = nullptr;
  ThreadPool* pool = nullptr;
  const std::function<void(const ReadEvent&)>* observer = nullptr;
};

class ObjectReader {
 public:
  // Learn size and etag, and keep the last `tail_bytes` at hand. One request
  // (Stat when `tail_bytes` is 0). Errors of ObjectStore::Stat.
  static Result<std::shared_ptr<const ObjectReader>> Open(
      const Location& location, uint64_t tail_bytes,
      const ReadContext& context);
  // An object whose size and etag are known already; no request.
  static std::shared_ptr<const ObjectReader> Make(const Location& location,
                                                  const ObjectMeta& meta,
                                                  const ReadContext& context);

  uint64_t size() const { return meta_.size; }
  const ObjectMeta& meta() const { return meta_; }
  const Location& location() const { return location_; }
  std::string uri() const { return location_.uri(); }

  // Read exactly out.size() bytes at `offset`. kCorruption, naming the object,
  // when it ends first; else the errors of ObjectStore::ReadAt. No request for
  // bytes in the kept tail or the cache, one for the rest, or one for every
  // 8 MiB, at once, on remote stores. Nothing beyond the range is read.
  Status ReadAt(uint64_t offset, MutableByteSpan out, ReadKind kind) const;
  Result<Bytes> Read(ByteRange range, ReadKind kind) const;

  // Several ranges, planned together, sent in parallel on the context's pool.
  // result[i] is wanted[i]. Limits by the store: no gap is read through on
  // local files, 64 KiB on remote stores for kMetadata, 0 for kData.
  Result<std::vector<Bytes>> ReadMany(std::span<const ByteRange> wanted,
                                      ReadKind kind) const;

 private:
  ObjectReader(Location location, ObjectMeta meta, Bytes tail,
               const ReadContext& context);

  Status CheckRange(ByteRange range) const;
  // What one request brings at most.
  uint64_t PartBytes() const;
  // Append the reads that fill `out` from `offset` on.
  void AddParts(uint64_t offset, MutableByteSpan out, ReadKind kind,
                std::vector<std::function<Status()>>* tasks) const;
  Status ReadStore(uint64_t offset, MutableByteSpan out, ReadKind kind) const;

  const Location location_;
  const ObjectMeta meta_;
  const Bytes tail_;  // the last tail_.size() bytes of the object
  const ReadContext context_;
  const std::string cache_key_;
};

}  // namespace rowfs
#endif  // ROWFS_STORAGE_READ_OBJECT_READER_H_
