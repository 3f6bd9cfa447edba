#include "fs/fuse/unmount.h"

#include <poll.h>
#include <spawn.h>
#include <sys/mount.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <climits>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <system_error>
#include <vector>

extern char** environ;

namespace rowfs {
namespace {

constexpr size_t kHoldersNamed = 5;

std::string ErrorText(int error) {
  return std::generic_category().message(error);
}

// mountinfo writes blanks, tabs, newlines and backslashes as \ooo.
std::string Unescape(const std::string& text) {
  std::string plain;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 3 < text.size()) {
      int value = 0;
      const char* begin = text.data() + i + 1;
      if (std::from_chars(begin, begin + 3, value, 8).ec == std::errc()) {
        plain += static_cast<char>(value);
        i += 3;
        continue;
      }
    }
    plain += text[i];
  }
  return plain;
}

// The absolute path, without touching the last part, which may be a dead mount.
Result<std::string> Absolute(std::string_view path) {
  std::string text(path);
  while (text.size() > 1 && text.back() == '/') text.pop_back();
  if (text.empty()) return Status(Code::kInvalidArgument, "no mount point");
  const size_t slash = text.rfind('/');
  std::string parent = slash == text.npos ? "." : text.substr(0, slash + 1);
  std::string name = slash == text.npos ? text : text.substr(slash + 1);
  if (name == "." || name == ".." || name.empty()) {
    parent = text;
    name.clear();
  }
  std::error_code error;
  const std::filesystem::path real = std::filesystem::canonical(parent, error);
  if (error) {
    return Status(Code::kNotFound, parent + ": " + error.message());
  }
  return name.empty() ? real.string() : (real / name).string();
}

// Runs fusermount3, which may unmount for users who are not root.
bool RunFusermount(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "fusermount3");
  std::vector<char*> raw;
  for (std::string& argument : arguments) raw.push_back(argument.data());
  raw.push_back(nullptr);
  pid_t child = 0;
  if (posix_spawnp(&child, raw[0], nullptr, nullptr, raw.data(), environ) !=
      0) {
    return false;
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

// 0, or the errno of why it did not work.
int UnmountNow(const std::string& path, bool lazy) {
  if (umount2(path.c_str(), lazy ? MNT_DETACH : 0) == 0) return 0;
  const int error = errno;
  if (error != EPERM) return error;
  std::vector<std::string> arguments = {"-u", "-q"};
  if (lazy) arguments.emplace_back("-z");
  arguments.emplace_back("--");
  arguments.push_back(path);
  return RunFusermount(arguments) ? 0 : EBUSY;
}

bool LiesBelow(const std::string& path, const std::string& folder) {
  return path.starts_with(folder) &&
         (path.size() == folder.size() || path[folder.size()] == '/');
}

std::string ReadLinkOf(const std::filesystem::path& link) {
  char target[PATH_MAX];
  const ssize_t size = readlink(link.c_str(), target, sizeof(target));
  return size <= 0 ? std::string()
                   : std::string(target, static_cast<size_t>(size));
}

// "bash (1234), less (77)": processes that stand in or have open something
// below `path`.
std::string Holders(const std::string& path) {
  std::string names;
  size_t count = 0;
  std::error_code error;
  for (const auto& process :
       std::filesystem::directory_iterator("/proc", error)) {
    const std::string pid = process.path().filename();
    if (pid.find_first_not_of("0123456789") != pid.npos) continue;
    bool holds = LiesBelow(ReadLinkOf(process.path() / "cwd"), path) ||
                 LiesBelow(ReadLinkOf(process.path() / "root"), path);
    std::error_code hidden;
    std::filesystem::directory_iterator fds(process.path() / "fd", hidden);
    for (; !hidden && !holds && fds != std::filesystem::directory_iterator();
         fds.increment(hidden)) {
      holds = LiesBelow(ReadLinkOf(fds->path()), path);
    }
    if (!holds || ++count > kHoldersNamed) continue;
    std::string name;
    std::getline(std::ifstream(process.path() / "comm") >> std::ws, name);
    names += (names.empty() ? "" : ", ") + name + " (" + pid + ")";
  }
  if (count > kHoldersNamed) {
    names += " and " + std::to_string(count - kHoldersNamed) + " more";
  }
  return names;
}

// A descriptor that is readable once the daemon of `path` has ended; -1 when
// nobody knows it.
int WatchDaemon(const std::string& path) {
  char text[32] = {};
  const ssize_t size =
      getxattr(path.c_str(), "user.rowfs.pid", text, sizeof(text) - 1);
  if (size <= 0) return -1;
  pid_t pid = 0;
  std::from_chars(text, text + size, pid);
  if (pid <= 1) return -1;
  return static_cast<int>(syscall(SYS_pidfd_open, pid, 0));
}

}  // namespace

Result<std::optional<MountedAt>> FindMount(std::string_view mountpoint) {
  ROWFS_ASSIGN_OR_RETURN(const std::string path, Absolute(mountpoint));
  std::ifstream mounts("/proc/self/mountinfo");
  std::optional<MountedAt> found;
  for (std::string line; std::getline(mounts, line);) {
    const size_t dash = line.find(" - ");
    if (dash == line.npos) continue;
    std::istringstream left(line.substr(0, dash));
    std::istringstream right(line.substr(dash + 3));
    std::string skip;
    std::string at;
    left >> skip >> skip >> skip >> skip >> at;
    if (Unescape(at) != path) continue;
    MountedAt mount;  // the last one lies on top
    right >> mount.type >> mount.source;
    mount.source = Unescape(mount.source);
    found = mount;
  }
  if (found && found->type.starts_with("fuse")) {
    // Unlike stat, never answered from the kernel's own memory.
    struct statvfs info = {};
    found->stale = statvfs(path.c_str(), &info) != 0 && errno == ENOTCONN;
  }
  return found;
}

Status Unmount(std::string_view mountpoint, int64_t timeout_ms) {
  ROWFS_ASSIGN_OR_RETURN(const std::string path, Absolute(mountpoint));
  ROWFS_ASSIGN_OR_RETURN(const auto mounted, FindMount(path));
  if (!mounted) return {Code::kNotFound, path + ": nothing is mounted there"};
  if (mounted->type != "fuse.rowfs") {
    return {Code::kInvalidArgument,
            path + ": a mount of " + mounted->type + ", not of rowfs"};
  }
  if (mounted->stale) {
    const int error = UnmountNow(path, true);
    if (error == 0) return {};
    return {Code::kPermissionDenied, path + ": " + ErrorText(error)};
  }
  const int daemon = WatchDaemon(path);
  const int error = UnmountNow(path, false);
  Status status;
  if (error == EBUSY) {
    const std::string holders = Holders(path);
    status = {Code::kUnavailable,
              path + ": in use" + (holders.empty() ? "" : " by " + holders)};
  } else if (error != 0) {
    status = {Code::kPermissionDenied, path + ": " + ErrorText(error)};
  } else if (daemon >= 0) {
    pollfd fd = {daemon, POLLIN, 0};
    if (poll(&fd, 1, static_cast<int>(timeout_ms)) == 0) {
      status = {Code::kDeadlineExceeded,
                path + ": unmounted, but its process has not ended yet"};
    }
  }
  if (daemon >= 0) close(daemon);
  return status;
}

void DetachMount(const std::string& mountpoint) {
  UnmountNow(mountpoint, true);
}

}  // namespace rowfs
