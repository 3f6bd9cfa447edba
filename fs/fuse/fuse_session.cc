#include "fs/fuse/fuse_session.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <system_error>

#include "fs/fuse/blocking.h"
#include "fs/fuse/fuse_loop.h"
#include "fs/fuse/fuse_ops.h"
#include "fs/fuse/unmount.h"

namespace rowfs {
namespace {

// Signals reach the thread in Run through this descriptor; a handler can do
// nothing better. One Run at a time.
std::atomic<int> signal_fd{-1};

void OnSignal(int) {
  const int saved = errno;
  const uint64_t one = 1;
  const int fd = signal_fd;
  if (fd >= 0 && write(fd, &one, sizeof(one)) < 0) {
    // A full counter wakes Run as well.
  }
  errno = saved;
}

void Wake(int fd) {
  const uint64_t one = 1;
  if (write(fd, &one, sizeof(one)) < 0) {
    // As above.
  }
}

std::string ErrorText(int error) {
  return std::generic_category().message(error);
}

Status CheckMountpoint(const MountOptions& options, bool* created) {
  const std::string& path = options.mountpoint;
  ROWFS_ASSIGN_OR_RETURN(const auto mounted, FindMount(path));
  if (mounted && mounted->stale && mounted->type == "fuse.rowfs") {
    ROWFS_RETURN_IF_ERROR(Unmount(path));
  } else if (mounted) {
    return {Code::kInvalidArgument,
            path + ": already a mount (" + mounted->type + " of " +
                mounted->source + "); unmount it or take another folder"};
  }
  struct stat info = {};
  if (stat(path.c_str(), &info) == 0) {
    if (S_ISDIR(info.st_mode)) return {};
    return {Code::kInvalidArgument, path + ": not a folder"};
  }
  if (errno != ENOENT || !options.create_mountpoint) {
    const Code code =
        errno == ENOENT ? Code::kNotFound : Code::kPermissionDenied;
    return {code, path + ": " + ErrorText(errno)};
  }
  if (mkdir(path.c_str(), 0755) != 0) {
    const Code code =
        errno == ENOENT ? Code::kNotFound : Code::kPermissionDenied;
    return {code, path + ": cannot be made: " + ErrorText(errno)};
  }
  *created = true;
  return {};
}

// Reads of 128 KiB are small; let the kernel ask for more where we may.
void SetReadahead(const std::string& mountpoint) {
  std::ifstream mounts("/proc/self/mountinfo");
  for (std::string line; std::getline(mounts, line);) {
    std::istringstream fields(line);
    std::string id;
    std::string parent;
    std::string device;
    std::string root;
    std::string at;
    fields >> id >> parent >> device >> root >> at;
    if (at != mountpoint) continue;
    std::ofstream("/sys/class/bdi/" + device + "/read_ahead_kb") << 1024;
  }
}

}  // namespace

class FuseSession::State {
 public:
  State(Tree& tree, const MountOptions& options)
      : options_(options),
        blocking_(std::make_unique<BlockingPool>(options.blocking_threads)),
        context_{
            tree,        *blocking_, {options.uid, options.gid, options.umask},
            options.log, {},         false,
            false},
        events_(eventfd(0, EFD_CLOEXEC)) {
    context_.on_init = [this] {
      initialized_ = true;
      Wake(events_);
    };
  }

  ~State() {
    loop_.reset();
    if (mounted_ && !ended_) LeaveMount();
    blocking_.reset();  // answers what waits, then the descriptor goes
    if (session_ != nullptr) {
      // Unmounts by name what is not unmounted; by now that may be another
      // mount, so only when it is certain that there is none.
      if (ended_) fuse_session_unmount(session_);
      fuse_session_destroy(session_);
    }
    close(events_);
    if (created_) rmdir(options_.mountpoint.c_str());
  }

  Status Mount();
  Status Run(const std::function<void()>& ready);

 private:
  // Take the mount out of the name space, so that nobody new comes in.
  void LeaveMount();

