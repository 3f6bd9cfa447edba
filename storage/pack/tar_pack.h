// Tar files as packs, plain or compressed with gzip or zstd. Opening passes
// over all headers once; with a cache directory what was found is kept there.
//
// Thread-safe.
#ifndef ROWFS_STORAGE_PACK_TAR_PACK_H_
#define ROWFS_STORAGE_PACK_TAR_PACK_H_

#include <memory>

#include "storage/pack/pack.h"
#include "storage/pack/tar_scan.h"

namespace rowfs {

// See OpenPack. The first bytes say how it is compressed, whatever its name. A
// remote plain tar costs a request for each member above 512 KiB and one for
// every 4 MiB of shorter ones; a compressed one is read whole, once. `found` is
// told of each member while that pass lasts; not when the index was kept.
Result<std::shared_ptr<const Pack>> OpenTar(const Location& location,
                                            const OpenContext& context,
                                            const TarObserver& found = {});

// What IndexKey takes for the index of a tar.
inline constexpr std::string_view kTarIndexKind = "tar 2";

}  // namespace rowfs
#endif  // ROWFS_STORAGE_PACK_TAR_PACK_H_
