// A dataset as a read-only file system with no kernel in it: names to nodes,
// nodes to attributes, entries and bytes. fs/fuse translates requests of the
// kernel into these calls, `rowfs ls` and `rowfs cat` make them directly.
//
// Every operation that may have to wait (for a disk, a network, a plugin)
// takes a Wait: with Wait::kNo it answers from memory, or with kUnavailable,
// which then means no more than "ask again with Wait::kYes". With Wait::kYes it
// blocks for as long as it takes.
//
// Errors are those of Status: kNotFound (no such name, node or attribute),
// kInvalidArgument (not a directory, not a file, a bad handle),
// kPermissionDenied, and for contents those of the table, the blob and the
// plugin, whose words FindError keeps.
//
// Thread-safe. No lock is held while anything waits.
#ifndef ROWFS_FS_TREE_TREE_H_
#define ROWFS_FS_TREE_TREE_H_

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "fs/tree/tree_options.h"
#include "index/dataset/dataset.h"
#include "index/runtime/plugin.h"
#include "index/view/renderer.h"
#include "storage/base/status.h"
#include "storage/base/sync.h"

namespace rowfs {

class EarlyRows;
class EarlyTree;

// Names a node of one Tree. Files and directories of rows are arithmetic, the
// same in every process; view files, nested folders and selections are kept in
// a table for as long as they are referenced.
using NodeId = uint64_t;
inline constexpr NodeId kRootNode = 1;

enum class NodeType { kFile, kDirectory, kLink };

// What stat says of folders.
inline constexpr uint64_t kFolderSize = 4096;

struct Attributes {
  NodeType type = NodeType::kFile;
  // A function of (snapshot, row, column, view, item): the same file has the
  // same number in every mount, files of other versions have others.
  uint64_t inode = 0;
  uint64_t size = 0;
  // False: `size` is a non-zero estimate until the file has been opened, or the
  // file changes (stats, log); keep neither.
  bool size_exact = true;
  bool writable = false;  // .rowfs/prefetch
  int64_t mtime_ns = 0;
};

struct Entry {
  NodeId node = 0;  // 0: the attributes would cost; look it up when needed
  Attributes attributes;
};

struct DirectoryEntry {
  std::string_view name;  // valid during the callback
  Entry entry;            // without `plus`: type and inode only
  uint64_t next = 0;      // the cookie that goes on behind this entry
};

struct OpenedFile {
  uint64_t handle = 0;
  Attributes attributes;  // size exact, whatever GetAttr said before
  bool changing = false;  // stats, log: never cache its pages
};

// What the kernel asks for.
enum class Operation {
  kLookup,
  kGetAttr,
  kReadDir,
  kOpenDir,
  kOpen,
  kRead,
  kReadLink,
  kGetXattr,
};
inline constexpr std::array<std::string_view, 8> kOperationNames = {
    "lookup", "getattr", "readdir",  "opendir",
    "open",   "read",    "readlink", "getxattr"};

struct TreeStats {
  uint64_t row_count = 0;
  uint64_t open_handles = 0;
  uint64_t table_nodes = 0;  // nodes held for someone
};

class Tree {
 public:
  // The tree of `dataset`. Costs no I/O. `plugins` and `renderer` outlive it,
  // as does everything `options` points to. kInvalidArgument when an option
  // names a column or a row that is not there, kUnsupported above 2^34 rows.
  static Result<std::unique_ptr<Tree>> Make(std::shared_ptr<Dataset> dataset,
                                            PluginRegistry& plugins,
                                            Renderer& renderer,
                                            TreeOptions options);
  // A tree of a table that is still being looked through. What `rows` has found
  // is shown; whatever else is asked for waits for Complete. Of `options` what
  // needs no dataset.
  static std::unique_ptr<Tree> MakeEarly(std::shared_ptr<const EarlyRows> rows,
                                         TreeOptions options);
  // What names were told already, for the options of the whole tree: no more
  // will be until Complete.
  void KeepNames(TreeOptions* options);
  // From now on `whole`, made of the same rows and with those options, answers;
  // an error: whatever waits or comes gets kUnavailable with its words.
  void Complete(Result<std::unique_ptr<Tree>> whole);
  ~Tree();
  Tree(const Tree&) = delete;
  Tree& operator=(const Tree&) = delete;

