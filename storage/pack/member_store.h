// The members of a pack as objects of a store, for members that are not simply
// a byte range of the shard: deflated, sparse, or not yet checked.
//
// Thread-safe.
#ifndef ROWFS_STORAGE_PACK_MEMBER_STORE_H_
#define ROWFS_STORAGE_PACK_MEMBER_STORE_H_

#include <memory>

#include "storage/pack/pack.h"

namespace rowfs {

// Member `i` of `pack` as bytes of their own. Its URI is a reference,
// `zip://member::shard`; a changed shard is told at the read.
BlobSource OpenThroughPack(std::shared_ptr<const Pack> pack, uint64_t i,
                           const ReadContext& context);

}  // namespace rowfs
#endif  // ROWFS_STORAGE_PACK_MEMBER_STORE_H_
