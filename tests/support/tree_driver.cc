#include "tests/support/tree_driver.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>

#include "fs/fuse/fuse_reply.h"
#include "fs/fuse/unmount.h"

namespace rowfs {
namespace {

// ---- fs/tree itself ---------------------------------------------------------

class DirectDriver final : public TreeDriver {
 public:
  explicit DirectDriver(SampleOptions options) : sample_(std::move(options)) {}

  const char* name() const override { return "Direct"; }

  Outcome<FileStat> Stat(const std::string& path) override {
    Outcome<FileStat> out;
    out.error = With(path, false, [&](const Entry& entry) {
      const auto attributes = tree().GetAttr(entry.node, Wait::kYes);
      if (!attributes.ok()) return ErrnoOf(attributes.status().code());
      const Attributes& a = attributes.value();
      out.value.type = a.type == NodeType::kFile        ? 'f'
                       : a.type == NodeType::kDirectory ? 'd'
                                                        : 'l';
      out.value.size = a.size;
      out.value.inode = a.inode;
      out.value.mtime_ns = a.mtime_ns;
      return 0;
    });
    return out;
  }

  Outcome<std::vector<std::string>> List(const std::string& path) override {
    Outcome<std::vector<std::string>> out;
    out.error = With(path, true, [&](const Entry& entry) {
      if (entry.attributes.type != NodeType::kDirectory) return ENOTDIR;
      const Status opened = tree().OpenDir(entry.node, Wait::kYes);
      if (!opened.ok()) return ContentErrnoOf(opened.code());
      uint64_t cookie = 0;
      // In small steps, so that going on behind a cookie is tried too.
      for (bool more = true; more;) {
        more = false;
        size_t taken = 0;
        const Status status =
            tree().ReadDir(entry.node, cookie, false, Wait::kYes,
                           [&](const DirectoryEntry& child) {
                             more = taken == 7;
                             if (more) return false;
                             ++taken;
                             cookie = child.next;
                             out.value.emplace_back(child.name);
                             return true;
                           });
        if (!status.ok()) return ContentErrnoOf(status.code());
      }
      return 0;
    });
    return out;
  }

  Outcome<std::string> Read(const std::string& path) override {
    return ReadAt(path, 0, SIZE_MAX);
  }

  Outcome<std::string> ReadAt(const std::string& path, uint64_t offset,
                              size_t size) override {
    Outcome<std::string> out;
    out.error = With(path, true, [&](const Entry& entry) {
      if (entry.attributes.type == NodeType::kDirectory) return EISDIR;
      uint64_t handle = 0;
      if (tree().open_needed()) {
        const auto opened = tree().Open(entry.node, Wait::kYes);
        if (!opened.ok()) return ContentErrnoOf(opened.status().code());
        handle = opened.value().handle;
      }
      int error = 0;
      while (out.value.size() < size) {
        Bytes buffer(std::min<size_t>(size - out.value.size(), 1000));
        const auto got = tree().Read(
            entry.node, handle, offset + out.value.size(), buffer, Wait::kYes);
        if (!got.ok()) error = ContentErrnoOf(got.status().code());
        if (!got.ok() || got.value() == 0) break;
        out.value += AsText(ByteSpan(buffer).first(got.value()));
      }
      if (handle != 0) tree().Release(handle);
      return error;
    });
    return out;
  }

  Outcome<std::string> ReadLink(const std::string& path) override {
    Outcome<std::string> out;
    out.error = With(path, false, [&](const Entry& entry) {
      const auto target = tree().ReadLink(entry.node, Wait::kYes);
      if (!target.ok()) return ErrnoOf(target.status().code());
      out.value = target.value();
      return 0;
    });
    return out;
  }

  Outcome<std::string> Xattr(const std::string& path,
                             const std::string& name) override {
    Outcome<std::string> out;
    out.error = With(path, true, [&](const Entry& entry) {
      const auto value = tree().GetXattr(entry.node, name, Wait::kYes);
      if (!value.ok()) {
        return value.status().code() == Code::kNotFound
                   ? ENODATA
                   : ContentErrnoOf(value.status().code());
      }
      out.value = value.value();
      return 0;
    });
    return out;
  }