  const MountOptions options_;
  std::unique_ptr<BlockingPool> blocking_;
  FuseContext context_;
  const int events_;  // something below has changed
  std::atomic<bool> initialized_{false};
  std::atomic<bool> ended_{false};
  fuse_session* session_ = nullptr;
  bool mounted_ = false;
  bool created_ = false;
  std::unique_ptr<FuseLoop> loop_;
};

Status FuseSession::State::Mount() {
  if (access("/dev/fuse", R_OK | W_OK) != 0) {
    return {errno == ENOENT ? Code::kNotFound : Code::kPermissionDenied,
            "/dev/fuse: " + ErrorText(errno) +
                "; load the fuse module (in a container: --device /dev/fuse "
                "--cap-add SYS_ADMIN), or use `rowfs ls` and `rowfs cat`"};
  }
  ROWFS_RETURN_IF_ERROR(CheckMountpoint(options_, &created_));
  fuse_args args = FUSE_ARGS_INIT(0, nullptr);
  const auto add = [&args](const std::string& option) {
    return fuse_opt_add_arg(&args, option.c_str()) == 0;
  };
  // A comma would end the option.
  std::string source = options_.source;
  std::replace(source.begin(), source.end(), ',', '_');
  bool added = add("rowfs") && add("-osubtype=rowfs") &&
               add("-ofsname=" + source) && add("-odefault_permissions");
  if (options_.allow_other) added = added && add("-oallow_other");
  for (const std::string& option : options_.fuse_options) {
    added = added && add("-o" + option);
  }
  if (added) {
    session_ = fuse_session_new(&args, &FuseOps(), sizeof(fuse_lowlevel_ops),
                                &context_);
  }
  fuse_opt_free_args(&args);
  if (session_ == nullptr) {
    return {Code::kInvalidArgument, "libfuse refuses the mount options"};
  }
  if (fuse_session_mount(session_, options_.mountpoint.c_str()) != 0) {
    std::string hint;
    if (options_.allow_other && geteuid() != 0) {
      hint = "; --allow-other needs user_allow_other in /etc/fuse.conf";
    }
    return {Code::kPermissionDenied,
            options_.mountpoint + ": cannot be mounted" + hint};
  }
  mounted_ = true;
  SetReadahead(options_.mountpoint);
  return {};
}

void FuseSession::State::LeaveMount() { DetachMount(options_.mountpoint); }

Status FuseSession::State::Run(const std::function<void()>& ready) {
  const auto processors =
      static_cast<size_t>(std::max(sysconf(_SC_NPROCESSORS_ONLN), 1L));
  loop_ = std::make_unique<FuseLoop>(
      session_, std::min(options_.loop_threads_max, processors), [this] {
        ended_ = true;
        Wake(events_);
      });
  const int signals = eventfd(0, EFD_CLOEXEC);
  signal_fd = signals;
  struct sigaction action = {};
  action.sa_handler = OnSignal;
  // The second one ends the process the hard way.
  action.sa_flags = SA_RESTART | static_cast<int>(SA_RESETHAND);
  struct sigaction before[3] = {};
  constexpr int kSignals[] = {SIGTERM, SIGINT, SIGHUP};
  for (size_t i = 0; i < 3; ++i) sigaction(kSignals[i], &action, &before[i]);
  signal(SIGPIPE, SIG_IGN);
  loop_->Start();

  bool told = false;
  for (;;) {
    pollfd fds[] = {{events_, POLLIN, 0}, {signals, POLLIN, 0}};
    if (poll(fds, 2, -1) < 0 && errno == EINTR) continue;
    if (fds[1].revents != 0 || ended_) break;
    uint64_t count = 0;
    if (read(events_, &count, sizeof(count)) < 0) break;
    if (initialized_ && !told) {
      told = true;
      ready();
    }
  }
  if (!ended_) LeaveMount();
  loop_.reset();
  signal_fd = -1;
  for (size_t i = 0; i < 3; ++i) sigaction(kSignals[i], &before[i], nullptr);
  close(signals);
  return {};
}

FuseSession::FuseSession(std::unique_ptr<State> state)
    : state_(std::move(state)) {}
FuseSession::~FuseSession() = default;

Result<std::unique_ptr<FuseSession>> FuseSession::Mount(
    Tree& tree, const MountOptions& options) {
  auto state = std::make_unique<State>(tree, options);
  ROWFS_RETURN_IF_ERROR(state->Mount());
  return std::unique_ptr<FuseSession>(new FuseSession(std::move(state)));
}

Status FuseSession::Run(const std::function<void()>& ready) {
  return state_->Run(ready);
}

}  // namespace rowfs
