// Moves the files of a tar into a blob pack.
//
// One thread.
#ifndef ROWFS_INDEX_CONVERT_CONVERT_TAR_H_
#define ROWFS_INDEX_CONVERT_CONVERT_TAR_H_

#include <string>

#include "index/convert/unpack.h"
#include "storage/pack/pack_writer.h"

namespace rowfs {

// Add every regular member of the tar at `path` (plain, or compressed with
// gzip, bzip2 or xz) in the order it has there, as `prefix` + its name without
// leading "./". Links, folders and devices are passed over. kAlreadyExists for
// a name that the pack has, kInvalidArgument for one that is no blob key,
// kCorruption for a damaged archive. `*ended_early`: it stopped at a damaged
// header, as a cut download does; what stands before is added. Reads the file
// once, start to end.
Status AddTarMembers(const std::string& path, const std::string& prefix,
                     PackWriter& pack, const ConvertProgress& progress,
                     bool* ended_early);

}  // namespace rowfs
#endif  // ROWFS_INDEX_CONVERT_CONVERT_TAR_H_
