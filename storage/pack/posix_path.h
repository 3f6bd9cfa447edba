// Paths as text, the way Python's pathlib and posixpath write them: messages
// and references hold them.
//
// Pure functions, thread-safe.
#ifndef ROWFS_STORAGE_PACK_POSIX_PATH_H_
#define ROWFS_STORAGE_PACK_POSIX_PATH_H_

#include <string>
#include <string_view>

namespace rowfs {

// Without "//" and "."; ".." stays: str(Path(text)). "." for nothing.
std::string CleanPath(std::string_view text);
// Without "..", too, where a part stands before it: posixpath.normpath(text).
std::string NormalizePath(std::string_view text);
// The last part of CleanPath; empty for "." and "/".
std::string LastPart(std::string_view text);
// posixpath.join for a relative `name`.
std::string JoinPath(std::string_view base, std::string_view name);

// str(Path(folder) / name). Requires: `folder` is clean.
std::string ChildPath(std::string_view folder, std::string_view name);

}  // namespace rowfs
#endif  // ROWFS_STORAGE_PACK_POSIX_PATH_H_
