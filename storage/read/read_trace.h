// One line of JSON for every request to a store and every read that a cache
// answered, so that a person sees what their tool costs: time (seconds since
// the epoch), object, offset, length, why (data, metadata), what (read, open,
// stat, list, write, remove), ms, bytes (that came over the network or from the
// disk), cache (none, miss, memory, disk), and error where it failed.
//
// Thread-safe.
#ifndef ROWFS_STORAGE_READ_READ_TRACE_H_
#define ROWFS_STORAGE_READ_READ_TRACE_H_

#include <cstdint>
#include <fstream>
#include <memory>
#include <string>
#include <string_view>

#include "storage/base/bytes.h"
#include "storage/base/clock.h"
#include "storage/base/status.h"
#include "storage/base/sync.h"

namespace rowfs {

struct ReadEvent {
  std::string_view uri;
  ByteRange range;
  std::string_view why = "metadata";
  std::string_view what = "read";
  std::string_view cache = "none";
  int64_t elapsed_ns = 0;
  Status status;
};

class ReadTrace {
 public:
  // Lines are added to the file `path`, made if missing. `clock` outlives it.
  static Result<std::unique_ptr<ReadTrace>> Open(const std::string& path,
                                                 Clock& clock);

  void Add(const ReadEvent& event) EXCLUDES(mu_);

 private:
  explicit ReadTrace(Clock& clock) : clock_(clock) {}

  Clock& clock_;
  Mutex mu_;
  std::ofstream file_ GUARDED_BY(mu_);
};

}  // namespace rowfs
#endif  // ROWFS_STORAGE_READ_READ_TRACE_H_
