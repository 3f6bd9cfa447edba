// The least a FUSE mount of a pack can do: the yardstick of `rowfs bench packs`
// and no product. Names and sizes are in memory, a read is one pread of the
// pack, nothing is ever asked twice, and files are opened without an answer.
//
//   bare_mount PACK INDEX MOUNTPOINT [threads] [kept]
//
// INDEX has a line "PATH<TAB>OFFSET<TAB>SIZE" for each file; folders are those
// of the paths. One thread answers, or with `threads` libfuse's loop of many.
// With `kept` folders are opened without an answer too, listed with attributes,
// and their listings kept by the kernel: the least that many small folders
// cost. Stays in the foreground until it is unmounted.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#define FUSE_USE_VERSION 312
#include <fuse_lowlevel.h>

namespace {

constexpr double kForever = 1e9;

struct Node {
  std::string name;
  uint32_t parent = 0;
  bool is_folder = false;
  uint64_t offset = 0;
  uint64_t size = 0;
  std::vector<uint32_t> children;
};

class Files {
 public:
  Files() { nodes_.push_back({"", 0, true, 0, 0, {}}); }

  void Add(std::string_view path, uint64_t offset, uint64_t size) {
    uint32_t at = 0;
    for (;;) {
      const size_t slash = path.find('/');
      const uint32_t child = Child(at, path.substr(0, slash));
      at = child;
      if (slash == path.npos) break;
      nodes_[at].is_folder = true;
      path.remove_prefix(slash + 1);
    }
    nodes_[at].offset = offset;
    nodes_[at].size = size;
  }

  const Node* Find(fuse_ino_t inode) const {
    return inode == 0 || inode > nodes_.size() ? nullptr : &nodes_[inode - 1];
  }
  // 0: there is none.
  fuse_ino_t Lookup(fuse_ino_t parent, std::string_view name) const {
    const auto found = by_name_.find(Key(parent - 1, name));
    return found == by_name_.end() ? 0 : found->second + 1;
  }

 private:
  static std::string Key(uint64_t parent, std::string_view name) {
    return std::to_string(parent) + "/" + std::string(name);
  }
  uint32_t Child(uint32_t parent, std::string_view name) {
    const auto fresh = static_cast<uint32_t>(nodes_.size());
    const auto [place, added] = by_name_.try_emplace(Key(parent, name), fresh);
    if (added) {
      nodes_.push_back({std::string(name), parent, false, 0, 0, {}});
      nodes_[parent].children.push_back(fresh);
    }
    return place->second;
  }

