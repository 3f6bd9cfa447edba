// What a store may offer to readers of long ranges: to use what has arrived
// before the rest is there.
#ifndef ROWFS_STORAGE_OBJECT_GRADUAL_READS_H_
#define ROWFS_STORAGE_OBJECT_GRADUAL_READS_H_

#include <cstdint>
#include <functional>

#include "storage/object/object_store.h"

namespace rowfs {

// Told how many bytes of a read, from its start, are there for good: they stay
// as they are even if the read fails later. From the reading thread.
using ReadProgress = std::function<void(uint64_t done)>;

class GradualReads {
 public:
  virtual ~GradualReads() = default;
  // ObjectStore::ReadAt that tells how far it is.
  virtual Status ReadGradually(const ObjectRef& object, uint64_t offset,
                               MutableByteSpan out,
                               const ReadProgress& progress) = 0;
};

}  // namespace rowfs
#endif  // ROWFS_STORAGE_OBJECT_GRADUAL_READS_H_
