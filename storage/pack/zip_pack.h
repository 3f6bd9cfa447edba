// Zip files as packs. Opening reads the directory at the end and nothing else;
// every member's local header is checked against it before the first byte of
// the member is handed out.
//
// Thread-safe.
#ifndef ROWFS_STORAGE_PACK_ZIP_PACK_H_
#define ROWFS_STORAGE_PACK_ZIP_PACK_H_

#include <memory>

#include "storage/pack/pack.h"

namespace rowfs {

// Open a zip: its tail, and one read for what of the directory is in front of
// it. Folders are left out. See OpenPack.
Result<std::shared_ptr<const Pack>> OpenZip(const Location& location,
                                            const OpenContext& context);

// What a first request to a zip reads: enough for the directory of some
// thousand members.
inline constexpr uint64_t kZipFirstReadBytes = 256 << 10;

}  // namespace rowfs
#endif  // ROWFS_STORAGE_PACK_ZIP_PACK_H_
