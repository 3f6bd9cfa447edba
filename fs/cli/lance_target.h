// The Lance dataset that a command changes or looks after.
//
// Functions; thread-safe.
#ifndef ROWFS_FS_CLI_LANCE_TARGET_H_
#define ROWFS_FS_CLI_LANCE_TARGET_H_

#include <string>
#include <string_view>

#include "fs/cli/session.h"
#include "storage/lance/versions.h"

namespace rowfs {

struct LanceTarget {
  Location dataset;          // the folder, whichever branch is meant
  std::string spec;          // what stands behind '@'; may be empty
  ResolvedVersion resolved;  // where the branch lies, and the version meant
};

// What `text`, a path or URL with @vN, @TAG or @BRANCH behind it, names. A path
// that is there as a whole wins over a version behind '@'. kUnsupported when
// it is no Lance dataset; else the errors of ResolveVersion.
Result<LanceTarget> FindLanceTarget(Session& session, std::string_view text);

// For commands that write: `target` must be the newest version of its line of
// history. kInvalidArgument, naming `verb`, for an older one.
Status CheckNewest(const LanceTarget& target, std::string_view verb);

// Report `status` like Fail; kInvalidArgument is the user's: exit code 2.
int FailOrUsage(Env& env, const Status& status, std::string_view command);

}  // namespace rowfs
#endif  // ROWFS_FS_CLI_LANCE_TARGET_H_
