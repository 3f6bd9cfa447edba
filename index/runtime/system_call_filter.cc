// FilterSystemCalls of cage.h: the list of system calls that a worker may make.
#include <fcntl.h>
#include <linux/sched.h>
#include <seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <system_error>

#include "index/runtime/cage.h"
#include "index/runtime/protocol.h"

namespace rowfs {
namespace {

struct ReleaseFilter {
  void operator()(void* filter) const { seccomp_release(filter); }
};
using Filter = std::unique_ptr<void, ReleaseFilter>;

// Computing, memory, threads, time, and talking over what is open already.
constexpr int kAllowed[] = {SCMP_SYS(read),
                            SCMP_SYS(write),
                            SCMP_SYS(readv),
                            SCMP_SYS(writev),
                            SCMP_SYS(recvfrom),
                            SCMP_SYS(sendto),
                            SCMP_SYS(recvmsg),
                            SCMP_SYS(sendmsg),
                            SCMP_SYS(poll),
                            SCMP_SYS(ppoll),
                            SCMP_SYS(close),
                            SCMP_SYS(fstat),
                            SCMP_SYS(lseek),
                            SCMP_SYS(munmap),
                            SCMP_SYS(mremap),
                            SCMP_SYS(madvise),
                            SCMP_SYS(brk),
                            SCMP_SYS(futex),
                            SCMP_SYS(set_robust_list),
                            SCMP_SYS(rseq),
                            SCMP_SYS(set_tid_address),
                            SCMP_SYS(sched_yield),
                            SCMP_SYS(sched_getaffinity),
                            SCMP_SYS(getcpu),
                            SCMP_SYS(exit),
                            SCMP_SYS(exit_group),
                            SCMP_SYS(rt_sigaction),
                            SCMP_SYS(rt_sigprocmask),
                            SCMP_SYS(rt_sigreturn),
                            SCMP_SYS(sigaltstack),
                            SCMP_SYS(restart_syscall),
                            SCMP_SYS(clock_gettime),
                            SCMP_SYS(clock_getres),
                            SCMP_SYS(clock_nanosleep),
                            SCMP_SYS(nanosleep),
                            SCMP_SYS(gettimeofday),
                            SCMP_SYS(time),
                            SCMP_SYS(getpid),
                            SCMP_SYS(gettid),
                            SCMP_SYS(getuid),
                            SCMP_SYS(geteuid),
                            SCMP_SYS(getgid),
                            SCMP_SYS(getegid),
                            SCMP_SYS(getrandom),
                            SCMP_SYS(getrusage),
                            SCMP_SYS(uname),
                            SCMP_SYS(sysinfo),
                            SCMP_SYS(membarrier)};

int AllowPlain(scmp_filter_ctx filter) {
  for (const int call : kAllowed) {
    const int rc = seccomp_rule_add(filter, SCMP_ACT_ALLOW, call, 0);
    // A call that this architecture does not have needs no rule.
    if (rc != 0 && rc != -EDOM) return rc;
  }
  return 0;
}

// libseccomp's SCMP_A macros are compound literals, which C++ does not have.
scmp_arg_cmp Masked(unsigned argument, uint64_t mask, uint64_t value) {
  return {argument, SCMP_CMP_MASKED_EQ, mask, value};
}

scmp_arg_cmp Equals(unsigned argument, uint64_t value) {
  return {argument, SCMP_CMP_EQ, value, 0};
}

int AllowWithArguments(scmp_filter_ctx filter) {
  // No executable memory: no code but what was loaded before.
  int rc = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(mmap), 1,
                            Masked(2, PROT_EXEC, 0));
  if (rc != 0) return rc;
  rc = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(mprotect), 1,
                        Masked(2, PROT_EXEC, 0));
  if (rc != 0) return rc;
  // Threads, but no processes and no namespaces. The flags of clone3 lie in
  // memory, where a filter cannot see them; with ENOSYS glibc uses clone.
  constexpr uint64_t kThread = CLONE_THREAD | CLONE_VM | CLONE_SIGHAND;
  constexpr uint64_t kNew = CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS |
                            CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID |
                            CLONE_NEWNET;
  rc = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(clone), 1,
                        Masked(0, kThread | kNew, kThread));
  if (rc != 0) return rc;
  rc = seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0);
  if (rc != 0) return rc;
  // abort() and thread cancellation signal this process alone.
  rc = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(tgkill), 1,
                        Equals(0, static_cast<uint64_t>(getpid())));
  if (rc != 0) return rc;
  rc = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(fcntl), 1,
                        Equals(1, F_GETFL));
  if (rc != 0) return rc;
  if (kSanitized) {
    rc = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(pipe), 0);
    if (rc == 0) {
      rc = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(pipe2), 0);
    }
    if (rc != 0) return rc;
  }
  return seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(prctl), 1,
                          Equals(0, PR_SET_NAME));
}

int Install() {
  // Refused, not killed: libraries try things (the number of processors in
  // /sys, a log socket) and do without.
  const Filter filter(seccomp_init(SCMP_ACT_ERRNO(EPERM)));
  if (filter == nullptr) return -ENOMEM;
  int rc = AllowPlain(filter.get());
  if (rc == 0) rc = AllowWithArguments(filter.get());
  // Also for threads that the plugin's libraries keep.
  if (rc == 0) rc = seccomp_attr_set(filter.get(), SCMP_FLTATR_CTL_TSYNC, 1);
  if (rc == 0) rc = seccomp_load(filter.get());
  return rc;
}

}  // namespace

Status FilterSystemCalls() {
  const int rc = Install();
  if (rc == 0) return Status();
  return Status(Code::kPermissionDenied,
                "cannot install the system call filter (seccomp): " +
                    std::generic_category().message(-rc) +
                    "; plugins are not run without it, unless in process "
                    "(only for data you trust)");
}

}  // namespace rowfs
