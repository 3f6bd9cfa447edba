// The nodes that cannot be arithmetic: view files and folders, what lies in
// nested columns, selections. Each is kept while the kernel (or a caller of
// Tree::Lookup) holds references on it.
//
// Thread-safe.
#ifndef ROWFS_FS_TREE_NODE_TABLE_H_
#define ROWFS_FS_TREE_NODE_TABLE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

#include "index/dataset/dataset.h"
#include "storage/base/sync.h"

namespace rowfs {

struct TableNode {
  enum class Type : uint8_t {
    kItem,        // `path` from the row folder
    kViewFolder,  // `path` as the plugin knows it
    kViewFile,
    kSelection,  // `path` = the row list
  };

  Type type = Type::kItem;
  uint32_t slot = 0;
  uint64_t row = 0;
  CellPath cell;  // of views
  std::string path;
  // Not part of what identifies the node.
  bool is_directory = false;
  bool size_exact = true;
  uint64_t size = 0;
  uint64_t inode = 0;

  bool SameNode(const TableNode& other) const {
    return type == other.type && slot == other.slot && row == other.row &&
           cell == other.cell && path == other.path;
  }
};

// The inode number of a table node; 0 and 1 never come out.
uint64_t InodeOf(const TableNode& node, uint64_t snapshot_hash);

class NodeTable {
 public:
  // One more reference on `node`, which is added if it is not there. Returns
  // its number and its state: a size once exact stays so.
  std::pair<uint64_t, TableNode> Add(TableNode node, uint64_t snapshot_hash)
      EXCLUDES(mu_);
  // One more reference on the node that is like `node`, if it is there.
  std::optional<std::pair<uint64_t, TableNode>> FindAndAdd(
      const TableNode& node, uint64_t snapshot_hash) EXCLUDES(mu_);
  std::optional<TableNode> Find(uint64_t id) const EXCLUDES(mu_);
  // Give back `count` references; the last one removes the node. More than
  // there are count as all.
  void Forget(uint64_t id, uint64_t count) EXCLUDES(mu_);
  // The size of a rendered file, now known.
  void SetExactSize(uint64_t id, uint64_t size) EXCLUDES(mu_);
  uint64_t size() const EXCLUDES(mu_);

 private:
  struct Slot {
    TableNode node;
    uint64_t references = 0;
  };

  // The number `node` has, or would get.
  uint64_t Place(const TableNode& node, uint64_t snapshot_hash) const
      REQUIRES(mu_);

  mutable Mutex mu_;
  std::unordered_map<uint64_t, Slot> slots_ GUARDED_BY(mu_);
};

}  // namespace rowfs
#endif  // ROWFS_FS_TREE_NODE_TABLE_H_
