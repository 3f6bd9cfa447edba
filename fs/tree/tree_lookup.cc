#include <algorithm>
#include <charconv>

#include "fs/tree/tree_state.h"
#include "index/dataset/names.h"

namespace rowfs {
namespace {

Status NotFound() { return {Code::kNotFound, "no such file or folder"}; }
Status NoFolder() { return {Code::kInvalidArgument, "not a folder"}; }

NodeType TypeOf(NodeKind kind) {
  switch (kind) {
    case NodeKind::kRowFile:
    case NodeKind::kMetadata:
    case NodeKind::kControlFile:
      return NodeType::kFile;
    case NodeKind::kRowLink:
    case NodeKind::kByLink:
    case NodeKind::kSelectLink:
    case NodeKind::kTag:
      return NodeType::kLink;
    case NodeKind::kRoot:
    case NodeKind::kRows:
    case NodeKind::kShard:
    case NodeKind::kRowFolder:
    case NodeKind::kControl:
    case NodeKind::kBy:
    case NodeKind::kByColumn:
    case NodeKind::kByValue:
    case NodeKind::kSelect:
    case NodeKind::kViews:
    case NodeKind::kView:
    case NodeKind::kVersions:
    case NodeKind::kVersion:
    case NodeKind::kTags:
    case NodeKind::kTable:
      return NodeType::kDirectory;
  }
  return NodeType::kFile;
}

}  // namespace

Result<Tree::State::Place> Tree::State::Locate(NodeId id) {
  const std::optional<Node> node = DecodeNode(id);
  if (!node) return NotFound();
  Place place{id, *node, nullptr, {}};
  if (node->kind == NodeKind::kTable) {
    place.table = table_.Find(id);
    if (!place.table) return NotFound();
    place.node.slot = place.table->slot;
    place.node.row = place.table->row;
  }
  place.snapshot = versions_.Find(place.node.slot);
  if (place.snapshot == nullptr) return NotFound();
  return place;
}

Result<Tree::State::Place> Tree::State::EnterVersion(Place place, Wait wait) {
  if (place.node.kind != NodeKind::kVersion) return place;
  ROWFS_ASSIGN_OR_RETURN(place.snapshot, versions_.Open(place.node.row, wait));
  place.node = NodeOf(*place.snapshot, NodeKind::kRoot);
  place.id = EncodeNode(place.node);
  return place;
}

Result<Entry> Tree::State::Lookup(NodeId parent, std::string_view name,
                                  Wait wait) {
  ROWFS_ASSIGN_OR_RETURN(Place at, Locate(parent));
  ROWFS_ASSIGN_OR_RETURN(at, EnterVersion(std::move(at), wait));
  if (name.empty() || name.size() > kNameBytesMax) return NotFound();
  switch (at.node.kind) {
    case NodeKind::kRoot:
      return LookupRoot(at, name, wait);
    case NodeKind::kRows:
    case NodeKind::kShard:
      return LookupRows(at, name, wait);
    case NodeKind::kRowFolder:
      return LookupItem(at, at.node.row, RowItem::kTop, name, wait);
    case NodeKind::kControl:
      if (const auto file = FindControlFile(name)) {
        return ControlEntry(*at.snapshot, *file);
      }
      return NotFound();
    case NodeKind::kBy:
    case NodeKind::kByColumn:
    case NodeKind::kByValue:
      return LookupBy(at, name, wait);
    case NodeKind::kSelect: {
      if (!Selection::Parse(name, at.snapshot->layout().row_count()).ok()) {
        return NotFound();
      }
      TableNode node;
      node.type = TableNode::Type::kSelection;
      node.slot = at.node.slot;
      node.path = name;
      node.is_directory = true;
      return TableEntry(*at.snapshot, std::move(node), true);
    }
    case NodeKind::kViews:
      for (size_t i = 0; i < views_.size(); ++i) {
        if (views_[i].first != name) continue;
        return PlainEntry(*at.snapshot,
                          NodeOf(*at.snapshot, NodeKind::kView, i),
                          NodeType::kDirectory);
      }
      return NotFound();
    case NodeKind::kView:
      return LookupSelected(at, views_[at.node.row].second, name, wait);
    case NodeKind::kVersions:
      return LookupVersion(name, false, wait);
    case NodeKind::kTags:
      return LookupVersion(name, true, wait);
    case NodeKind::kTable:
      break;
    case NodeKind::kRowFile: {
      // The folder of a nested column.
      ROWFS_ASSIGN_OR_RETURN(const Found found, FindItem(at, wait));
      if (found.get().kind != RowItem::Kind::kFolder) return NoFolder();
      return LookupItem(at, at.node.row, found.item, name, wait);
    }
    case NodeKind::kRowLink:
    case NodeKind::kMetadata:
    case NodeKind::kControlFile:
    case NodeKind::kByLink:
    case NodeKind::kSelectLink:
    case NodeKind::kVersion:
    case NodeKind::kTag:
      return NoFolder();
  }
  switch (at.table->type) {
    case TableNode::Type::kItem: {
      ROWFS_ASSIGN_OR_RETURN(const Found found, FindItem(at, wait));
      if (found.get().kind != RowItem::Kind::kFolder) return NoFolder();
      return LookupItem(at, at.table->row, found.item, name, wait);
    }
    case TableNode::Type::kViewFolder:
      return LookupView(at, name, wait);
    case TableNode::Type::kSelection: {
      ROWFS_ASSIGN_OR_RETURN(const Selection rows, SelectionOf(at));
      return LookupSelected(at, rows, name, wait);
    }
    case TableNode::Type::kViewFile:
      break;
  }
  return NoFolder();
}

Result<Entry> Tree::State::LookupRoot(const Place& at, std::string_view name,
                                      Wait wait) {
  const std::vector<std::string_view> names = RootNames(*at.snapshot);
  if (std::find(names.begin(), names.end(), name) == names.end()) {
    return NotFound();
  }
  if (name == "metadata.jsonl") return MetadataEntry(*at.snapshot, wait);
  NodeKind kind = NodeKind::kRows;
  if (name == "by") kind = NodeKind::kBy;
  if (name == "select") kind = NodeKind::kSelect;
  if (name == "views") kind = NodeKind::kViews;
  if (name == ".versions") kind = NodeKind::kVersions;
  if (name == ".tags") kind = NodeKind::kTags;
  if (name == ".rowfs") kind = NodeKind::kControl;
  return PlainEntry(*at.snapshot, NodeOf(*at.snapshot, kind),
                    NodeType::kDirectory);
}

Result<Entry> Tree::State::LookupRows(const Place& at, std::string_view name,
                                      Wait wait) {
  Snapshot& snapshot = *at.snapshot;
  const RowsLayout& layout = snapshot.layout();
  const bool top = at.node.kind == NodeKind::kRows;
  if (top && layout.sharded()) {
    if (const auto shard = layout.FindShard(name)) {
      return PlainEntry(snapshot, NodeOf(snapshot, NodeKind::kShard, *shard),
                        NodeType::kDirectory);
    }
  }
  ROWFS_ASSIGN_OR_RETURN(const auto row, snapshot.FindRowName(name, wait));
  const bool here = row && (top ? !layout.sharded()
                                : *row / RowsLayout::kShardRows == at.node.row);
  if (here) {
    return PlainEntry(snapshot, NodeOf(snapshot, NodeKind::kRowFolder, *row),
                      NodeType::kDirectory);
  }
  if (!top) return NotFound();
  if (row) return LinkEntry(snapshot, NodeKind::kRowLink, *row, wait);
  if (const auto number = layout.FindNumber(name)) {
    return LinkEntry(snapshot, NodeKind::kRowLink, *number, wait);
  }
  return NotFound();
}

// Whether `row` has the value of the folder `value`. Its rows are sorted.
Result<bool> Tree::State::HasRow(const Place& value, uint64_t row) {
  ValueIndex& values = value.snapshot->values();
  ROWFS_ASSIGN_OR_RETURN(const ValueIndex::Value about,
                         values.GetValue(value.node.item, value.node.row));
  uint64_t begin = 0;
  uint64_t end = about.row_count;
  while (begin < end) {
    const uint64_t middle = begin + (end - begin) / 2;
    ROWFS_ASSIGN_OR_RETURN(
        const std::vector<uint64_t> rows,
        values.ListRows(value.node.item, value.node.row, middle, 1));
    if (rows.empty()) return false;
    if (rows[0] == row) return true;
    if (rows[0] < row) {
      begin = middle + 1;
    } else {
      end = middle;
    }
  }
  return false;
}

Result<Entry> Tree::State::LookupBy(const Place& at, std::string_view name,
                                    Wait wait) {
  Snapshot& snapshot = *at.snapshot;
  if (at.node.kind == NodeKind::kBy) {
    for (const auto& [column, folder] : snapshot.scalars()) {
      if (folder != name) continue;
      return PlainEntry(snapshot,
                        NodeOf(snapshot, NodeKind::kByColumn, 0,
                               static_cast<uint32_t>(column)),
                        NodeType::kDirectory);
    }
    return NotFound();
  }
  if (wait == Wait::kNo) return WouldWait();
  if (at.node.kind == NodeKind::kByColumn) {
    ROWFS_ASSIGN_OR_RETURN(const auto value,
                           snapshot.values().FindValue(at.node.item, name));
    if (!value) return NotFound();
    return PlainEntry(
        snapshot, NodeOf(snapshot, NodeKind::kByValue, *value, at.node.item),
        NodeType::kDirectory);
  }
  ROWFS_ASSIGN_OR_RETURN(const auto row, snapshot.FindRowName(name, wait));
  if (!row) return NotFound();
  ROWFS_ASSIGN_OR_RETURN(const bool has, HasRow(at, *row));
  if (!has) return NotFound();
  return LinkEntry(snapshot, NodeKind::kByLink, *row, wait);
}

Result<Entry> Tree::State::LookupSelected(const Place& at,
                                          const Selection& rows,
                                          std::string_view name, Wait wait) {
  ROWFS_ASSIGN_OR_RETURN(std::optional<uint64_t> row,
                         at.snapshot->FindRowName(name, wait));
  if (!row || !rows.Contains(*row)) {
    row = at.snapshot->layout().FindNumber(name);
  }
  if (!row || !rows.Contains(*row)) return NotFound();
  return LinkEntry(*at.snapshot, NodeKind::kSelectLink, *row, wait);
}

Result<Entry> Tree::State::LookupVersion(std::string_view name, bool tag,
                                         Wait wait) {
  ROWFS_ASSIGN_OR_RETURN(const std::vector<TableVersion> versions,
                         versions_.List(wait));
  Snapshot& mounted = versions_.mounted();
  for (const TableVersion& version : versions) {
    if (version.version >= kNodeRowsMax) continue;
    if (!tag && std::to_string(version.version) == name) {
      Entry entry = PlainEntry(
          mounted, NodeOf(mounted, NodeKind::kVersion, version.version),
          NodeType::kDirectory);
      entry.attributes.mtime_ns = version.timestamp_ns;
      return entry;
    }
    for (const std::string& other : version.tags) {
      if (!tag || EscapeName(other) != name) continue;
      return LinkEntry(mounted, NodeKind::kTag, version.version, wait);
    }
  }
  return NotFound();
}

Result<Entry> Tree::State::LookupItem(const Place& at, uint64_t row,
                                      uint32_t parent, std::string_view name,
                                      Wait wait) {
  if (StoredRows* rows = at.snapshot->stored();
      parent == RowItem::kTop && rows != nullptr) {
    if (const auto stored = rows->Find(row, name, wait)) {
      return StoredEntry(*at.snapshot, row, *stored);
    }
  }
  ROWFS_ASSIGN_OR_RETURN(const auto contents, at.snapshot->Contents(row, wait));
  const std::optional<uint32_t> item = contents->Find(parent, name);
  if (!item) return LookupLateView(at, *contents, parent, name, wait);
  const RowItem& found = contents->items[*item];
  if (found.foreseen && !found.is_directory()) {
    const Result<Entry> entry =
        LookupViewPath(*at.snapshot, row, found.cell, found.view, wait);
    const Code code = entry.status().code();
    if (code != Code::kCorruption && code != Code::kNotFound) return entry;
    // What is listed can be looked at; opening it fails and says why.
    TableNode node;
    node.type = TableNode::Type::kViewFile;
    node.slot = at.node.slot;
    node.row = row;
    node.cell = found.cell;
    node.path = found.view;
    node.size = 1;
    node.size_exact = false;
    return TableEntry(*at.snapshot, std::move(node), true);
  }
  return ItemEntry(*at.snapshot, *contents, found, true);
}

// Views that are not listed: of blobs that would have to be read for that.
Result<Entry> Tree::State::LookupLateView(const Place& at,
                                          const RowContents& contents,
                                          uint32_t parent,
                                          std::string_view name, Wait wait) {
  for (const RowItem& item : contents.items) {
    const std::string& stem = item.view_stem;
    if (item.parent != parent || stem.empty() || !name.starts_with(stem) ||
        name.size() < stem.size() + 2 || name[stem.size()] != '.') {
      continue;
    }
    Result<Entry> entry =
        LookupViewPath(*at.snapshot, contents.row, item.cell,
                       std::string(name.substr(stem.size())), wait);
    // Only what will be the same at the next try means that there is none.
    const Code code = entry.status().code();
    if (code == Code::kNotFound || code == Code::kCorruption ||
        code == Code::kUnsupported || code == Code::kResourceExhausted) {
      continue;
    }
    return entry;
  }
  return NotFound();
}

Result<Entry> Tree::State::LookupView(const Place& at, std::string_view name,
                                      Wait wait) {
  return LookupViewPath(*at.snapshot, at.table->row, at.table->cell,
                        at.table->path + "/" + std::string(name), wait);
}

Result<Entry> Tree::State::LookupViewPath(Snapshot& snapshot, uint64_t row,
                                          const CellPath& cell,
                                          std::string path, Wait wait) {
  TableNode node;
  node.slot = snapshot.slot();
  node.row = row;
  node.cell = cell;
  node.path = std::move(path);
  for (const auto type :
       {TableNode::Type::kViewFile, TableNode::Type::kViewFolder}) {
    node.type = type;
    if (auto known = table_.FindAndAdd(node, snapshot.hash())) {
      return Entry{known->first, TableAttributes(snapshot, known->second)};
    }
  }
  if (wait == Wait::kNo) return WouldWait();
  ROWFS_ASSIGN_OR_RETURN(const auto media, snapshot.OpenMedia(row, cell));
  ROWFS_ASSIGN_OR_RETURN(ViewEntry entry, media->Lookup(node.path));
  if (!entry.is_directory && !entry.size_exact) {
    if (!open_needed()) {
      ROWFS_ASSIGN_OR_RETURN(const File file,
                             snapshot.renderer().Open(media, node.path, entry));
      entry.size = file->size();
      entry.size_exact = true;
    } else {
      FindSize(snapshot, *media, node.path, &entry);
    }
  }
  return TableEntry(snapshot, ViewNode(snapshot, row, cell, node.path, entry),
                    true);
}

Result<Selection> Tree::State::SelectionOf(const Place& at) const {
  return Selection::Parse(at.table->path, at.snapshot->layout().row_count());
}

Result<Tree::State::Found> Tree::State::FindItem(const Place& at, Wait wait) {
  ROWFS_ASSIGN_OR_RETURN(auto contents,
                         at.snapshot->Contents(at.node.row, wait));
  const std::optional<uint32_t> item = at.table
                                           ? contents->FindPath(at.table->path)
                                           : contents->FindCode(at.node.item);
  if (!item) return NotFound();
  return Found{std::move(contents), *item};
}

Result<Attributes> Tree::State::GetAttr(NodeId id, Wait wait) {
  ROWFS_ASSIGN_OR_RETURN(const Place at, Locate(id));
  Snapshot& snapshot = *at.snapshot;
  if (at.table) return TableAttributes(snapshot, *at.table);
  const NodeKind kind = at.node.kind;
  const NodeType type = TypeOf(kind);
  if (type == NodeType::kDirectory) return Plain(snapshot, at.node, type);
  Result<Entry> entry = NotFound();
  if (kind == NodeKind::kRowFile) {
    if (StoredRows* rows = snapshot.stored()) {
      if (const auto file = rows->Find(at.node.row, at.node.item, wait)) {
        return StoredEntry(snapshot, at.node.row, *file).attributes;
      }
    }
    ROWFS_ASSIGN_OR_RETURN(const Found found, FindItem(at, wait));
    entry = ItemEntry(snapshot, *found.contents, found.get(), false);
  } else if (kind == NodeKind::kMetadata) {
    entry = MetadataEntry(snapshot, wait);
  } else if (kind == NodeKind::kControlFile) {
    entry = ControlEntry(snapshot, static_cast<ControlFile>(at.node.item));
  } else {
    entry = LinkEntry(snapshot, kind, at.node.row, wait);
  }
  ROWFS_RETURN_IF_ERROR(entry.status());
  return entry.value().attributes;
}

Result<std::string> Tree::State::LinkTarget(Snapshot& snapshot, NodeKind kind,
                                            uint64_t row, Wait wait) {
  if (kind == NodeKind::kTag) return "../.versions/" + std::to_string(row);
  ROWFS_ASSIGN_OR_RETURN(const std::string path, snapshot.RowPath(row, wait));
  if (kind == NodeKind::kByLink) return "../../../rows/" + path;
  if (kind == NodeKind::kSelectLink) return "../../rows/" + path;
  return path;
}

Result<std::string> Tree::State::ReadLink(NodeId id, Wait wait) {
  ROWFS_ASSIGN_OR_RETURN(const Place at, Locate(id));
  if (at.table || TypeOf(at.node.kind) != NodeType::kLink) {
    return Status(Code::kInvalidArgument, "not a link");
  }
  return LinkTarget(*at.snapshot, at.node.kind, at.node.row, wait);
}

bool Tree::State::AbsenceIsFinal(NodeId id) {
  const std::optional<Node> node = DecodeNode(id);
  return node && node->kind != NodeKind::kVersions &&
         node->kind != NodeKind::kTags;
}

}  // namespace rowfs
