// Bytes of remote objects kept on disk between runs, behind the memory cache.
// A file a block of an object; in it records, each an interval that was read,
// with the object's identity and a checksum. Files are only appended to or
// replaced, so several processes share one directory, a kill -9 leaves at worst
// a torn record, which reads as a miss, and the directory may be deleted at any
// time. A full or read-only disk makes reading slower, never wrong.
//
// Thread-safe; safe with other processes on the same directory.
#ifndef ROWFS_STORAGE_READ_DISK_CACHE_H_
#define ROWFS_STORAGE_READ_DISK_CACHE_H_

#include <cstdint>
#include <string>

#include "storage/base/bytes.h"
#include "storage/base/clock.h"
#include "storage/base/sync.h"

namespace rowfs {

class DiskCache {
 public:
  // Records never cross a multiple of this.
  static constexpr uint64_t kBlockBytes = 256 << 10;

  // No I/O here: the directory is made, mode 0700, when something is first put.
  // A directory that belongs to another user or that others may write to is not
  // used. `clock` outlives it. Keeps about `bytes_max`, the oldest go first.
  DiskCache(std::string directory, uint64_t bytes_max, Clock& clock);

  // Copy what is kept of `range` of the object `key` to `out` (of that size);
  // returns the span from the first to the last byte that is missing, empty at
  // `range.end` when none is. Never fails.
  ByteRange Read(const std::string& key, ByteRange range, MutableByteSpan out);

  // Keep `bytes`, those of the object from `begin` on. Never fails.
  void Put(const std::string& key, uint64_t begin, ByteSpan bytes)
      EXCLUDES(mu_);

 private:
  bool MayWrite() EXCLUDES(mu_);
  void NoteFailure() EXCLUDES(mu_);
  // Nobody but this user may write to the directory: another's could be filled
  // with anything.
  bool IsOurs() const;
  bool PrepareFolder(const std::string& folder) const;
  bool Append(const std::string& path, ByteSpan record) const;
  // Delete the oldest files until nine tenths of the limit are used.
  void Evict() const;

  const std::string directory_;
  const uint64_t bytes_max_;
  Clock& clock_;
  Mutex mu_;
  // Writing is tried again after this.
  int64_t broken_until_ns_ GUARDED_BY(mu_) = 0;
  // Put since the directory was last measured.
  uint64_t unmeasured_bytes_ GUARDED_BY(mu_) = 0;
  bool measured_ GUARDED_BY(mu_) = false;
};

}  // namespace rowfs
#endif  // ROWFS_STORAGE_READ_DISK_CACHE_H_
