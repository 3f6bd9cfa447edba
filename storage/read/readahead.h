// Which reads of an object are parts of a sequential pass, and what to bring
// ahead of it. Several passes at once (handles, files behind one another in one
// object) are told apart by where they are; reads that continue nothing start
// nothing.
//
// Thread-safe.
#ifndef ROWFS_STORAGE_READ_READAHEAD_H_
#define ROWFS_STORAGE_READ_READAHEAD_H_

#include <array>
#include <atomic>
#include <cstdint>

#include "storage/base/bytes.h"
#include "storage/base/sync.h"

namespace rowfs {

// Bytes on their way ahead of readers, of all objects together.
struct ReadaheadBudget {
  uint64_t bytes_max = 0;
  std::atomic<uint64_t> in_use{0};
};

class Readahead {
 public:
  // A reader reads `range` of an object of `size` bytes. Returns what to bring
  // now besides; mostly empty. It grows with the length of the pass: what is
  // brought reaches at most as far again.
  ByteRange Note(ByteRange range, uint64_t size) EXCLUDES(mu_);

 private:
  struct Pass {
    uint64_t next = 0;  // where it would go on
    uint64_t begin = 0;
    uint64_t ahead = 0;  // brought up to here
    uint32_t continued = 0;
    uint64_t used = 0;  // the larger the later
  };

  Mutex mu_;
  std::array<Pass, 8> passes_ GUARDED_BY(mu_);
  uint64_t uses_ GUARDED_BY(mu_) = 0;
};

}  // namespace rowfs
#endif  // ROWFS_STORAGE_READ_READAHEAD_H_
