// Calls that killed a plugin process, remembered for a while with their error,
// so that the next `ls` does not kill one again.
//
// Thread-safe.
#ifndef ROWFS_INDEX_RUNTIME_QUARANTINE_H_
#define ROWFS_INDEX_RUNTIME_QUARANTINE_H_

#include <cstdint>
#include <deque>
#include <unordered_map>

#include "storage/base/clock.h"
#include "storage/base/status.h"
#include "storage/base/sync.h"

namespace rowfs {

class Quarantine {
 public:
  // Remembers `calls_max` calls, each for `keep_ms`. `clock` outlives it.
  Quarantine(size_t calls_max, int64_t keep_ms, Clock* clock)
      : calls_max_(calls_max), keep_ns_(keep_ms * 1'000'000), clock_(*clock) {}

  // The error of this call; OK when it may be tried.
  Status Find(uint64_t call) EXCLUDES(mu_);
  // Remember it. When there are too many the oldest is forgotten.
  void Put(uint64_t call, const Status& error) EXCLUDES(mu_);

 private:
  struct Entry {
    Status error;
    int64_t until_ns = 0;
  };

  const size_t calls_max_;
  const int64_t keep_ns_;
  Clock& clock_;
  Mutex mu_;
  std::unordered_map<uint64_t, Entry> entries_ GUARDED_BY(mu_);
  std::deque<uint64_t> order_ GUARDED_BY(mu_);  // of entries_, oldest first
};

}  // namespace rowfs
#endif  // ROWFS_INDEX_RUNTIME_QUARANTINE_H_
