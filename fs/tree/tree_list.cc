#include <algorithm>

#include "fs/tree/tree_state.h"
#include "index/dataset/names.h"

namespace rowfs {
namespace {

constexpr uint64_t kPageEntries = 256;

// Plugins make names too, and a plugin may be made to say anything.
bool IsName(std::string_view name) {
  return !name.empty() && name.size() <= kNameBytesMax && name != "." &&
         name != ".." && name.find('/') == name.npos &&
         name.find('\0') == name.npos;
}

// What a folder of views holds. One that the name of a blob promised and its
// media turn out not to have, the sound of a silent film, is empty.
Result<std::vector<ViewEntry>> ListFolder(const Media& media,
                                          std::string_view path, uint64_t start,
                                          uint64_t max) {
  auto entries = media.List(path, start, max);
  if (entries.status().code() == Code::kNotFound) {
    return std::vector<ViewEntry>();
  }
  return entries;
}

}  // namespace

// Hands entries on, each at most once, and keeps what the contract of ReadDir
// says about references and errors.
class Tree::State::Lister {
 public:
  Lister(State& state, uint64_t cookie, bool plus, const Put& put)
      : state_(state), cookie_(cookie), plus_(plus), put_(put) {}

  uint64_t cookie() const { return cookie_; }
  bool plus() const { return plus_; }
  bool started() const { return started_; }

  // False: stop, the entry was not taken.
  bool Add(std::string_view name, Entry entry, uint64_t next) {
    started_ = true;
    if (put_({name, entry, next})) {
      cookie_ = next;
      return true;
    }
    if (plus_ && entry.node != 0) state_.Forget(entry.node, 1);
    return false;
  }
  // An error ends the listing before the first entry only.
  Status End(const Status& error) const { return started_ ? Status() : error; }

