#include "fs/tree/blob_shape.h"
#include "fs/tree/tree_state.h"

namespace rowfs {
namespace {

// The path of an object inside the dataset, or all of it: it lies elsewhere.
std::string_view WithinSource(std::string_view source, std::string_view uri) {
  while (source.ends_with('/')) source.remove_suffix(1);
  const bool inside = uri.size() > source.size() + 1 &&
                      uri.starts_with(source) && uri[source.size()] == '/';
  return inside ? uri.substr(source.size() + 1) : uri;
}

}  // namespace

void Tree::State::NoteError(NodeId id, const Status& error) {
  const MutexLock lock(mu_);
  const auto [found, fresh] = failures_.try_emplace(id);
  found->second = error.message();
  if (!fresh) return;
  failure_order_.push_back(id);
  if (failure_order_.size() > kErrorsKept) {
    failures_.erase(failure_order_.front());
    failure_order_.pop_front();
  }
}

std::string Tree::State::FindError(NodeId id) const {
  const MutexLock lock(mu_);
  const auto found = failures_.find(id);
  return found == failures_.end() ? std::string() : found->second;
}

// Where a message says it happened.
std::string Tree::State::NameOf(const Place& at) const {
  const NodeKind kind = at.node.kind;
  if (at.table && at.table->type == TableNode::Type::kSelection) {
    return "select/" + at.table->path;
  }
  if (kind == NodeKind::kMetadata) return "metadata.jsonl";
  if (!at.table && kind != NodeKind::kRowFile && kind != NodeKind::kRowFolder) {
    return "node " + std::to_string(at.id);
  }
  std::string name = "row " + std::to_string(at.node.row);
  if (at.table && at.table->type != TableNode::Type::kItem) {
    const auto& columns = at.snapshot->dataset().columns();
    if (at.table->cell.column < columns.size()) {
      name += " column " + columns[at.table->cell.column].name;
    }
    return name + " view " + at.table->path;
  }
  if (at.table) return name + " " + at.table->path;
  const auto contents = at.snapshot->Contents(at.node.row, Wait::kNo);
  if (!contents.ok()) return name;
  const auto item = contents.value()->FindCode(at.node.item);
  return item ? name + " " + contents.value()->items[*item].path : name;
}

Status Tree::State::AddBlobXattrs(Snapshot& snapshot, uint64_t row,
                                  const CellPath& cell, Xattrs* out) {
  Dataset& dataset = snapshot.dataset();
  ROWFS_ASSIGN_OR_RETURN(const auto values, dataset.ReadRow(row));
  ROWFS_ASSIGN_OR_RETURN(const CellRef ref, FindCell(*values, cell));
  if (ref.array->IsNull(ref.index)) return {};
  const BlobCell blob = BlobCellAt(*ref.array, ref.index);
  if (blob.bytes) {
    (*out)["length"] = std::to_string(blob.bytes->size());
    return {};
  }
  const auto object = [&](std::string_view uri) {
    (*out)["object"] = WithinSource(dataset.source(), uri);
  };
  object(blob.object);
  (*out)["offset"] = std::to_string(blob.offset);
  if (blob.size) (*out)["length"] = std::to_string(*blob.size);
  // The descriptor says where a reader finds the bytes; opening says whether
  // they are still the same.
  const auto opened = OpenCell(dataset, blob);
  if (!opened.ok()) {
    (*out)["error"] = opened.status().message();
    return {};
  }
  if (!opened.value()->uri().empty()) object(opened.value()->uri());
  (*out)["offset"] = std::to_string(opened.value()->offset());
  (*out)["length"] = std::to_string(opened.value()->size());
  if (!opened.value()->etag().empty()) {
    (*out)["etag"] = opened.value()->etag();
  }
  return {};
}

Result<Tree::State::Xattrs> Tree::State::ReadXattrs(const Place& at,
                                                    Wait wait) {
  Xattrs out;
  Snapshot& snapshot = *at.snapshot;
  Dataset& dataset = snapshot.dataset();
  const NodeKind kind = at.node.kind;
  const bool selection =
      at.table && at.table->type == TableNode::Type::kSelection;
  const bool of_row = !selection && (at.table || kind == NodeKind::kRowFile ||
                                     kind == NodeKind::kRowFolder);
  if (!of_row && kind != NodeKind::kRoot && kind != NodeKind::kMetadata) {
    return out;
  }
  if (wait == Wait::kNo) return WouldWait();
  out["source"] = dataset.source();
  const Json facts = dataset.table().Describe();
  const Json* version = facts.Find("version");
  if (version != nullptr && version->kind == Json::Kind::kNumber) {
    out["version"] = version->text;
  } else if (of_row) {
    // Of a source without versions; what lies in an object has that one's.
    out["etag"] = dataset.table().fingerprint();
  }
  if (of_row) {
    out["row"] = std::to_string(at.node.row);
    ROWFS_ASSIGN_OR_RETURN(const uint64_t row_id,
                           dataset.table().RowId(at.node.row));
    out["row_id"] = std::to_string(row_id);
  }
  const bool view = at.table && at.table->type != TableNode::Type::kItem;
  if (of_row && kind != NodeKind::kRowFolder && !view) {
    ROWFS_ASSIGN_OR_RETURN(const Found found, FindItem(at, wait));
    const RowItem& item = found.get();
    if (item.kind != RowItem::Kind::kRowJson) {
      out["column"] = dataset.columns()[item.cell.column].name;
    }
    if (!item.media_type.empty()) out["media_type"] = item.media_type;
    if (item.kind == RowItem::Kind::kBlob ||
        item.kind == RowItem::Kind::kBroken ||
        item.kind == RowItem::Kind::kViewFile) {
      ROWFS_RETURN_IF_ERROR(
          AddBlobXattrs(snapshot, at.node.row, item.cell, &out));
    }
    for (const auto& [name, value] : item.attributes) out[name] = value;
    if (!item.error.empty()) out["error"] = item.error;
  }
  if (view && !selection) {
    const TableNode& node = *at.table;
    out["column"] = dataset.columns()[node.cell.column].name;
    ROWFS_RETURN_IF_ERROR(AddBlobXattrs(snapshot, node.row, node.cell, &out));
    const auto media = snapshot.OpenMedia(node.row, node.cell);
    const Result<ViewEntry> entry = media.ok()
                                        ? media.value()->Lookup(node.path)
                                        : Result<ViewEntry>(media.status());
    if (entry.ok()) {
      if (!entry.value().media_type.empty()) {
        out["media_type"] = entry.value().media_type;
      }
      for (const auto& [name, value] : entry.value().attributes) {
        out[name] = value;
      }
    } else {
      out["error"] = entry.status().message();
    }
  }
  if (const std::string error = FindError(at.id); !error.empty()) {
    out["error"] = error;
  }
  return out;
}

Result<std::string> Tree::State::GetXattr(NodeId id, std::string_view name,
                                          Wait wait) {
  constexpr std::string_view kPrefix = "user.rowfs.";
  const Status missing(Code::kNotFound, "no such attribute");
  // Most of what is asked for (security.*, system.*) needs no look.
  if (!name.starts_with(kPrefix)) return missing;
  ROWFS_ASSIGN_OR_RETURN(const Place at, Locate(id));
  ROWFS_ASSIGN_OR_RETURN(const Xattrs all, ReadXattrs(at, wait));
  const auto found = all.find(name.substr(kPrefix.size()));
  if (found == all.end()) return missing;
  return found->second;
}

Result<std::vector<std::string>> Tree::State::ListXattr(NodeId id, Wait wait) {
  ROWFS_ASSIGN_OR_RETURN(const Place at, Locate(id));
  ROWFS_ASSIGN_OR_RETURN(const Xattrs all, ReadXattrs(at, wait));
  std::vector<std::string> names;
  for (const auto& [name, value] : all) names.push_back("user.rowfs." + name);
  return names;
}

}  // namespace rowfs
