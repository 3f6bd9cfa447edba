// Bytes of remote objects kept in memory, and the place where readers of the
// same bytes meet: what one is fetching the others wait for. Reads are exact
// (one frame is one request of exactly its bytes), so the cache keeps extents,
// the very intervals that were read, cut at block boundaries so that eviction
// is fine-grained; a later read that overlaps asks only for what is missing.
// Long reads are the exception: they are kept in the buffer they arrived in.
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

#include "storage/base/buffer.h"
#include "storage/base/bytes.h"
#include "storage/base/sync.h"
#include "storage/object/gradual_reads.h"
#include "storage/read/object_reader.h"

namespace rowfs {

class DiskCache;

// Where all of a read's bytes came from, at best.
enum class CacheResult { kMemory, kDisk, kFetched };

class BlockCache {
 public:
  // Extents of short reads never cross a multiple of this.
  static constexpr uint64_t kBlockBytes = 128 << 10;

  // Read `range` of the object into `out` (of that size).
  using Fetch = std::function<Status(ByteRange range, MutableByteSpan out)>;
  // The same, telling how far it is.
  using GradualFetch = std::function<Status(
      ByteRange range, MutableByteSpan out, const ReadProgress& progress)>;

  // Keeps at most `bytes_max`, its own overhead included. What is not in memory
  // is looked for in `disk` (which outlives it; null: none) before it is
  // fetched, and what was fetched is put there, after its readers have it.
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
  // The same without copying: `pieces` are the bytes in order.
  Result<CacheResult> ReadPieces(const std::string& key, ByteRange range,
                                 ReadKind kind, const Fetch& fetch,
                                 std::vector<SharedSpan>* pieces) EXCLUDES(mu_);

  // Fetch `range`, data, for those who will come for it; they may have what has
  // arrived before the rest is there. What memory has or another read brings is
  // left out. Such bytes take a quarter of the memory at most, those go first
  // that were read to their end. With `keep` they are put on disk like others.
  Result<CacheResult> Load(const std::string& key, ByteRange range, bool keep,
                           const GradualFetch& fetch) EXCLUDES(mu_);

  // Keep bytes that came another way.
  void Put(const std::string& key, ByteRange range, ReadKind kind,
           ByteSpan bytes) EXCLUDES(mu_);

  uint64_t bytes() const EXCLUDES(mu_);
  // Forget everything; reads in flight go on.
  void Clear() EXCLUDES(mu_);

 private:
  // What is given up in which order; each has its list.
  enum Class { kMeta, kData, kAhead, kAheadRead, kClasses };
  struct Object;
  // Bytes of the object from `begin` on, held until the read is over.
  struct Piece {
    uint64_t begin = 0;
    SharedSpan span;

    uint64_t end() const { return begin + span.bytes.size(); }
  };
  using LruList = std::list<std::pair<Object*, uint64_t>>;
  struct Extent {
    SharedSpan span;
    Class kept_as = kMeta;
    LruList::iterator position;
  };
  struct Flight {
    ByteRange range;
    std::shared_ptr<std::byte[]> bytes;
    uint64_t filled = 0;  // of the bytes, from their start: final
    bool done = false;
    Status status;
    CondVar moved;

    ByteSpan arrived() const {
      return {bytes.get(), done && status.ok() ? range.size() : filled};
    }
  };
  struct Object {
    std::string key;
    std::map<uint64_t, Extent> extents;  // by first byte, disjoint
    std::vector<std::shared_ptr<Flight>> flights;
  };

  // Bring a flight's bytes from disk and by `fetch`; `fetched` is what came by
  // it, empty when nothing did.
  Status Fill(const std::string& key, Flight& flight, const GradualFetch& fetch,
              ByteRange* fetched) EXCLUDES(mu_);
  // Fill, and end the flight whatever happens.
  Result<CacheResult> Fly(const std::string& key,
                          const std::shared_ptr<Flight>& flight, Class kept_as,
                          bool keep, const GradualFetch& fetch) EXCLUDES(mu_);
  bool MayKeepOnDisk(const std::string& key) const;
  // Add what memory has of `range` to `pieces`.
  void Collect(const std::string& key, ByteRange range,
               std::vector<Piece>* pieces) REQUIRES(mu_);
  // A read in flight that will bring some of `range`; null when there is none.
  std::shared_ptr<Flight> FindFlight(const std::string& key, ByteRange range)
      REQUIRES(mu_);
  // The front of `range` that no flight brings.
  ByteRange Unclaimed(const std::string& key, ByteRange range) REQUIRES(mu_);
  std::shared_ptr<Flight> StartFlight(const std::string& key, ByteRange range)
      REQUIRES(mu_);
  void EndFlight(const std::string& key, const std::shared_ptr<Flight>& flight,
                 Class kept_as) EXCLUDES(mu_);
  void Insert(Object* object, const Flight& flight, Class kept_as)
      REQUIRES(mu_);
  // All of the flight as one extent.
  void InsertWhole(Object* object, const Flight& flight, Class kept_as)
      REQUIRES(mu_);
  void InsertExtent(Object* object, uint64_t begin, SharedSpan span,
                    Class kept_as) REQUIRES(mu_);
  // The list whose oldest goes next.
  Class Victim() const REQUIRES(mu_);
  bool IsOver() const REQUIRES(mu_);
  void Evict() REQUIRES(mu_);
  void Erase(Object* object, uint64_t begin) REQUIRES(mu_);
  void DropIfUnused(Object* object) REQUIRES(mu_);
  uint64_t AheadBytes() const REQUIRES(mu_) {
    return bytes_[kAhead] + bytes_[kAheadRead];
  }

  const uint64_t bytes_max_;
  DiskCache* const disk_;
  mutable Mutex mu_;
  std::map<std::string, std::unique_ptr<Object>, std::less<>> objects_
      GUARDED_BY(mu_);
  LruList lru_[kClasses] GUARDED_BY(mu_);  // newest first
  uint64_t bytes_[kClasses] GUARDED_BY(mu_) = {};
};

}  // namespace rowfs
#endif  // ROWFS_STORAGE_READ_BLOCK_CACHE_H_