  Outcome<std::vector<std::string>> Xattrs(const std::string& path) override {
    Outcome<std::vector<std::string>> out;
    out.error = With(path, true, [&](const Entry& entry) {
      const auto names = tree().ListXattr(entry.node, Wait::kYes);
      if (!names.ok()) return ContentErrnoOf(names.status().code());
      out.value = names.value();
      return 0;
    });
    return out;
  }

  int Write(const std::string& path, const std::string& text) override {
    return With(path, true, [&](const Entry& entry) {
      const auto attributes = tree().GetAttr(entry.node, Wait::kYes);
      if (!attributes.ok() || !attributes.value().writable) return EROFS;
      return ErrnoOf(tree().Write(entry.node, AsBytes(text)).code());
    });
  }

 private:
  Tree& tree() { return sample_.tree(); }

  int With(const std::string& path, bool follow,
           const std::function<int(const Entry&)>& use) {
    const auto entry = tree().Resolve(path, follow);
    if (!entry.ok()) {
      // The kernel says so of a file in the middle of a path.
      const int error = ErrnoOf(entry.status().code());
      return error == EINVAL ? ENOTDIR : error;
    }
    const int error = use(entry.value());
    tree().Forget(entry.value().node, 1);
    return error;
  }

  SampleTree sample_;
};

// ---- through the kernel -----------------------------------------------------

class MountedDriver final : public TreeDriver {
 public:
  explicit MountedDriver(const std::vector<std::string>& words)
      : mount_(words) {}

  const std::string& error() const { return mount_.error(); }
  const char* name() const override { return "Mounted"; }

  Outcome<FileStat> Stat(const std::string& path) override {
    struct stat info = {};
    if (lstat((mount_ / path).c_str(), &info) != 0) return {errno, {}};
    FileStat out;
    out.type = S_ISREG(info.st_mode)   ? 'f'
               : S_ISDIR(info.st_mode) ? 'd'
               : S_ISLNK(info.st_mode) ? 'l'
                                       : '?';
    out.size = static_cast<uint64_t>(info.st_size);
    out.inode = info.st_ino;
    out.mtime_ns = info.st_mtim.tv_sec * 1'000'000'000 + info.st_mtim.tv_nsec;
    return {0, out};
  }

  Outcome<std::vector<std::string>> List(const std::string& path) override {
    DIR* folder = opendir((mount_ / path).c_str());
    if (folder == nullptr) return {errno, {}};
    Outcome<std::vector<std::string>> out;
    errno = 0;
    while (const dirent* entry = readdir(folder)) {
      const std::string name = entry->d_name;
      if (name != "." && name != "..") out.value.push_back(name);
      errno = 0;
    }
    out.error = errno;
    closedir(folder);
    return out;
  }

  Outcome<std::string> Read(const std::string& path) override {
    return ReadAt(path, 0, SIZE_MAX);
  }

  Outcome<std::string> ReadAt(const std::string& path, uint64_t offset,
                              size_t size) override {
    const int fd = open((mount_ / path).c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0) return {errno, {}};
    Outcome<std::string> out;
    while (out.value.size() < size) {
      std::string buffer(std::min<size_t>(size - out.value.size(), 1000), '\0');
      const ssize_t got = pread(fd, buffer.data(), buffer.size(),
                                static_cast<off_t>(offset + out.value.size()));
      if (got < 0) out.error = errno;
      if (got <= 0) break;
      out.value += buffer.substr(0, static_cast<size_t>(got));
    }
    close(fd);
    return out;
  }

  Outcome<std::string> ReadLink(const std::string& path) override {
    char target[PATH_MAX];
    const ssize_t size =
        readlink((mount_ / path).c_str(), target, sizeof(target));
    if (size < 0) return {errno, {}};
    return {0, std::string(target, static_cast<size_t>(size))};
  }

  Outcome<std::string> Xattr(const std::string& path,
                             const std::string& name) override {
    char value[4096];
    const ssize_t size =
        getxattr((mount_ / path).c_str(), name.c_str(), value, sizeof(value));
    if (size < 0) return {errno, {}};
    return {0, std::string(value, static_cast<size_t>(size))};
  }

