// What a Tree consists of; private to fs/tree. Operations are split by what
// they do: tree_lookup.cc (names, attributes, links), tree_list.cc (folders),
// tree_open.cc (bytes), tree_xattr.cc.
//
// Thread-safe.
#ifndef ROWFS_FS_TREE_TREE_STATE_H_
#define ROWFS_FS_TREE_TREE_STATE_H_

#include <array>
#include <atomic>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "fs/tree/control_files.h"
#include "fs/tree/handle_table.h"
#include "fs/tree/node_id.h"
#include "fs/tree/node_table.h"
#include "fs/tree/prefetcher.h"
#include "fs/tree/selection.h"
#include "fs/tree/snapshot.h"
#include "fs/tree/tree.h"
#include "fs/tree/version_slots.h"

namespace rowfs {

class Tree::State {
 public:
  using Put = std::function<bool(const DirectoryEntry&)>;
  using File = std::shared_ptr<const ViewFile>;

  State(std::shared_ptr<Dataset> dataset, PluginRegistry& plugins,
        Renderer& renderer, TreeOptions options);

  Result<Entry> Lookup(NodeId parent, std::string_view name, Wait wait);
  void Forget(NodeId node, uint64_t count) { table_.Forget(node, count); }
  Result<Attributes> GetAttr(NodeId id, Wait wait);
  Status ReadDir(NodeId id, uint64_t cookie, bool plus, Wait wait,
                 const Put& put);
  Status OpenDir(NodeId id, Wait wait);
  static bool AbsenceIsFinal(NodeId id);
  Result<OpenedFile> Open(NodeId id, Wait wait);
  Result<size_t> Read(NodeId id, uint64_t handle, uint64_t offset,
                      MutableByteSpan out, Wait wait);
  void Release(uint64_t handle);
  Status Write(NodeId id, ByteSpan bytes);
  Result<std::string> ReadLink(NodeId id, Wait wait);
  Result<std::string> GetXattr(NodeId id, std::string_view name, Wait wait);
  Result<std::vector<std::string>> ListXattr(NodeId id, Wait wait);
  Result<Entry> Resolve(std::string_view path, bool follow);
  Status Prefetch(std::string_view line);
  bool open_needed() const;
  bool folders_fixed() const;
  TreeStats Stats() const;
  void CountRequest(Operation operation) {
    requests_[static_cast<size_t>(operation)].fetch_add(
        1, std::memory_order_relaxed);
  }
  void CountError(std::string_view errno_name) { errors_.Count(errno_name); }

 private:
  // A node, taken apart.
  struct Place {
    NodeId id = 0;
    Node node;
    Snapshot* snapshot = nullptr;  // never null
    std::optional<TableNode> table;
  };
  // A file or folder of a row: contents hold the item.
  struct Found {
    std::shared_ptr<const RowContents> contents;
    uint32_t item = 0;

    const RowItem& get() const { return contents->items[item]; }
  };

  // ---- tree_lookup.cc
  Result<Place> Locate(NodeId id);
  // The folder that really holds the entries: `.versions/N` is the root of
  // another snapshot.
  Result<Place> EnterVersion(Place place, Wait wait);
  Result<Entry> LookupRoot(const Place& at, std::string_view name, Wait wait);
  Result<Entry> LookupRows(const Place& at, std::string_view name, Wait wait);
  Result<Entry> LookupBy(const Place& at, std::string_view name, Wait wait);
  Result<Entry> LookupSelected(const Place& at, const Selection& rows,
                               std::string_view name, Wait wait);
  Result<Entry> LookupVersion(std::string_view name, bool tag, Wait wait);
  Result<Entry> LookupItem(const Place& at, uint64_t row, uint32_t parent,
                           std::string_view name, Wait wait);
  Result<Entry> LookupLateView(const Place& at, const RowContents& contents,
                               uint32_t parent, std::string_view name,
                               Wait wait);
  Result<Entry> LookupView(const Place& at, std::string_view name, Wait wait);
  Result<Entry> LookupViewPath(Snapshot& snapshot, uint64_t row,
                               const CellPath& cell, std::string path,
                               Wait wait);
  Result<bool> HasRow(const Place& value, uint64_t row);
  Result<Found> FindItem(const Place& at, Wait wait);
  Result<Selection> SelectionOf(const Place& at) const;

