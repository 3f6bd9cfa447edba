// The checks a manifest must pass before anything uses it: flags this build
// understands, and fragments that do not contradict themselves. Upstream
// readers believe most of this silently; a wrong number here means wrong rows.
//
// Pure; thread-safe.
#ifndef ROWFS_STORAGE_LANCE_MANIFEST_CHECK_H_
#define ROWFS_STORAGE_LANCE_MANIFEST_CHECK_H_

#include "storage/lance/manifest.h"

namespace rowfs {

// Flags (CheckReadable), data format, base paths, fragments: ids and field ids
// unique, lists parallel, paths confined to their folder, row counts within
// their bounds, row ids where the flags promise them. kCorruption or
// kUnsupported, naming the fragment and file.
Status CheckManifest(const pb::Manifest& manifest);

// Whether `path` names something below its folder: not empty, no absolute,
// empty, "." or ".." part, no backslash, no scheme.
bool IsConfinedPath(std::string_view path);

}  // namespace rowfs
#endif  // ROWFS_STORAGE_LANCE_MANIFEST_CHECK_H_
