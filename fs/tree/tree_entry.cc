#include <algorithm>

#include "fs/tree/tree_state.h"
#include "storage/base/clock.h"

namespace rowfs {
namespace {

// What a line of metadata.jsonl is taken for until it was made.
constexpr uint64_t kLineBytesGuess = 256;

}  // namespace

Node Tree::State::NodeOf(const Snapshot& snapshot, NodeKind kind, uint64_t row,
                         uint32_t item) const {
  return Node{kind, snapshot.slot(), row, item};
}

Attributes Tree::State::Plain(const Snapshot& snapshot, const Node& node,
                              NodeType type) const {
  Attributes attributes;
  attributes.type = type;
  attributes.inode = InodeOf(EncodeNode(node), snapshot.hash());
  attributes.size = type == NodeType::kDirectory ? kFolderSize : 0;
  attributes.mtime_ns = snapshot.mtime_ns();
  return attributes;
}

Entry Tree::State::PlainEntry(const Snapshot& snapshot, const Node& node,
                              NodeType type) const {
  return {EncodeNode(node), Plain(snapshot, node, type)};
}

Result<Entry> Tree::State::LinkEntry(Snapshot& snapshot, NodeKind kind,
                                     uint64_t row, Wait wait) {
  ROWFS_ASSIGN_OR_RETURN(const std::string target,
                         LinkTarget(snapshot, kind, row, wait));
  Entry entry =
      PlainEntry(snapshot, NodeOf(snapshot, kind, row), NodeType::kLink);
  entry.attributes.size = target.size();
  return entry;
}

Result<Entry> Tree::State::MetadataEntry(Snapshot& snapshot, Wait wait) {
  Entry entry = PlainEntry(snapshot, NodeOf(snapshot, NodeKind::kMetadata),
                           NodeType::kFile);
  const auto known = snapshot.Metadata(Wait::kNo);
  if (known.ok()) {
    entry.attributes.size = known.value()->size();
  } else if (!open_needed() ||
             snapshot.layout().row_count() <= kMetadataStatRowsMax) {
    ROWFS_ASSIGN_OR_RETURN(const auto file, snapshot.Metadata(wait));
    entry.attributes.size = file->size();
  } else {
    entry.attributes.size = snapshot.layout().row_count() * kLineBytesGuess;
    entry.attributes.size_exact = false;
  }
  return entry;
}

std::string Tree::State::ControlText(const Snapshot& snapshot,
                                     ControlFile file) const {
  switch (file) {
    case ControlFile::kSchema:
      return SchemaText(snapshot.dataset());
    case ControlFile::kDataset:
      return DatasetText(snapshot.dataset());
    case ControlFile::kConfig:
      return options_.config_json + "\n";
    case ControlFile::kStats: {
      std::string text;
      if (options_.stats_text) text = options_.stats_text();
      text += errors_.Text();
      text += "# TYPE rowfs_requests_total counter\n";
      for (size_t i = 0; i < requests_.size(); ++i) {
        text += "rowfs_requests_total{operation=\"" +
                std::string(kOperationNames[i]) + "\"} " +
                std::to_string(requests_[i]) + "\n";
      }
      text += "# TYPE rowfs_open_handles gauge\nrowfs_open_handles " +
              std::to_string(handles_.size()) + "\n";
      return text;
    }
    case ControlFile::kLog:
      return options_.log == nullptr ? std::string() : LogText(*options_.log);
    case ControlFile::kPrefetch:
      return prefetcher_.Text();
  }
  return {};
}

Entry Tree::State::ControlEntry(const Snapshot& snapshot,
                                ControlFile file) const {
  Entry entry = PlainEntry(
      snapshot,
      NodeOf(snapshot, NodeKind::kControlFile, 0, static_cast<uint32_t>(file)),
      NodeType::kFile);
  entry.attributes.size = ControlText(snapshot, file).size();
  if (IsChanging(file)) {
    entry.attributes.size_exact = false;
    entry.attributes.mtime_ns = RealClock().NowNs();
  }
  entry.attributes.writable = file == ControlFile::kPrefetch;
  return entry;
}

Entry Tree::State::ItemEntry(Snapshot& snapshot, const RowContents& contents,
                             const RowItem& item, bool reference) {
  const NodeType type =
      item.is_directory() ? NodeType::kDirectory : NodeType::kFile;
  if (item.code != 0 && item.code < kNodeItemsMax) {
    Entry entry = PlainEntry(
        snapshot, NodeOf(snapshot, NodeKind::kRowFile, contents.row, item.code),
        type);
    if (type == NodeType::kFile) entry.attributes.size = item.size;
    entry.attributes.size_exact = item.size_exact;
    return entry;
  }
  TableNode node;
  node.slot = snapshot.slot();
  node.row = contents.row;
  node.is_directory = item.is_directory();
  node.size = item.size;
  node.size_exact = item.size_exact;
  node.path = item.path;
  if (item.kind == RowItem::Kind::kViewFolder ||
      item.kind == RowItem::Kind::kViewFile) {
    node.type = item.is_directory() ? TableNode::Type::kViewFolder
                                    : TableNode::Type::kViewFile;
    node.cell = item.cell;
    node.path = item.view;
  }
  return TableEntry(snapshot, std::move(node), reference);
}

Entry Tree::State::StoredEntry(const Snapshot& snapshot, uint64_t row,
                               const StoredFile& file) const {
  Entry entry =
      PlainEntry(snapshot, NodeOf(snapshot, NodeKind::kRowFile, row, file.code),
                 NodeType::kFile);
  entry.attributes.size = file.size;
  return entry;
}

TableNode Tree::State::ViewNode(const Snapshot& snapshot, uint64_t row,
                                const CellPath& cell, std::string path,
                                const ViewEntry& entry) const {
  TableNode node;
  node.type = entry.is_directory ? TableNode::Type::kViewFolder
                                 : TableNode::Type::kViewFile;
  node.slot = snapshot.slot();
  node.row = row;
  node.cell = cell;
  // Equal content under several names is one file.
  node.path =
      entry.canonical_path.empty() ? std::move(path) : entry.canonical_path;
  node.is_directory = entry.is_directory;
  node.size = entry.size;
  node.size_exact = entry.is_directory || entry.size_exact;
  return node;
}

Attributes Tree::State::TableAttributes(const Snapshot& snapshot,
                                        const TableNode& node) const {
  Attributes attributes;
  attributes.type = node.is_directory ? NodeType::kDirectory : NodeType::kFile;
  attributes.inode = node.inode;
  attributes.size = node.is_directory ? kFolderSize
                    : node.size_exact ? node.size
                                      : std::max(node.size, uint64_t{1});
  attributes.size_exact = node.size_exact;
  attributes.mtime_ns = snapshot.mtime_ns();
  return attributes;
}

Entry Tree::State::TableEntry(const Snapshot& snapshot, TableNode node,
                              bool reference) {
  if (!reference) {
    node.inode = InodeOf(node, snapshot.hash());
    return {0, TableAttributes(snapshot, node)};
  }
  const auto [id, state] = table_.Add(std::move(node), snapshot.hash());
  return {id, TableAttributes(snapshot, state)};
}

void Tree::State::FindSize(Snapshot& snapshot, const Media& media,
                           const std::string& path, ViewEntry* entry) const {
  const auto size = snapshot.renderer().FindSize(media, path, *entry);
  if (!size) return;
  entry->size = *size;
  entry->size_exact = true;
}

std::vector<std::string_view> Tree::State::RootNames(
    const Snapshot& snapshot) const {
  std::vector<std::string_view> names = {"rows"};
  if (!snapshot.scalars().empty()) names.push_back("by");
  names.push_back("select");
  const bool mounted = snapshot.slot() == 0;
  if (mounted && !views_.empty()) names.push_back("views");
  names.push_back("metadata.jsonl");
  if (mounted && options_.open_version) {
    names.push_back(".versions");
    names.push_back(".tags");
  }
  names.push_back(".rowfs");
  return names;
}

}  // namespace rowfs
