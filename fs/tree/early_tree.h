// What a tree shows while its table is still being looked through: rows/ with
// the rows found so far and their files, and what needs no table. Everything
// else is for the whole tree to answer. What is told here is what that will
// say: names, numbers and sizes stay.
//
// Thread-safe.
#ifndef ROWFS_FS_TREE_EARLY_TREE_H_
#define ROWFS_FS_TREE_EARLY_TREE_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "fs/tree/control_files.h"
#include "fs/tree/node_id.h"
#include "fs/tree/rows_layout.h"
#include "fs/tree/tree.h"
#include "index/dataset/early_rows.h"
#include "storage/base/sync.h"

namespace rowfs {

class EarlyTree {
 public:
  // Absent: the whole tree has to say.
  template <typename T>
  using Answer = std::optional<Result<T>>;

  EarlyTree(std::shared_ptr<const EarlyRows> rows, TreeOptions options);

  // As those of Tree. With Wait::kYes they wait for rows that are not found
  // yet.
  Answer<Entry> Lookup(NodeId parent, std::string_view name, Wait wait);
  Answer<Attributes> GetAttr(NodeId id, Wait wait);
  std::optional<Status> ReadDir(
      NodeId id, uint64_t cookie, Wait wait,
      const std::function<bool(const DirectoryEntry&)>& put);
  Answer<OpenedFile> Open(NodeId id, Wait wait);
  Answer<size_t> Read(NodeId id, uint64_t offset, MutableByteSpan out,
                      Wait wait);
  Answer<std::string> ReadLink(NodeId id, Wait wait);
  uint64_t row_count() const { return rows_->found().rows; }

  // From now on nothing new is decided; what was is put in `options`, for the
  // whole tree to keep to.
  void Seal(TreeOptions* options) EXCLUDES(mu_);

 private:
  using Put = std::function<bool(const DirectoryEntry&)>;

  Attributes Plain(const Node& node, NodeType type) const;
  Entry PlainEntry(NodeKind kind, uint64_t row, uint32_t item,
                   NodeType type) const;
  // How rows are called; absent when it cannot be told yet, and with
  // Wait::kYes when it will not be told here.
  std::optional<RowsLayout> Layout(Wait wait) EXCLUDES(mu_);
  std::optional<RowsLayout> Judge(const EarlyRows::Found& found) const;
  // Whether `row` is there; false: not that we know.
  bool Has(uint64_t row, Wait wait) const;
  std::optional<std::string> ControlText(ControlFile file) const;

  Answer<Entry> LookupRow(const Node& parent, std::string_view name, Wait wait);
  Answer<Entry> LookupFile(uint64_t row, std::string_view name);
  std::optional<Status> ListRows(const Node& folder, uint64_t cookie, Wait wait,
                                 const Put& put);
  std::optional<Status> ListFiles(uint64_t row, uint64_t cookie,
                                  const Put& put);
  // The file of a row behind a node; absent for row.json and what is not known.
  std::optional<FileRows::File> FindFile(const Node& node) const;

  const std::shared_ptr<const EarlyRows> rows_;
  const TreeOptions options_;
  const uint64_t hash_;
  Mutex mu_;
  std::optional<RowsLayout> layout_ GUARDED_BY(mu_);
  bool sealed_ GUARDED_BY(mu_) = false;
};

}  // namespace rowfs
#endif  // ROWFS_FS_TREE_EARLY_TREE_H_
