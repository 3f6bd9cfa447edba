// What `rowfs --version` prints: release, commit, and which optional parts are
// built in.
//
// Pure, thread-safe.
#ifndef ROWFS_FS_CLI_VERSION_H_
#define ROWFS_FS_CLI_VERSION_H_

#include <string>

namespace rowfs {

std::string VersionText();

}  // namespace rowfs
#endif  // ROWFS_FS_CLI_VERSION_H_
