#include "index/runtime/cage.h"

#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <string_view>
#include <system_error>

#include "index/runtime/protocol.h"

namespace rowfs {
namespace {

constexpr rlim_t kFilesMax = 32;
// A worker that has used an hour of CPU ends itself between calls; this is for
// one that does not get there.
constexpr rlim_t kCpuSecondsMax = 24 * 3600;
constexpr uid_t kNobody = 65534;
constexpr size_t kMemoryProbeBytes = 64 << 20;
constexpr int kSignalExit = 128;  // + the signal, as shells say it

void Limit(int resource, rlim_t value) {
  const rlimit limit = {value, value};
  // Fails only when a lower limit is set already.
  (void)setrlimit(static_cast<__rlimit_resource_t>(resource), &limit);
}

bool WriteTo(const char* path, std::string_view text) {
  const int fd = open(path, O_WRONLY | O_CLOEXEC);
  if (fd < 0) return false;
  const ssize_t written = write(fd, text.data(), text.size());
  close(fd);
  return written == static_cast<ssize_t>(text.size());
}

// Without a mapping the ids read as nobody's, which does no harm here.
void MapIds(uid_t uid, gid_t gid) {
  const std::string uid_text = std::to_string(uid);
  const std::string gid_text = std::to_string(gid);
  WriteTo("/proc/self/setgroups", "deny");
  WriteTo("/proc/self/uid_map", uid_text + " " + uid_text + " 1");
  WriteTo("/proc/self/gid_map", gid_text + " " + gid_text + " 1");
}

bool Enter(int flag, const char* name, CageReport* report) {
  if (unshare(flag) != 0) return false;
  if (!report->parts.empty()) report->parts += ',';
  report->parts += name;
  return true;
}

// An unshared PID namespace begins with the next child. It becomes a child of
// our parent, which then needs nobody in between to wait for it, and sees how
// it ends.
void EnterPidNamespace(const std::function<void(pid_t)>& moved,
                       CageReport* report) {
  int gone[2];
  if (pipe2(gone, O_CLOEXEC) != 0) return;
  if (!Enter(CLONE_NEWPID, "pid", report)) return;
  const long child =
      syscall(SYS_clone, CLONE_PARENT | SIGCHLD, nullptr, nullptr, nullptr, 0);
  if (child > 0) {
    moved(static_cast<pid_t>(child));
    _exit(EXIT_SUCCESS);
  }
  // Without a process the namespace would forbid threads: better to end.
  if (child < 0) _exit(EXIT_FAILURE);
  DieWithParent();
  // Go on when the other has spoken: its end closes the pipe.
  close(gone[1]);
  char nothing = 0;
  while (read(gone[0], &nothing, 1) < 0 && errno == EINTR) {
  }
  close(gone[0]);
}

// Replace the root by an empty folder. False leaves it as it was.
bool EmptyRoot() {
  if (mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) {
    return false;
  }
  for (const char* at : {"/tmp", "/proc"}) {
    const unsigned long flags = MS_NOSUID | MS_NODEV | MS_NOEXEC | MS_RDONLY;
    if (mount("none", at, "tmpfs", flags, "size=4k") != 0) continue;
    if (chdir(at) == 0 && syscall(SYS_pivot_root, ".", ".") == 0) {
      return umount2(".", MNT_DETACH) == 0 && chdir("/") == 0;
    }
    return false;
  }
  return false;
}

// Whether the parent, which runs with what this process started with, could
// still kill it after it has become nobody.
bool ParentMayKillNobody() {
  __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct have[2] = {};
  return syscall(SYS_capget, &header, have) == 0 &&
         (have[0].effective & (1u << CAP_KILL)) != 0;
}

void DropCapabilities() {
  __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
  const __user_cap_data_struct none[2] = {};
  syscall(SYS_capset, &header, none);
}

bool MemoryIsUsedUp() {
  void* probe = mmap(nullptr, kMemoryProbeBytes, PROT_NONE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (probe == MAP_FAILED) return true;
  munmap(probe, kMemoryProbeBytes);
  return false;
}

// Called in a signal handler: only system calls. What ASan does before a call
// that does not return reads /proc, which the cage forbids.
[[gnu::no_sanitize_address]] void OnCrash(int signal_number) {
  if (MemoryIsUsedUp()) _exit(kOutOfMemoryExit);
  // As the first process of a PID namespace this one would not die of a signal
  // that it sent itself.
  _exit(kSignalExit + signal_number);
}

}  // namespace

void DieWithParent() { prctl(PR_SET_PDEATHSIG, SIGKILL); }

CageReport EnterNamespaces(const CageOptions& options,
                           const std::function<void(pid_t)>& moved) {
  Limit(RLIMIT_CORE, 0);
  Limit(RLIMIT_NOFILE, kFilesMax);
  Limit(RLIMIT_CPU, kCpuSecondsMax);
  if (options.memory_bytes_max != 0) {
    Limit(RLIMIT_AS, options.memory_bytes_max);
  }
  // When memory runs short the system shall take a decoder, not the mount.
  WriteTo("/proc/self/oom_score_adj", "500");
  CageReport report;
  const uid_t uid = geteuid();
  const gid_t gid = getegid();
  if (uid != 0) {
    report.user_namespace = Enter(CLONE_NEWUSER, "user", &report);
    if (report.user_namespace) MapIds(uid, gid);
  }
  Enter(CLONE_NEWNET, "net", &report);
  Enter(CLONE_NEWIPC, "ipc", &report);
  report.mount_namespace =
      options.mount_namespace && Enter(CLONE_NEWNS, "mount", &report);
  EnterPidNamespace(moved, &report);
  return report;
}

Status DropPrivileges(const CageReport& report) {
  if (report.mount_namespace && !EmptyRoot()) {
    return Status(Code::kUnsupported, "cannot empty the mount namespace");
  }
  Limit(RLIMIT_FSIZE, 0);
  if (geteuid() == 0 && !report.user_namespace && ParentMayKillNobody()) {
    (void)!setgroups(0, nullptr);
    (void)!setresgid(kNobody, kNobody, kNobody);
    (void)!setresuid(kNobody, kNobody, kNobody);
  }
  DropCapabilities();
  prctl(PR_SET_DUMPABLE, 0);
  DieWithParent();  // changed ids forget it
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) {
    return Status(
        Code::kPermissionDenied,
        "cannot give up privileges: " + std::generic_category().message(errno));
  }
  return Status();
}

void ReportOutOfMemory() {
  // Its own stack, since a crash may be an exhausted one.
  static std::byte stack[64 << 10];
  const stack_t alternative = {stack, 0, sizeof(stack)};
  sigaltstack(&alternative, nullptr);
  struct sigaction action = {};
  action.sa_handler = OnCrash;
  action.sa_flags = SA_ONSTACK;
  for (const int number : {SIGSEGV, SIGBUS, SIGABRT, SIGILL, SIGFPE, SIGXCPU}) {
    sigaction(number, &action, nullptr);
  }
}

}  // namespace rowfs
