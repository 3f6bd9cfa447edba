// The program as mount(8) calls it for a line of /etc/fstab:
//
//   mount.rowfs SOURCE MOUNTPOINT [-sfnv] [-t TYPE] [-o OPT,OPT=VALUE,...]
//
// Pure function.
#ifndef ROWFS_FS_CLI_MOUNT_HELPER_H_
#define ROWFS_FS_CLI_MOUNT_HELPER_H_

#include <span>
#include <string>
#include <vector>

#include "fs/cli/command.h"

namespace rowfs {

// The words of `rowfs mount` that do what the helper is asked for, without
// those two. An option is one of `flags` without its dashes ("rows=flat",
// "name_column=id", "view=best=/data/best.txt"), one of FUSE, or one that fstab
// itself has ("noauto", "_netdev", "x-systemd.automount"), which means nothing
// here. kInvalidArgument when it is none of these.
Result<std::vector<std::string>> TranslateMountHelper(
    std::span<const Flag> flags, std::span<const std::string> words);

}  // namespace rowfs
#endif  // ROWFS_FS_CLI_MOUNT_HELPER_H_
