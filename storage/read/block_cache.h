// Bytes of remote objects kept in memory, and the place where readers of the
// same bytes meet: what one is fetching the others wait for. Reads are exact
// (one frame is one request of exactly its bytes), so the cache keeps extents,
// the very intervals that were read, cut at block boundaries so that eviction
// is fine-grained; a later read that overlaps asks only for what is missing.
//
// Thread-safe. The lock is never held across a fetch or a copy of bytes.
#ifndef ROWFS_STORAGE_READ_BLOCK_CACHE_H_
#define ROWFS_STORAGE_READ_BLOCK_CACHE_H_

#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "storage/base/bytes.h"
#include "storage/base/sync.h"
#include "storage/read/object_reader.h"

namespace rowfs {

class DiskCache;

// Where all of a read's bytes came from, at best.
enum class CacheResult { kMemory, kDisk, kFetched };

class BlockCache {
 public:
  // Extents never cross a multiple of this.
  static constexpr uint64_t kBlockBytes = 128 << 10;

  // Read `range` of the object into `out` (of that size).
  using Fetch = std::function<Status(ByteRange range, MutableByteSpan out)>;

  // Keeps at most `bytes_max`, its own overhead included. What is not in memory
  // is looked for in `disk` (which outlives it; null: none) before it is
  // fetched, and what was fetched is put there.
  explicit BlockCache(uint64_t bytes_max, DiskCache* disk = nullptr);

  // A key that begins with this is of an object without an etag: nothing would
  // tell its bytes of today from those of last week, so they are not put on
  // disk.
  static constexpr char kVolatile = '?';

  // Fill `out` with the bytes `range` of the object `key`: from memory, from
  // reads in flight, and by one call of `fetch` (from this thread, no lock
  // held) for the span of what is missing.
  //
  // Fails as `fetch` does; a failure reaches those who were waiting for the
  // same bytes and is not kept. Data reads leave at least half of the memory
  // to metadata. Requires: out.size() == range.size(), not empty.
  Result<CacheResult> Read(const std::string& key, ByteRange range,
                           ReadKind kind, MutableByteSpan out,
                           const Fetch& fetch) EXCLUDES(mu_);
  // Keep bytes that came another way.
  void Put(const std::string& key, ByteRange range, ReadKind kind,
           ByteSpan bytes) EXCLUDES(mu_);

  uint64_t bytes() const EXCLUDES(mu_);
  // Forget everything; reads in flight go on.
  void Clear() EXCLUDES(mu_);

 private:
  struct Object;
  struct Extent;
  struct Flight;
  // Bytes of the object from `begin` on, held until the read is over.
  struct Piece {
    uint64_t begin = 0;
    SharedBytes bytes;
  };
  using LruList = std::list<std::pair<Object*, uint64_t>>;
  struct Extent {
    SharedBytes bytes;
    ReadKind kind = ReadKind::kMetadata;
    LruList::iterator position;
  };
  struct Flight {
    ByteRange range;
    bool done = false;
    Status status;
    SharedBytes bytes;  // of `range`, when it went well
  };
  struct Object {
    std::string key;
    std::map<uint64_t, Extent> extents;  // by first byte, disjoint
    std::vector<std::shared_ptr<Flight>> flights;
  };

  // Fill a flight's bytes from disk and by `fetch`.
  Result<CacheResult> Fill(const std::string& key, ByteRange range,
                           MutableByteSpan out, const Fetch& fetch) const;
  // Add what memory has of `range` to `pieces`.
  void Collect(const std::string& key, ByteRange range,
               std::vector<Piece>* pieces) REQUIRES(mu_);
  // A read in flight that will bring some of `range`; null when there is none.
  std::shared_ptr<Flight> FindFlight(const std::string& key, ByteRange range)
      REQUIRES(mu_);
  std::shared_ptr<Flight> StartFlight(const std::string& key, ByteRange range)
      REQUIRES(mu_);
  void EndFlight(const std::string& key, const std::shared_ptr<Flight>& flight,
                 ReadKind kind) EXCLUDES(mu_);
  void Insert(Object* object, const Flight& flight, ReadKind kind)
      REQUIRES(mu_);
  void InsertExtent(Object* object, uint64_t begin, SharedBytes bytes,
                    ReadKind kind) REQUIRES(mu_);
  void Evict() REQUIRES(mu_);
  void Erase(Object* object, uint64_t begin) REQUIRES(mu_);
  void DropIfUnused(Object* object) REQUIRES(mu_);

  const uint64_t bytes_max_;
  DiskCache* const disk_;
  mutable Mutex mu_;
  CondVar flight_done_;
  std::map<std::string, std::unique_ptr<Object>, std::less<>> objects_
      GUARDED_BY(mu_);
  LruList lru_[2] GUARDED_BY(mu_);  // by ReadKind; newest first
  uint64_t bytes_[2] GUARDED_BY(mu_) = {0, 0};
};

}  // namespace rowfs
#endif  // ROWFS_STORAGE_READ_BLOCK_CACHE_H_
