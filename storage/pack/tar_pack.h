// Tar files as packs, plain or compressed with gzip or zstd. Opening passes
// over all headers once; with a cache directory what was found is kept there.
//
// Thread-safe.
#ifndef ROWFS_STORAGE_PACK_TAR_PACK_H_
#define ROWFS_STORAGE_PACK_TAR_PACK_H_

#include <memory>

#include "storage/pack/pack.h"

namespace rowfs {

// See OpenPack. The first bytes say how it is compressed, whatever its name. A
// remote plain tar costs a request for each member above 512 KiB and one for
// every 4 MiB of shorter ones; a compressed one is read whole, once.
Result<std::shared_ptr<const Pack>> OpenTar(const Location& location,
                                            const OpenContext& context);

}  // namespace rowfs
#endif  // ROWFS_STORAGE_PACK_TAR_PACK_H_