  // ---- tree_entry.cc: entries of nodes, from memory unless said
  Node NodeOf(const Snapshot& snapshot, NodeKind kind, uint64_t row = 0,
              uint32_t item = 0) const;
  Attributes Plain(const Snapshot& snapshot, const Node& node,
                   NodeType type) const;
  Entry PlainEntry(const Snapshot& snapshot, const Node& node,
                   NodeType type) const;
  // Links: their size is the length of where they lead.
  Result<Entry> LinkEntry(Snapshot& snapshot, NodeKind kind, uint64_t row,
                          Wait wait);
  Result<Entry> MetadataEntry(Snapshot& snapshot, Wait wait);
  Entry ControlEntry(const Snapshot& snapshot, ControlFile file) const;
  Entry ItemEntry(Snapshot& snapshot, const RowContents& contents,
                  const RowItem& item, bool reference);
  Entry StoredEntry(const Snapshot& snapshot, uint64_t row,
                    const StoredFile& file) const;
  TableNode ViewNode(const Snapshot& snapshot, uint64_t row,
                     const CellPath& cell, std::string path,
                     const ViewEntry& entry) const;
  Entry TableEntry(const Snapshot& snapshot, TableNode node, bool reference);
  Attributes TableAttributes(const Snapshot& snapshot,
                             const TableNode& node) const;
  Result<std::string> LinkTarget(Snapshot& snapshot, NodeKind kind,
                                 uint64_t row, Wait wait);
  std::string ControlText(const Snapshot& snapshot, ControlFile file) const;
  std::vector<std::string_view> RootNames(const Snapshot& snapshot) const;
  // Put the size in `entry` that rendering found before, if it did.
  void FindSize(Snapshot& snapshot, const Media& media, const std::string& path,
                ViewEntry* entry) const;

  // ---- tree_list.cc
  class Lister;
  Status ListRows(const Place& at, Lister& out, Wait wait);
  Status ListBy(const Place& at, Lister& out);
  Status ListSelected(const Place& at, const Selection& rows, Lister& out,
                      Wait wait);
  Status ListVersions(bool tags, Lister& out);
  Status ListItems(const Place& at, uint64_t row, uint32_t parent, Lister& out,
                   Wait wait);
  Status ListView(const Place& at, Lister& out, Wait wait);
  Status ListNames(const Place& at, const std::vector<std::string_view>& names,
                   Lister& out);

  // ---- tree_open.cc
  Result<File> OpenFile(const Place& at, Wait wait);
  Result<File> FileOf(NodeId id, Wait wait);
  Result<size_t> ReadQuickly(NodeId id, const ViewFile& file, uint64_t offset,
                             MutableByteSpan out);
  void NoteSize(const Place& at, uint64_t size);
  Status PrefetchRow(Snapshot& snapshot, uint64_t row);
  Status PrefetchFile(NodeId id);

  // ---- what went wrong, for user.rowfs.error
  void NoteError(NodeId id, const Status& error) EXCLUDES(mu_);
  std::string FindError(NodeId id) const EXCLUDES(mu_);
  std::string NameOf(const Place& at) const;

  using Xattrs = std::map<std::string, std::string, std::less<>>;
  Result<Xattrs> ReadXattrs(const Place& at, Wait wait);
  Status AddBlobXattrs(Snapshot& snapshot, uint64_t row, const CellPath& cell,
                       Xattrs* out);

  // Behind the last entry of a row's folder: nothing has to be looked up to say
  // that there is no more. More than there can be, and a long of 32 bits.
  static constexpr uint64_t kRowListEnd = (uint64_t{1} << 31) - 16;
  static constexpr size_t kErrorsKept = 1000;
  static constexpr size_t kUnopenedFilesKept = 256;
  // Longer listings are not worth keeping, nor all their attributes telling.
  static constexpr uint64_t kFolderEntriesKept = 10'000;
  // Above this many rows metadata.jsonl is not read only to tell its size.
  static constexpr uint64_t kMetadataStatRowsMax = 10'000;

  const TreeOptions options_;
  const uint64_t row_count_;
  std::vector<std::pair<std::string, Selection>> views_;
  VersionSlots versions_;
  ErrorCounters errors_;
  std::array<std::atomic<uint64_t>, kOperationNames.size()> requests_ = {};
  NodeTable table_;
  HandleTable handles_;
  mutable Mutex mu_;
  std::map<NodeId, std::string> failures_ GUARDED_BY(mu_);
  std::list<NodeId> failure_order_ GUARDED_BY(mu_);  // oldest first
  // Files that are read without an Open, newest first, and where each stands.
  std::list<std::pair<NodeId, File>> unopened_ GUARDED_BY(mu_);
  std::unordered_map<NodeId, std::list<std::pair<NodeId, File>>::iterator>
      unopened_places_ GUARDED_BY(mu_);
  Prefetcher prefetcher_;  // last: its destructor waits for work on the rest
};

}  // namespace rowfs
#endif  // ROWFS_FS_TREE_TREE_STATE_H_
