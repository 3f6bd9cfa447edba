// For a thread whose read ends in a buffer that is only handed on (to the
// kernel, say): within a scope, bytes that the cache holds are not copied into
// the buffer but remembered, with what keeps them alive.
//
// A scope belongs to the thread that made it. Scopes do not nest.
#ifndef ROWFS_STORAGE_BASE_DEFERRED_COPIES_H_
#define ROWFS_STORAGE_BASE_DEFERRED_COPIES_H_

#include <vector>

#include "storage/base/buffer.h"
#include "storage/base/bytes.h"

namespace rowfs {

class DeferredCopies {
 public:
  explicit DeferredCopies(MutableByteSpan buffer) : buffer_(buffer) {
    current_ = this;
  }
  ~DeferredCopies() { current_ = nullptr; }
  DeferredCopies(const DeferredCopies&) = delete;
  DeferredCopies& operator=(const DeferredCopies&) = delete;

  // Copy `bytes` to `out`, of that size, or remember to.
  static void Copy(const SharedSpan& bytes, MutableByteSpan out);

  // The first `size` bytes of the buffer, as they would be after the copies.
  // What is in the buffer itself has no owner.
  std::vector<SharedSpan> Pieces(size_t size) const;

 private:
  struct Deferred {
    size_t begin = 0;
    SharedSpan span;
  };

  static inline thread_local DeferredCopies* current_ = nullptr;
  const MutableByteSpan buffer_;
  std::vector<Deferred> deferred_;  // in order, disjoint
};

}  // namespace rowfs
#endif  // ROWFS_STORAGE_BASE_DEFERRED_COPIES_H_
