// Each of these runs in a process of its own, since a cage has no door.
#include "index/runtime/cage.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <functional>

#include "index/runtime/plugin_worker.h"
#include "tests/index/runtime/toy.h"
#include "tests/support/status_matchers.h"

namespace rowfs {
namespace {

using ::testing::HasSubstr;

// What `body` returned, in a process of its own; negative: the signal.
int InProcess(const std::function<int()>& body) {
  const pid_t child = fork();
  if (child == 0) _exit(body());
  int status = 0;
  waitpid(child, &status, 0);
  return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

// 0 when `call` (that gives a negative or null value on failure) is refused.
int RefusedInTheCage(const std::function<bool()>& worked) {
  return InProcess([&] {
    if (!DropPrivileges(CageReport()).ok()) return 10;
    if (!FilterSystemCalls().ok()) return 11;
    errno = 0;
    if (worked()) return 1;
    return errno == EPERM ? 0 : 2;
  });
}

TEST(Cage, RefusesWhatIsNotComputing) {
  EXPECT_EQ(RefusedInTheCage([] { return open("/etc/passwd", O_RDONLY) >= 0; }),
            0);
  EXPECT_EQ(RefusedInTheCage([] { return access("/etc/passwd", F_OK) == 0; }),
            0);
  EXPECT_EQ(
      RefusedInTheCage([] { return socket(AF_UNIX, SOCK_STREAM, 0) >= 0; }), 0);
  EXPECT_EQ(RefusedInTheCage([] { return fork() >= 0; }), 0);
  EXPECT_EQ(
      RefusedInTheCage([] { return execl("/bin/true", "true", nullptr) == 0; }),
      0);
  EXPECT_EQ(RefusedInTheCage([] {
              return ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) == 0;
            }),
            0);
  EXPECT_EQ(RefusedInTheCage([] { return kill(getppid(), 0) == 0; }), 0);
  EXPECT_EQ(RefusedInTheCage([] {
              return mmap(nullptr, 4096, PROT_READ | PROT_EXEC,
                          MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED;
            }),
            0);
  EXPECT_EQ(RefusedInTheCage([] {
              void* page = mmap(nullptr, 4096, PROT_READ | PROT_WRITE,
                                MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
              return mprotect(page, 4096, PROT_READ | PROT_EXEC) == 0;
            }),
            0);
  EXPECT_EQ(RefusedInTheCage([] { return ftruncate(1, 0) == 0; }), 0);
  EXPECT_EQ(RefusedInTheCage([] { return prctl(PR_SET_DUMPABLE, 1) == 0; }), 0);
}

TEST(Cage, LetsThreadsAndMemoryBe) {
  const int result = InProcess([] {
    if (!FilterSystemCalls().ok()) return 11;
    pthread_t thread;
    const auto body = [](void* arg) -> void* {
      free(malloc(size_t{10} << 20));
      return arg;
    };
    int token = 0;
    if (pthread_create(&thread, nullptr, body, &token) != 0) return 1;
    void* got = nullptr;
    if (pthread_join(thread, &got) != 0 || got != &token) return 2;
    return 0;
  });

  EXPECT_EQ(result, 0);
}

TEST(Cage, EndsWithTheSignalOfAnAbort) {
  const int result = InProcess([] {
    if (!FilterSystemCalls().ok()) return 11;
    abort();
  });

  EXPECT_EQ(result, -SIGABRT);
}

TEST(Cage, DropsTheUserAndItsCapabilities) {
  const int result = InProcess([] {
    if (!DropPrivileges(CageReport()).ok()) return 10;
    if (geteuid() == 0) return 1;
    return open("/proc/1/mem", O_RDONLY) < 0 ? 0 : 2;
  });

  EXPECT_EQ(result, 0);
}

// A system without seccomp: both ways to it are refused.
int ForbidSeccomp() {
  const scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
  int rc =
      seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(seccomp), 0);
  if (rc == 0) {
    const scmp_arg_cmp first = {0, SCMP_CMP_EQ, PR_SET_SECCOMP, 0};
    rc = seccomp_rule_add_array(filter, SCMP_ACT_ERRNO(EINVAL), SCMP_SYS(prctl),
                                1, &first);
  }
  return rc == 0 ? seccomp_load(filter) : rc;
}

TEST(Cage, WithoutTheFilterNoPluginRuns) {
  const int result = InProcess([] {
    if (ForbidSeccomp() != 0) return 10;
    WorkerSettings settings;
    settings.program = std::string(ROWFS_BUILD_DIR) + "/rowfs-worker";
    settings.plugin = ToyPath();
    settings.deadline_ms = 10'000;
    RealClock clock;
    const auto pool = PluginWorker::Start(std::make_shared<WorkerStarter>(),
                                          settings, 1, &clock);
    if (!pool.ok() || !pool.value()->Describe().ok()) return 1;
    const auto sure = pool.value()->Probe(AsBytes("TOY1"), "a");
    if (sure.status().code() != Code::kPermissionDenied) return 2;
    const bool says_why =
        sure.status().message().find("seccomp") != std::string_view::npos;
    return says_why ? 0 : 3;
  });

  EXPECT_EQ(result, 0);
}

// As in a container that allows no namespaces at all.
int ForbidNamespaces() {
  const scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
  for (const int call : {SCMP_SYS(unshare), SCMP_SYS(mount),
                         SCMP_SYS(pivot_root), SCMP_SYS(setresuid)}) {
    const int rc = seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), call, 0);
    if (rc != 0) return rc;
  }
  return seccomp_load(filter);
}

// As where a mount namespace may be made but nothing be mounted in it.
int ForbidMounts() {
  const scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
  const int rc =
      seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(mount), 0);
  return rc == 0 ? seccomp_load(filter) : rc;
}

int RunToyAfter(const std::function<int()>& restrict) {
  return InProcess([&] {
    if (restrict() != 0) return 10;
    WorkerSettings settings;
    settings.program = std::string(ROWFS_BUILD_DIR) + "/rowfs-worker";
    settings.plugin = ToyPath();
    settings.deadline_ms = 10'000;
    settings.ingest_stall_ms = 10'000;
    RealClock clock;
    auto pool = PluginWorker::Start(std::make_shared<WorkerStarter>(), settings,
                                    2, &clock);
    if (!pool.ok() || !pool.value()->Describe().ok()) return 1;
    PluginWorker& worker = *pool.value();
    const auto toy = IngestToy(worker, "TOY1 ok\nabc");
    if (!toy.ok()) return 2;
    const auto upper = Render(worker, toy.value(), ".upper.txt");
    if (!upper.ok() || AsText(upper.value()) != "ABC") return 3;
    const auto file = Render(worker, toy.value(), ".bad/file");
    if (file.status().code() != Code::kUnsupported) return 4;
    const auto crash = Render(worker, toy.value(), ".bad/crash");
    return crash.status().code() == Code::kInternal ? 0 : 5;
  });
}

TEST(Cage, WorksWhereNamespacesAreForbidden) {
  EXPECT_EQ(RunToyAfter(ForbidNamespaces), 0);
}

TEST(Cage, WorksWhereMountsAreForbidden) {
  EXPECT_EQ(RunToyAfter(ForbidMounts), 0);
}

TEST(Cage, WorksForAUserWithoutPrivileges) {
  EXPECT_EQ(RunToyAfter([] {
              return geteuid() != 0 ? 0 : setresuid(65534, 65534, 65534);
            }),
            0);
}

}  // namespace
}  // namespace rowfs
