// Memory for bytes that are about to arrive: not cleared first, and for long
// reads used again, because the kernel takes as long to hand out fresh pages as
// a network to fill them.
//
// Thread-safe.
#ifndef ROWFS_STORAGE_BASE_BUFFER_H_
#define ROWFS_STORAGE_BASE_BUFFER_H_

#include <cstddef>
#include <memory>

#include "storage/base/bytes.h"

namespace rowfs {

// `size` bytes of any value. A few long buffers that are given back are kept
// for the next one of the same size.
std::shared_ptr<std::byte[]> MakeBuffer(size_t size);

// Bytes that stay as they are while somebody holds them.
struct SharedSpan {
  std::shared_ptr<const void> owner;
  ByteSpan bytes;
};

}  // namespace rowfs
#endif  // ROWFS_STORAGE_BASE_BUFFER_H_