  // The child `name` of directory `parent`; the caller holds one more reference
  // on it, to be given back by Forget.
  Result<Entry> Lookup(NodeId parent, std::string_view name, Wait wait);
  // Give back `count` references.
  void Forget(NodeId node, uint64_t count);
  Result<Attributes> GetAttr(NodeId node, Wait wait);

  // Entries of `directory` behind `cookie` (0: from the start), in a fixed
  // order, until `put` returns false: that entry was not taken. With `plus`
  // they carry nodes and attributes, and every entry with a node that was taken
  // is a reference as by Lookup. "." and ".." are not among them. Once `put`
  // was called no error is returned.
  Status ReadDir(NodeId directory, uint64_t cookie, bool plus, Wait wait,
                 const std::function<bool(const DirectoryEntry&)>& put);

  // Whether `directory` can be read at all: a folder of views fails here when
  // its views cannot be made.
  Status OpenDir(NodeId directory, Wait wait);
  // Whether a name that is not in `directory` now can never come to be there.
  bool AbsenceIsFinal(NodeId directory) const;

  // Open a file; renders it where it has to be rendered. Give the handle back
  // with Release.
  Result<OpenedFile> Open(NodeId node, Wait wait);
  // Up to out.size() bytes from `offset`; fewer only at the end, 0 past it.
  // `handle` 0: `node` without an Open before, allowed when !open_needed().
  Result<size_t> Read(NodeId node, uint64_t handle, uint64_t offset,
                      MutableByteSpan out, Wait wait);
  void Release(uint64_t handle);
  // Write to .rowfs/prefetch: lines of paths from the root, or of rows
  // ("0,5-6,100-"), in the order they will be wanted. Returns at once.
  Status Write(NodeId node, ByteSpan bytes);

  Result<std::string> ReadLink(NodeId node, Wait wait);
  // Value of "user.rowfs.NAME". kNotFound when there is none.
  Result<std::string> GetXattr(NodeId node, std::string_view name, Wait wait);
  // Their names, sorted.
  Result<std::vector<std::string>> ListXattr(NodeId node, Wait wait);

  // Whether files must be opened before they are read: some are rendered and
  // have no exact size before. False: all sizes are exact always.
  bool open_needed() const;
  // Whether every folder is small and lists for ever what it lists now, so that
  // whoever asks may keep it.
  bool folders_fixed() const;
  TreeStats Stats() const;
  // Count a request of the kernel, for rowfs_requests_total{operation}.
  void CountRequest(Operation operation);
  // Count an error as a program saw it, for rowfs_errors_total{errno}.
  void CountError(std::string_view errno_name);

  // ---- without a kernel -----------------------------------------------------

  // The node at `path` from the root, links followed unless `follow` is false
  // (then only the last part is not). Waits. Holds one reference on it.
  Result<Entry> Resolve(std::string_view path, bool follow = true);
  // Bring what `line` names (a path or rows) into the caches. Waits.
  Status Prefetch(std::string_view line);

 private:
  class State;
  explicit Tree(std::unique_ptr<State> state);
  explicit Tree(std::unique_ptr<EarlyTree> early);

  // What the early tree answers, else what the whole one does.
  template <typename Value, typename Early, typename Whole>
  Value Ask(Wait wait, const Early& early, const Whole& whole) const;
  Status WaitForWhole() const EXCLUDES(mu_);

  const std::unique_ptr<EarlyTree> early_;  // null: whole from the start
  std::unique_ptr<State> state_;
  std::atomic<State*> whole_{nullptr};  // state_, once it may be used
  mutable Mutex mu_;
  mutable CondVar completed_;
  Status failure_ GUARDED_BY(mu_);
};

}  // namespace rowfs
#endif  // ROWFS_FS_TREE_TREE_H_
