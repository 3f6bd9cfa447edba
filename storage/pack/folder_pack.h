// A plain folder of files as a pack: its members are the files below it.
//
// Thread-safe.
#ifndef ROWFS_STORAGE_PACK_FOLDER_PACK_H_
#define ROWFS_STORAGE_PACK_FOLDER_PACK_H_

#include <memory>

#include "storage/pack/pack.h"

namespace rowfs {

// Lists the tree at `location`, sorted by path, hidden files left out; reads no
// file. kNotFound when there is none.
Result<std::shared_ptr<const Pack>> OpenFolderPack(const Location& location,
                                                   const OpenContext& context);

}  // namespace rowfs
#endif  // ROWFS_STORAGE_PACK_FOLDER_PACK_H_
