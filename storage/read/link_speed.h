// How fast a store answers, learned from the requests that are made anyway, and
// from that how large a hole is cheaper to read through than to ask around.
//
// One thread at a time.
#ifndef ROWFS_STORAGE_READ_LINK_SPEED_H_
#define ROWFS_STORAGE_READ_LINK_SPEED_H_

#include <cstdint>

namespace rowfs {

class LinkSpeed {
 public:
  // A request brought `bytes` in `elapsed_ns`.
  void Add(uint64_t bytes, int64_t elapsed_ns);

  // Latency x bandwidth of one of the connections that work side by side: what
  // arrives in the time that one more request would cost. Between 16 and 512
  // KiB; 64 KiB until something was measured.
  uint64_t GapBytes() const;

 private:
  double latency_ns_ = 0;    // of short requests; 0: unknown
  double bytes_per_ns_ = 0;  // of long ones, behind the latency; 0: unknown
};

}  // namespace rowfs
#endif  // ROWFS_STORAGE_READ_LINK_SPEED_H_