 private:
  State& state_;
  uint64_t cookie_;
  const bool plus_;
  const Put& put_;
  bool started_ = false;
};

Status Tree::State::ReadDir(NodeId id, uint64_t cookie, bool plus, Wait wait,
                            const Put& put) {
  ROWFS_ASSIGN_OR_RETURN(Place at, Locate(id));
  ROWFS_ASSIGN_OR_RETURN(at, EnterVersion(std::move(at), wait));
  Lister out(*this, cookie, plus, put);
  const auto selected = [&](Result<Selection> rows) -> Status {
    ROWFS_RETURN_IF_ERROR(rows.status());
    return ListSelected(at, rows.value(), out, wait);
  };
  const auto folder = [&]() -> Status {
    ROWFS_ASSIGN_OR_RETURN(const Found found, FindItem(at, wait));
    if (found.get().kind != RowItem::Kind::kFolder) {
      return {Code::kInvalidArgument, "not a folder"};
    }
    return ListItems(at, at.node.row, found.item, out, wait);
  };
  const Status status = [&]() -> Status {
    switch (at.node.kind) {
      case NodeKind::kRoot:
        return ListNames(at, RootNames(*at.snapshot), out);
      case NodeKind::kControl:
        return ListNames(at, {kControlNames.begin(), kControlNames.end()}, out);
      case NodeKind::kRows:
      case NodeKind::kShard:
        return ListRows(at, out, wait);
      case NodeKind::kRowFolder:
        return ListItems(at, at.node.row, RowItem::kTop, out, wait);
      case NodeKind::kRowFile:
        return folder();
      case NodeKind::kBy:
      case NodeKind::kByColumn:
      case NodeKind::kByValue:
        if (at.node.kind != NodeKind::kBy && wait == Wait::kNo) {
          return WouldWait();
        }
        return ListBy(at, out);
      case NodeKind::kSelect:
        return {};  // every row list is there; none is listed
      case NodeKind::kViews: {
        std::vector<std::string_view> names;
        for (const auto& [name, rows] : views_) names.push_back(name);
        return ListNames(at, names, out);
      }
      case NodeKind::kView:
        return ListSelected(at, views_[at.node.row].second, out, wait);
      case NodeKind::kVersions:
      case NodeKind::kTags:
        if (wait == Wait::kNo) return WouldWait();
        return ListVersions(at.node.kind == NodeKind::kTags, out);
      case NodeKind::kTable:
        break;
      case NodeKind::kRowLink:
      case NodeKind::kMetadata:
      case NodeKind::kControlFile:
      case NodeKind::kByLink:
      case NodeKind::kSelectLink:
      case NodeKind::kVersion:
      case NodeKind::kTag:
        return {Code::kInvalidArgument, "not a folder"};
    }
    switch (at.table->type) {
      case TableNode::Type::kItem:
        return folder();
      case TableNode::Type::kViewFolder:
        return ListView(at, out, wait);
      case TableNode::Type::kSelection:
        return selected(SelectionOf(at));
      case TableNode::Type::kViewFile:
        break;
    }
    return {Code::kInvalidArgument, "not a folder"};
  }();
  if (!status.ok() && wait == Wait::kYes) NoteError(id, status);
  return out.End(status);
}

Status Tree::State::OpenDir(NodeId id, Wait wait) {
  ROWFS_ASSIGN_OR_RETURN(const Place at, Locate(id));
  if (!at.table || at.table->type != TableNode::Type::kViewFolder) return {};
  if (wait == Wait::kNo) return WouldWait();
  const Status status = [&]() -> Status {
    ROWFS_ASSIGN_OR_RETURN(
        const auto media,
        at.snapshot->OpenMedia(at.table->row, at.table->cell));
    return ListFolder(*media, at.table->path, 0, 1).status();
  }();
  if (!status.ok()) NoteError(id, status);
  return status.ok() ? status : status.With(NameOf(at));
}

Status Tree::State::ListNames(const Place& at,
                              const std::vector<std::string_view>& names,
                              Lister& out) {
  for (uint64_t i = out.cookie(); i < names.size(); ++i) {
    Result<Entry> entry = Lookup(at.id, names[i], Wait::kNo);
    // What costs is left to whoever asks for it.
    if (!entry.ok()) {
      if (entry.status().code() != Code::kUnavailable) return entry.status();
      entry =
          PlainEntry(*at.snapshot, NodeOf(*at.snapshot, NodeKind::kMetadata),
                     NodeType::kFile);
      entry.value().node = 0;
    }
    if (!out.Add(names[i], entry.value(), i + 1)) break;
  }
  return {};
}

Status Tree::State::ListRows(const Place& at, Lister& out, Wait wait) {
  Snapshot& snapshot = *at.snapshot;
  const RowsLayout& layout = snapshot.layout();
  const bool shards = at.node.kind == NodeKind::kRows && layout.sharded();
  uint64_t first = 0;
  uint64_t count = shards ? layout.shard_count() : layout.row_count();
  if (at.node.kind == NodeKind::kShard) {
    first = at.node.row * RowsLayout::kShardRows;
    count = std::min(RowsLayout::kShardRows, layout.row_count() - first);
  }
  const NodeKind kind = shards ? NodeKind::kShard : NodeKind::kRowFolder;
  for (uint64_t i = out.cookie(); i < count; ++i) {
    std::string name;
    if (shards) {
      name = layout.ShardName(i);
    } else {
      ROWFS_ASSIGN_OR_RETURN(name, snapshot.RowName(first + i, wait));
    }
    const Entry entry = PlainEntry(snapshot, NodeOf(snapshot, kind, first + i),
                                   NodeType::kDirectory);
    if (!out.Add(name, entry, i + 1)) break;
  }
  return {};
}

Status Tree::State::ListBy(const Place& at, Lister& out) {
  Snapshot& snapshot = *at.snapshot;
  ValueIndex& values = snapshot.values();
  const uint32_t column = at.node.item;
  if (at.node.kind == NodeKind::kBy) {
    const auto& scalars = snapshot.scalars();
    for (uint64_t i = out.cookie(); i < scalars.size(); ++i) {
      const Node node = NodeOf(snapshot, NodeKind::kByColumn, 0,
                               static_cast<uint32_t>(scalars[i].first));
      if (!out.Add(scalars[i].second,
                   PlainEntry(snapshot, node, NodeType::kDirectory), i + 1)) {
        break;
      }
    }
    return {};
  }
  if (at.node.kind == NodeKind::kByColumn) {
    ROWFS_ASSIGN_OR_RETURN(const uint64_t count, values.ValueCount(column));
    for (uint64_t i = out.cookie(); i < std::min(count, kNodeRowsMax); ++i) {
      ROWFS_ASSIGN_OR_RETURN(const ValueIndex::Value value,
                             values.GetValue(column, i));
      const Node node = NodeOf(snapshot, NodeKind::kByValue, i, column);
      if (!out.Add(value.name, PlainEntry(snapshot, node, NodeType::kDirectory),
                   i + 1)) {
        break;
      }
    }
    return {};
  }
  for (;;) {
    const uint64_t start = out.cookie();
    ROWFS_ASSIGN_OR_RETURN(
        const std::vector<uint64_t> rows,
        values.ListRows(column, at.node.row, start, kPageEntries));
    for (size_t i = 0; i < rows.size(); ++i) {
      ROWFS_ASSIGN_OR_RETURN(const std::string name,
                             snapshot.RowName(rows[i], Wait::kYes));
      ROWFS_ASSIGN_OR_RETURN(
          const Entry entry,
          LinkEntry(snapshot, NodeKind::kByLink, rows[i], Wait::kYes));
      if (!out.Add(name, entry, start + i + 1)) return {};
    }
    if (rows.size() < kPageEntries) return {};
  }
}

Status Tree::State::ListSelected(const Place& at, const Selection& rows,
                                 Lister& out, Wait wait) {
  Snapshot& snapshot = *at.snapshot;
  for (uint64_t i = out.cookie(); i < rows.row_count(); ++i) {
    const uint64_t row = rows.at(i);
    ROWFS_ASSIGN_OR_RETURN(const std::string name, snapshot.RowName(row, wait));
    ROWFS_ASSIGN_OR_RETURN(
        const Entry entry,
        LinkEntry(snapshot, NodeKind::kSelectLink, row, wait));
    if (!out.Add(name, entry, i + 1)) break;
  }
  return {};
}

Status Tree::State::ListVersions(bool tags, Lister& out) {
  ROWFS_ASSIGN_OR_RETURN(const std::vector<TableVersion> versions,
                         versions_.List(Wait::kYes));
  Snapshot& mounted = versions_.mounted();
  uint64_t place = 0;
  const auto add = [&](const std::string& name, const Entry& entry) {
    return place++ < out.cookie() || out.Add(name, entry, place);
  };
  for (const TableVersion& version : versions) {
    if (version.version >= kNodeRowsMax) continue;
    if (!tags) {
      Entry entry = PlainEntry(
          mounted, NodeOf(mounted, NodeKind::kVersion, version.version),
          NodeType::kDirectory);
      entry.attributes.mtime_ns = version.timestamp_ns;
      if (!add(std::to_string(version.version), entry)) return {};
      continue;
    }
    for (const std::string& tag : version.tags) {
      ROWFS_ASSIGN_OR_RETURN(
          const Entry entry,
          LinkEntry(mounted, NodeKind::kTag, version.version, Wait::kYes));
      if (!add(EscapeName(tag), entry)) return {};
    }
  }
  return {};
}

Status Tree::State::ListItems(const Place& at, uint64_t row, uint32_t parent,
                              Lister& out, Wait wait) {
  if (out.cookie() == kRowListEnd) return {};
  if (StoredRows* rows = at.snapshot->stored();
      parent == RowItem::kTop && rows != nullptr) {
    if (const auto stored = rows->Get(row, wait)) {
      const std::vector<StoredFile>& files = stored->files;
      for (uint64_t i = out.cookie(); i < files.size(); ++i) {
        const uint64_t next = i + 1 < files.size() ? i + 1 : kRowListEnd;
        const Entry entry = StoredEntry(*at.snapshot, row, files[i]);
        if (!out.Add(files[i].name, entry, next)) break;
      }
      return {};
    }
  }
  ROWFS_ASSIGN_OR_RETURN(const auto contents, at.snapshot->Contents(row, wait));
  for (uint64_t i = out.cookie(); i < contents->items.size(); ++i) {
    const RowItem& item = contents->items[i];
    if (item.parent != parent) continue;
    const bool unknown = item.foreseen && !item.is_directory();
    const Entry entry =
        ItemEntry(*at.snapshot, *contents, item, out.plus() && !unknown);
    if (!out.Add(item.name, entry, i + 1)) break;
  }
  return {};
}

Status Tree::State::ListView(const Place& at, Lister& out, Wait wait) {
  if (wait == Wait::kNo) return WouldWait();
  const TableNode& folder = *at.table;
  ROWFS_ASSIGN_OR_RETURN(const auto media,
                         at.snapshot->OpenMedia(folder.row, folder.cell));
  for (;;) {
    const uint64_t start = out.cookie();
    ROWFS_ASSIGN_OR_RETURN(
        std::vector<ViewEntry> entries,
        ListFolder(*media, folder.path, start, kPageEntries));
    for (size_t i = 0; i < entries.size(); ++i) {
      ViewEntry& view = entries[i];
      if (!IsName(view.name)) continue;
      std::string path = folder.path + "/" + view.name;
      if (out.plus() && !view.is_directory && !view.size_exact) {
        FindSize(*at.snapshot, *media, path, &view);
      }
      // Without an exact size and without opens the file must be rendered to
      // be told of: only when someone asks.
      const bool reference =
          out.plus() && (view.is_directory || view.size_exact || open_needed());
      const Entry entry = TableEntry(
          *at.snapshot,
          ViewNode(*at.snapshot, folder.row, folder.cell, path, view),
          reference);
      if (!out.Add(view.name, entry, start + i + 1)) return {};
    }
    if (entries.size() < kPageEntries) return {};
  }
}

}  // namespace rowfs
