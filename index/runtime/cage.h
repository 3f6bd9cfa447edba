// What keeps a worker process, which parses hostile bytes, from doing anything
// but computing: limits, namespaces, no privileges, and a list of allowed
// system calls.
//
// Called in the worker alone, in this order, around the loading of the plugin.
// Namespaces and dropped privileges are defence in depth and best effort (many
// containers forbid them); the system call filter must succeed. With it there
// is no opening of files, no socket, no new process and no executable memory,
// whatever else is missing.
#ifndef ROWFS_INDEX_RUNTIME_CAGE_H_
#define ROWFS_INDEX_RUNTIME_CAGE_H_

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <string>

#include "storage/base/status.h"

namespace rowfs {

// Whether this build has ASan or TSan. They need more than the cage gives:
// their shadow is larger than any limit of memory, and UBSan, which comes with
// ASan, probes addresses by writing them to a pipe.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kSanitized = true;
#elif defined(__has_feature)
inline constexpr bool kSanitized =
    __has_feature(address_sanitizer) || __has_feature(thread_sanitizer);
#else
inline constexpr bool kSanitized = false;
#endif

struct CageOptions {
  uint64_t memory_bytes_max = 0;  // 0: no limit
  bool mount_namespace = true;
};

// What could be done, for tests and for the curious: "net", "ipc", ...
struct CageReport {
  bool user_namespace = false;
  bool mount_namespace = false;
  std::string parts;
};

// Die with the parent. Repeated by the steps that undo it.
void DieWithParent();

// Before the plugin is loaded: no core files, limits on memory, files and CPU
// time, new namespaces. A PID namespace begins with a new process: then this
// one calls `moved` with its id, as the parent knows it, and ends, and the new
// one, a child of the same parent, returns from here. Requires: one thread.
CageReport EnterNamespaces(const CageOptions& options,
                           const std::function<void(pid_t)>& moved);

// After it is loaded and warm: an empty root folder, nobody's user id where
// that is possible, no capabilities. kUnsupported when the mount namespace that
// was entered cannot be emptied; it would pin other mounts, so the worker has
// to be started again without.
Status DropPrivileges(const CageReport& report);

// The filter, for all threads. kPermissionDenied when the system has none.
Status FilterSystemCalls();

// Turn a crash for want of memory into kOutOfMemoryExit.
void ReportOutOfMemory();

}  // namespace rowfs
#endif  // ROWFS_INDEX_RUNTIME_CAGE_H_