  Outcome<std::vector<std::string>> Xattrs(const std::string& path) override {
    char text[4096];
    const ssize_t size = listxattr((mount_ / path).c_str(), text, sizeof(text));
    if (size < 0) return {errno, {}};
    Outcome<std::vector<std::string>> out;
    for (const char* at = text; at < text + size; at += strlen(at) + 1) {
      // Of the mount, not of the tree.
      if (std::string(at) != "user.rowfs.pid") out.value.emplace_back(at);
    }
    return out;
  }

  int Write(const std::string& path, const std::string& text) override {
    const int fd = open((mount_ / path).c_str(), O_WRONLY | O_CLOEXEC);
    if (fd < 0) return errno;
    const ssize_t size = write(fd, text.data(), text.size());
    const int error = size < 0 ? errno : 0;
    close(fd);
    return error;
  }

 private:
  TestMount mount_;
};

std::string DaemonPath() {
  // Test programs lie beside it.
  char self[PATH_MAX];
  const ssize_t size = readlink("/proc/self/exe", self, sizeof(self));
  const std::string path(self, static_cast<size_t>(std::max<ssize_t>(size, 0)));
  return path.substr(0, path.rfind('/') + 1) + "rowfs-test-daemon";
}

}  // namespace

SampleOptions ParseSampleOptions(const std::vector<std::string>& words) {
  SampleOptions options;
  for (const std::string& word : words) {
    const size_t equals = word.find('=');
    const std::string key = word.substr(0, equals);
    const std::string value =
        equals == word.npos ? "" : word.substr(equals + 1);
    if (key == "rows") options.row_count = std::stoull(value);
    if (key == "narrow") options.narrow = true;
    if (key == "gate") options.gate = value;
    if (key == "sharded") options.tree.rows = TreeOptions::Rows::kSharded;
    if (key == "flat") options.tree.rows = TreeOptions::Rows::kFlat;
    if (key == "names") options.tree.name_column = value;
    if (key == "view") options.tree.views = {{"best", {3, 1, 3, 2}}};
    if (key == "no-open") options.tree.stored_only = true;
    if (key == "exact") options.tree.exact_stat = true;
  }
  return options;
}

std::unique_ptr<TreeDriver> MakeDirectDriver(
    const std::vector<std::string>& words) {
  return std::make_unique<DirectDriver>(ParseSampleOptions(words));
}

std::unique_ptr<TreeDriver> MakeMountedDriver(
    const std::vector<std::string>& words, std::string* why) {
  if (!CanMount(why)) return nullptr;
  auto driver = std::make_unique<MountedDriver>(words);
  *why = driver->error();
  if (!why->empty()) return nullptr;
  return driver;
}

bool CanMount(std::string* why) {
  if (access("/dev/fuse", R_OK | W_OK) == 0) return true;
  *why = "/dev/fuse: " + std::string(strerror(errno));
  return false;
}

CommandResult RunShell(const std::string& command) {
  FILE* pipe = popen((command + " 2>&1").c_str(), "re");
  CommandResult result;
  char buffer[4096];
  for (size_t size = fread(buffer, 1, sizeof(buffer), pipe); size > 0;
       size = fread(buffer, 1, sizeof(buffer), pipe)) {
    result.output.append(buffer, size);
  }
  const int status = pclose(pipe);
  result.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128;
  return result;
}

TestMount::TestMount(const std::vector<std::string>& words) {
  char folder[] = "/tmp/rowfs-mount-XXXXXX";
  folder_ = mkdtemp(folder);
  path_ = folder_ + "/m";
  std::string command = "timeout 20 " + DaemonPath() + " " + path_;
  for (const std::string& word : words) command += " '" + word + "'";
  const CommandResult result = RunShell(command);
  if (result.exit_code != 0) error_ = "daemon: " + result.output;
}

int TestMount::pid() const {
  char text[32] = {};
  const ssize_t size =
      getxattr(path_.c_str(), "user.rowfs.pid", text, sizeof(text) - 1);
  return size <= 0 ? 0 : atoi(text);
}

TestMount::~TestMount() {
  if (error_.empty() && !Unmount(path_).ok()) DetachMount(path_);
  rmdir(path_.c_str());
  rmdir(folder_.c_str());
}

}  // namespace rowfs
