#include <algorithm>

#include "fs/tree/files.h"
#include "fs/tree/tree_state.h"
#include "storage/base/keep_scope.h"
#include "storage/base/no_wait.h"

namespace rowfs {
namespace {

// Of one file that .rowfs/prefetch names; more would push out what came before.
constexpr uint64_t kPrefetchBytesMax = 1 << 30;
constexpr uint64_t kPrefetchReadBytes = 1 << 20;
constexpr uint64_t kPrefetchEntriesMax = 100'000;
constexpr size_t kPageBytes = 4096;

// One bad file among many keeps nothing away and cannot be brought better.
Status NotBrought(const Status& status) {
  const bool bad =
      status.code() == Code::kCorruption || status.code() == Code::kUnsupported;
  return bad ? Status() : status;
}

}  // namespace

Result<Tree::State::File> Tree::State::OpenFile(const Place& at, Wait wait) {
  Snapshot& snapshot = *at.snapshot;
  if (at.table && at.table->type == TableNode::Type::kViewFile) {
    if (wait == Wait::kNo) return WouldWait();
    return snapshot.OpenView(at.table->row, at.table->cell, at.table->path);
  }
  const NodeKind kind = at.node.kind;
  if (StoredRows* rows = snapshot.stored();
      kind == NodeKind::kRowFile && rows != nullptr) {
    ROWFS_ASSIGN_OR_RETURN(const File stored,
                           rows->Open(at.node.row, at.node.item, wait));
    if (stored != nullptr) return stored;
  }
  if (kind == NodeKind::kRowFile ||
      (at.table && at.table->type == TableNode::Type::kItem)) {
    ROWFS_ASSIGN_OR_RETURN(const Found found, FindItem(at, wait));
    return snapshot.OpenItem(*found.contents, found.get(), wait);
  }
  if (kind == NodeKind::kControlFile) {
    return File(std::make_shared<TextFile>(
        ControlText(snapshot, static_cast<ControlFile>(at.node.item))));
  }
  if (kind == NodeKind::kMetadata) {
    ROWFS_ASSIGN_OR_RETURN(const auto file, snapshot.Metadata(wait));
    return File(file);
  }
  return Status(Code::kInvalidArgument, "is a folder or a link");
}

void Tree::State::NoteSize(const Place& at, uint64_t size) {
  if (at.table) table_.SetExactSize(at.id, size);
}

Result<OpenedFile> Tree::State::Open(NodeId id, Wait wait) {
  ROWFS_ASSIGN_OR_RETURN(const Place at, Locate(id));
  const Result<File> file = OpenFile(at, wait);
  if (!file.ok()) {
    if (wait == Wait::kNo && file.status().code() == Code::kUnavailable) {
      return file.status();
    }
    NoteError(id, file.status());
    return file.status().With(NameOf(at));
  }
  OpenedFile opened;
  opened.changing = at.node.kind == NodeKind::kControlFile &&
                    IsChanging(static_cast<ControlFile>(at.node.item));
  NoteSize(at, file.value()->size());
  const Result<Attributes> attributes = GetAttr(id, Wait::kNo);
  if (attributes.ok()) opened.attributes = attributes.value();
  opened.attributes.size = file.value()->size();
  opened.handle = handles_.Add({id, file.value()});
  return opened;
}

Result<Tree::State::File> Tree::State::FileOf(NodeId id, Wait wait) {
  {
    const MutexLock lock(mu_);
    const auto known = unopened_places_.find(id);
    if (known != unopened_places_.end()) {
      unopened_.splice(unopened_.begin(), unopened_, known->second);
      return known->second->second;
    }
  }
  ROWFS_ASSIGN_OR_RETURN(const Place at, Locate(id));
  ROWFS_ASSIGN_OR_RETURN(File file, OpenFile(at, wait));
  if (at.node.kind == NodeKind::kControlFile) return file;
  File oldest;  // freed without the lock
  const MutexLock lock(mu_);
  if (unopened_places_.contains(id)) return file;
  unopened_.emplace_front(id, file);
  unopened_places_[id] = unopened_.begin();
  if (unopened_.size() > kUnopenedFilesKept) {
    oldest = std::move(unopened_.back().second);
    unopened_places_.erase(unopened_.back().first);
    unopened_.pop_back();
  }
  return file;
}

Result<size_t> Tree::State::Read(NodeId id, uint64_t handle, uint64_t offset,
                                 MutableByteSpan out, Wait wait) {
  const auto read = [&]() -> Result<size_t> {
    File file;
    if (handle != 0) {
      const auto opened = handles_.Find(handle);
      if (!opened) return Status(Code::kInvalidArgument, "no such open file");
      file = opened->file;
    } else {
      ROWFS_ASSIGN_OR_RETURN(file, FileOf(id, wait));
    }
    if (wait == Wait::kNo && !file->in_memory()) {
      return ReadQuickly(id, *file, offset, out);
    }
    return file->ReadAt(offset, out);
  };
  Result<size_t> size = read();
  if (size.ok() ||
      (wait == Wait::kNo && size.status().code() == Code::kUnavailable)) {
    return size;
  }
  NoteError(id, size.status());
  const Result<Place> at = Locate(id);
  return at.ok() ? size.status().With(NameOf(at.value())) : size.status();
}

// Stored bytes of a local file that the page cache has.
Result<size_t> Tree::State::ReadQuickly(NodeId id, const ViewFile& file,
                                        uint64_t offset, MutableByteSpan out) {
  const std::optional<Node> node = DecodeNode(id);
  if (!node || node->kind != NodeKind::kRowFile) return WouldWait();
  const Snapshot* snapshot = versions_.Find(node->slot);
  if (snapshot == nullptr || !snapshot->quick()) return WouldWait();
  const NoWaitScope scope;
  const Result<size_t> size = file.ReadAt(offset, out);
  // An error is worth a second look too: it is noted there.
  if (scope.refused() || !size.ok()) return WouldWait();
  return size;
}

void Tree::State::Release(uint64_t handle) {
  const auto opened = handles_.Remove(handle);
  if (!opened) return;
  const std::optional<Node> node = DecodeNode(opened->node);
  const bool control = node && node->kind == NodeKind::kControlFile;
  if (control &&
      static_cast<ControlFile>(node->item) == ControlFile::kPrefetch) {
    prefetcher_.Flush();
  }
}

Status Tree::State::Write(NodeId id, ByteSpan bytes) {
  const std::optional<Node> node = DecodeNode(id);
  if (!node || node->kind != NodeKind::kControlFile ||
      static_cast<ControlFile>(node->item) != ControlFile::kPrefetch) {
    return {Code::kInvalidArgument, "not a file that takes lines"};
  }
  const Status status = prefetcher_.Write(bytes);
  // Nobody tells when the file is closed; a longer text comes in whole pages.
  if (!open_needed() && bytes.size() % kPageBytes != 0) prefetcher_.Flush();
  return status;
}

bool Tree::State::open_needed() const {
  return !options_.exact_stat && !options_.stored_only;
}

bool Tree::State::folders_fixed() const {
  return options_.stored_only && !options_.open_version &&
         (row_count_ <= kFolderEntriesKept ||
          versions_.mounted().layout().sharded());
}

Status Tree::State::PrefetchFile(NodeId id) {
  ROWFS_ASSIGN_OR_RETURN(const OpenedFile opened, Open(id, Wait::kYes));
  const auto file = handles_.Find(opened.handle);
  Status status;
  if (file && !file->file->in_memory()) {
    const KeepScope keep;  // what was asked for is there for --offline
    const uint64_t size = std::min(file->file->size(), kPrefetchBytesMax);
    Bytes buffer(std::min(size, kPrefetchReadBytes));
    for (uint64_t at = 0; at < size && status.ok(); at += buffer.size()) {
      status = file->file->ReadAt(at, buffer).status();
    }
  }
  Release(opened.handle);
  return status;
}

Status Tree::State::PrefetchRow(Snapshot& snapshot, uint64_t row) {
  ROWFS_ASSIGN_OR_RETURN(const auto contents,
                         snapshot.Contents(row, Wait::kYes));
  Status first;
  for (const auto& [column, item] : contents->blobs) {
    const Entry entry =
        ItemEntry(snapshot, *contents, contents->items[item], true);
    const Status status = PrefetchFile(entry.node);
    Forget(entry.node, 1);
    if (first.ok()) first = NotBrought(status);
  }
  return first;
}

Status Tree::State::Prefetch(std::string_view line) {
  while (!line.empty() && (line.back() == '\r' || line.back() == ' ')) {
    line.remove_suffix(1);
  }
  if (line.empty()) return {};
  Snapshot& mounted = versions_.mounted();
  Status first;
  const auto rows = Selection::Parse(line, mounted.layout().row_count());
  if (rows.ok()) {
    for (uint64_t i = 0; i < rows.value().row_count(); ++i) {
      const Status status = PrefetchRow(mounted, rows.value().at(i));
      if (first.ok()) first = status;
    }
    return first;
  }
  if (rows.status().code() == Code::kOutOfRange) return rows.status();
  ROWFS_ASSIGN_OR_RETURN(const Entry entry, Resolve(line, true));
  if (entry.attributes.type == NodeType::kFile) {
    first = PrefetchFile(entry.node);
  } else {
    // A folder: the files in it, as many as are listed.
    std::vector<NodeId> files;
    first = ReadDir(
        entry.node, 0, true, Wait::kYes, [&](const DirectoryEntry& child) {
          const bool file = child.entry.attributes.type == NodeType::kFile;
          if (file && child.entry.node != 0) {
            files.push_back(child.entry.node);
          } else if (child.entry.node != 0) {
            Forget(child.entry.node, 1);
          }
          return files.size() < kPrefetchEntriesMax;
        });
    for (const NodeId file : files) {
      const Status status = PrefetchFile(file);
      Forget(file, 1);
      if (first.ok()) first = NotBrought(status);
    }
  }
  Forget(entry.node, 1);
  return first;
}

}  // namespace rowfs
