// A local output file that appears whole or not at all.
//
// One thread.
#ifndef ROWFS_FS_CLI_OUTPUT_FILE_H_
#define ROWFS_FS_CLI_OUTPUT_FILE_H_

#include <functional>
#include <string>

#include "storage/base/bytes.h"
#include "storage/object/open_store.h"

namespace rowfs {

// Make the local folder `path`, and those above it, if they are missing.
// kAlreadyExists when something else is in the way.
Status MakeOutputFolder(const std::string& path);

// Let `fill` write the file at `path` (local or any store that writes); on an
// error of either nothing is left behind and what was there stays.
Status WriteOutput(
    StoreRegistry& stores, const std::string& path,
    const std::function<Status(const std::function<Status(ByteSpan)>&)>& fill);

}  // namespace rowfs
#endif  // ROWFS_FS_CLI_OUTPUT_FILE_H_