  std::vector<Node> nodes_;
  std::unordered_map<std::string, uint32_t> by_name_;
};

Files files;  // filled before the mount answers
int pack = -1;
bool keep_folders = false;

fuse_entry_param EntryOf(fuse_ino_t inode) {
  const Node& node = *files.Find(inode);
  fuse_entry_param entry = {};
  entry.ino = inode;
  entry.attr_timeout = kForever;
  entry.entry_timeout = kForever;
  entry.attr.st_ino = inode;
  entry.attr.st_nlink = 1;
  entry.attr.st_mode = node.is_folder ? S_IFDIR | 0555 : S_IFREG | 0444;
  entry.attr.st_size = static_cast<off_t>(node.size);
  entry.attr.st_blocks = static_cast<blkcnt_t>((node.size + 511) / 512);
  return entry;
}

void OpInit(void*, fuse_conn_info* connection) {
  connection->max_background = 64;
  connection->want |=
      connection->capable & (FUSE_CAP_READDIRPLUS | FUSE_CAP_READDIRPLUS_AUTO |
                             FUSE_CAP_PARALLEL_DIROPS);
  connection->want &= ~static_cast<unsigned>(FUSE_CAP_AUTO_INVAL_DATA);
  if (keep_folders) {
    connection->want &= ~static_cast<unsigned>(FUSE_CAP_READDIRPLUS_AUTO);
  }
}

void OpLookup(fuse_req_t request, fuse_ino_t parent, const char* name) {
  const fuse_ino_t inode = files.Lookup(parent, name);
  if (inode == 0) {
    fuse_reply_err(request, ENOENT);
    return;
  }
  const fuse_entry_param entry = EntryOf(inode);
  fuse_reply_entry(request, &entry);
}

void OpGetAttr(fuse_req_t request, fuse_ino_t inode, fuse_file_info*) {
  if (files.Find(inode) == nullptr) {
    fuse_reply_err(request, ENOENT);
    return;
  }
  const fuse_entry_param entry = EntryOf(inode);
  fuse_reply_attr(request, &entry.attr, kForever);
}

void List(fuse_req_t request, fuse_ino_t inode, size_t size, off_t offset,
          bool plus) {
  thread_local std::vector<char> buffer;
  buffer.resize(size);
  const std::vector<uint32_t>& children = files.Find(inode)->children;
  size_t used = 0;
  for (auto i = static_cast<size_t>(offset); i < children.size(); ++i) {
    const fuse_entry_param entry = EntryOf(children[i] + 1);
    const char* name = files.Find(children[i] + 1)->name.c_str();
    const auto next = static_cast<off_t>(i + 1);
    char* at = buffer.data() + used;
    const size_t needed = plus
                              ? fuse_add_direntry_plus(request, at, size - used,
                                                       name, &entry, next)
                              : fuse_add_direntry(request, at, size - used,
                                                  name, &entry.attr, next);
    if (needed > size - used) break;
    used += needed;
  }
  fuse_reply_buf(request, buffer.data(), used);
}

void OpOpenDir(fuse_req_t request, fuse_ino_t, fuse_file_info* info) {
  if (keep_folders) {
    fuse_reply_err(request, ENOSYS);
  } else {
    fuse_reply_open(request, info);
  }
}

void OpReadDir(fuse_req_t request, fuse_ino_t inode, size_t size, off_t offset,
               fuse_file_info*) {
  List(request, inode, size, offset, false);
}

void OpReadDirPlus(fuse_req_t request, fuse_ino_t inode, size_t size,
                   off_t offset, fuse_file_info*) {
  List(request, inode, size, offset, true);
}

void OpOpen(fuse_req_t request, fuse_ino_t, fuse_file_info*) {
  fuse_reply_err(request, ENOSYS);
}

void OpRead(fuse_req_t request, fuse_ino_t inode, size_t size, off_t offset,
            fuse_file_info*) {
  thread_local std::vector<char> buffer;
  const Node& node = *files.Find(inode);
  const auto from = static_cast<uint64_t>(offset);
  size = from >= node.size ? 0 : std::min<uint64_t>(size, node.size - from);
  if (buffer.size() < size) buffer.resize(size);
  const ssize_t got =
      pread(pack, buffer.data(), size, static_cast<off_t>(node.offset + from));
  if (got < 0) {
    fuse_reply_err(request, errno);
  } else {
    fuse_reply_buf(request, buffer.data(), static_cast<size_t>(got));
  }
}

bool ReadIndex(const char* path) {
  std::ifstream in(path);
  for (std::string line; std::getline(in, line);) {
    const size_t first = line.find('\t');
    const size_t second = line.find('\t', first + 1);
    if (first == line.npos || second == line.npos) return false;
    const char* text = line.data();
    uint64_t offset = 0;
    uint64_t size = 0;
    std::from_chars(text + first + 1, text + second, offset);
    std::from_chars(text + second + 1, text + line.size(), size);
    files.Add(std::string_view(line).substr(0, first), offset, size);
  }
  return in.eof();
}

int Serve(const char* mountpoint, bool threads) {
  fuse_lowlevel_ops ops = {};
  ops.init = OpInit;
  ops.lookup = OpLookup;
  ops.getattr = OpGetAttr;
  ops.opendir = OpOpenDir;
  ops.readdir = OpReadDir;
  ops.readdirplus = OpReadDirPlus;
  ops.open = OpOpen;
  ops.read = OpRead;
  fuse_args args = FUSE_ARGS_INIT(0, nullptr);
  if (fuse_opt_add_arg(&args, "bare_mount") != 0 ||
      fuse_opt_add_arg(&args, "-ofsname=bare_mount,ro") != 0) {
    return 1;
  }
  fuse_session* session = fuse_session_new(&args, &ops, sizeof(ops), nullptr);
  fuse_opt_free_args(&args);
  if (session == nullptr || fuse_set_signal_handlers(session) != 0 ||
      fuse_session_mount(session, mountpoint) != 0) {
    return 1;
  }
  fuse_loop_config* config = fuse_loop_cfg_create();
  const int failed = threads ? fuse_session_loop_mt(session, config)
                             : fuse_session_loop(session);
  fuse_loop_cfg_destroy(config);
  fuse_session_unmount(session);
  fuse_session_destroy(session);
  return failed == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) {
    std::fprintf(stderr,
                 "usage: bare_mount PACK INDEX MOUNTPOINT [threads] [kept]\n");
    return 2;
  }
  pack = open(argv[1], O_RDONLY | O_CLOEXEC);
  if (pack < 0 || !ReadIndex(argv[2])) {
    std::fprintf(stderr, "%s: cannot be read\n", pack < 0 ? argv[1] : argv[2]);
    return 1;
  }
  const auto has = [&](std::string_view word) {
    return std::find(argv + 4, argv + argc, word) != argv + argc;
  };
  keep_folders = has("kept");
  return Serve(argv[3], has("threads"));
}
