#include "fs/tree/early_tree.h"

#include <algorithm>
#include <set>

#include "fs/tree/files.h"
#include "fs/tree/lazy.h"
#include "fs/tree/row_contents.h"
#include "index/dataset/names.h"
#include "storage/base/clock.h"
#include "storage/base/hash.h"

namespace rowfs {
namespace {

// How far an estimate of the number of rows may be off: by this factor when so
// many were found at least.
constexpr uint64_t kEstimateRowsMin = 64;
constexpr double kRoughFactor = 4;
constexpr uint64_t kGoodRowsMin = 1'000;
constexpr double kGoodFactor = 1.25;
// Names of shards have so many digits as long as there are six in a number.
constexpr size_t kShardDigits = 3;
// The number of digits of shorter row numbers does not depend on the rows.
constexpr uint64_t kSixDigitRowsMax = 1'000'000;

Status NotFound() { return {Code::kNotFound, "no such file or folder"}; }

// Where rows could be: parsing their names needs no more.
RowsLayout LayoutOf(bool sharded) {
  return {kNodeRowsMax,
          sharded ? TreeOptions::Rows::kSharded : TreeOptions::Rows::kFlat,
          RowsLayout::kDigitsMin};
}

}  // namespace

EarlyTree::EarlyTree(std::shared_ptr<const EarlyRows> rows, TreeOptions options)
    : rows_(std::move(rows)),
      options_(std::move(options)),
      hash_(Hash64(AsBytes(rows_->fingerprint()))) {}

void EarlyTree::Seal(TreeOptions* options) {
  const MutexLock lock(mu_);
  sealed_ = true;
  if (!layout_) return;
  options->rows = layout_->sharded() ? TreeOptions::Rows::kSharded
                                     : TreeOptions::Rows::kFlat;
  options->row_digits = RowsLayout::kDigitsMin;
}

Attributes EarlyTree::Plain(const Node& node, NodeType type) const {
  Attributes attributes;
  attributes.type = type;
  attributes.inode = InodeOf(EncodeNode(node), hash_);
  attributes.size = type == NodeType::kDirectory ? kFolderSize : 0;
  attributes.mtime_ns = options_.mtime_ns;
  return attributes;
}

Entry EarlyTree::PlainEntry(NodeKind kind, uint64_t row, uint32_t item,
                            NodeType type) const {
  const Node node{kind, 0, row, item};
  return {EncodeNode(node), Plain(node, type)};
}

// Certain where the rows are many already, else by an estimate.
std::optional<RowsLayout> EarlyTree::Judge(
    const EarlyRows::Found& found) const {
  if (found.rows < kEstimateRowsMin || found.bytes == 0) return {};
  const double rows = static_cast<double>(found.rows) *
                      static_cast<double>(found.bytes_total) /
                      static_cast<double>(found.bytes);
  const double factor = found.rows < kGoodRowsMin ? kRoughFactor : kGoodFactor;
  if (rows * factor > kSixDigitRowsMax) return {};
  if (options_.rows != TreeOptions::Rows::kAuto) {
    return LayoutOf(options_.rows == TreeOptions::Rows::kSharded);
  }
  if (found.rows > RowsLayout::kFlatRowsMax ||
      rows > factor * RowsLayout::kFlatRowsMax) {
    return LayoutOf(true);
  }
  if (rows * factor < RowsLayout::kFlatRowsMax) return LayoutOf(false);
  return {};
}

std::optional<RowsLayout> EarlyTree::Layout(Wait wait) {
  EarlyRows::Found found = rows_->found();
  for (;;) {
    {
      const MutexLock lock(mu_);
      if (layout_) return layout_;
      if (sealed_) return {};
      layout_ = Judge(found);
      if (layout_) return layout_;
    }
    if (wait == Wait::kNo || found.ended) return {};
    found = rows_->WaitForMore(std::max(found.rows, kEstimateRowsMin));
  }
}

bool EarlyTree::Has(uint64_t row, Wait wait) const {
  if (rows_->found().rows > row) return true;
  return wait == Wait::kYes && rows_->WaitForMore(row).rows > row;
}

std::optional<std::string> EarlyTree::ControlText(ControlFile file) const {
  if (file == ControlFile::kConfig) return options_.config_json + "\n";
  if (file == ControlFile::kStats) {
    return options_.stats_text ? options_.stats_text() : std::string();
  }
  if (file != ControlFile::kLog) return {};
  return options_.log == nullptr ? std::string() : LogText(*options_.log);
}

std::optional<FileRows::File> EarlyTree::FindFile(const Node& node) const {
  if (node.kind != NodeKind::kRowFile || node.item < CodeOfColumn(0)) return {};
  const auto files = rows_->FilesOf(node.row);
  if (!files) return {};
  const auto file = std::ranges::find(files->files, FieldOfCode(node.item),
                                      &FileRows::File::field);
  if (file == files->files.end()) return {};
  return *file;
}

EarlyTree::Answer<Entry> EarlyTree::Lookup(NodeId parent, std::string_view name,
                                           Wait wait) {
  const std::optional<Node> node = DecodeNode(parent);
  if (!node || node->slot != 0) return {};
  if (node->kind == NodeKind::kRoot) {
    constexpr std::pair<std::string_view, NodeKind> kFolders[] = {
        {"rows", NodeKind::kRows},
        {"by", NodeKind::kBy},
        {"select", NodeKind::kSelect},
        {".rowfs", NodeKind::kControl}};
    for (const auto& [folder, kind] : kFolders) {
      if (folder != name) continue;
      return PlainEntry(kind, 0, 0, NodeType::kDirectory);
    }
    if (name != "metadata.jsonl") return NotFound();
    return {};
  }
  if (node->kind == NodeKind::kControl) {
    const auto file = FindControlFile(name);
    if (!file) return NotFound();
    const auto text = ControlText(*file);
    if (!text) return {};
    Entry entry = PlainEntry(NodeKind::kControlFile, 0,
                             static_cast<uint32_t>(*file), NodeType::kFile);
    entry.attributes.size = text->size();
    entry.attributes.size_exact = !IsChanging(*file);
    if (IsChanging(*file)) entry.attributes.mtime_ns = RealClock().NowNs();
    return entry;
  }
  if (node->kind == NodeKind::kRows || node->kind == NodeKind::kShard) {
    return LookupRow(*node, name, wait);
  }
  if (node->kind == NodeKind::kRowFolder) return LookupFile(node->row, name);
  return {};
}

EarlyTree::Answer<Entry> EarlyTree::LookupRow(const Node& parent,
                                              std::string_view name,
                                              Wait wait) {
  if (name.find_first_not_of("0123456789") != name.npos) return NotFound();
  const std::optional<RowsLayout> layout = Layout(wait);
  if (!layout) return {};
  const bool top = parent.kind == NodeKind::kRows;
  if (const auto shard = layout->FindShard(name);
      top && layout->sharded() && shard && name.size() == kShardDigits) {
    if (!Has(*shard * RowsLayout::kShardRows, wait)) return {};
    return PlainEntry(NodeKind::kShard, *shard, 0, NodeType::kDirectory);
  }
  const auto row = layout->FindNumber(name);
  if (!row || !Has(*row, wait)) return {};
  const bool canonical = layout->NumberName(*row) == name;
  const bool here =
      top ? !layout->sharded() : *row / RowsLayout::kShardRows == parent.row;
  if (canonical && here) {
    return PlainEntry(NodeKind::kRowFolder, *row, 0, NodeType::kDirectory);
  }
  if (!top) return NotFound();
  Entry link = PlainEntry(NodeKind::kRowLink, *row, 0, NodeType::kLink);
  link.attributes.size = layout->PathOf(*row).size();
  return link;
}

EarlyTree::Answer<Entry> EarlyTree::LookupFile(uint64_t row,
                                               std::string_view name) {
  const auto files = rows_->FilesOf(row);
  if (!files || name == kRowJsonName) return {};
  Answer<Entry> found;
  for (const FileRows::File& file : files->files) {
    if (StemOf(file.name) != name) continue;
    // Of two with one name the whole tree knows which is which.
    if (found) return {};
    Entry entry = PlainEntry(NodeKind::kRowFile, row, CodeOfColumn(file.field),
                             NodeType::kFile);
    entry.attributes.size = file.size;
    found = entry;
  }
  return found;
}

EarlyTree::Answer<Attributes> EarlyTree::GetAttr(NodeId id, Wait wait) {
  const std::optional<Node> node = DecodeNode(id);
  if (!node || node->slot != 0) return {};
  if (node->kind == NodeKind::kControlFile) {
    const auto file = static_cast<ControlFile>(node->item);
    const Answer<Entry> entry =
        Lookup(EncodeNode({NodeKind::kControl, 0, 0, 0}),
               kControlNames[node->item % kControlNames.size()], wait);
    if (!entry || !ControlText(file)) return {};
    return entry->value().attributes;
  }
  if (const auto file = FindFile(*node)) {
    Attributes attributes = Plain(*node, NodeType::kFile);
    attributes.size = file->size;
    return attributes;
  }
  if (node->kind == NodeKind::kRowLink) {
    const auto layout = Layout(wait);
    if (!layout) return {};
    Attributes attributes = Plain(*node, NodeType::kLink);
    attributes.size = layout->PathOf(node->row).size();
    return attributes;
  }
  constexpr NodeKind kFolders[] = {NodeKind::kRoot,    NodeKind::kRows,
                                   NodeKind::kShard,   NodeKind::kRowFolder,
                                   NodeKind::kControl, NodeKind::kBy,
                                   NodeKind::kSelect};
  if (std::ranges::find(kFolders, node->kind) == std::end(kFolders)) return {};
  return Plain(*node, NodeType::kDirectory);
}

EarlyTree::Answer<std::string> EarlyTree::ReadLink(NodeId id, Wait wait) {
  const std::optional<Node> node = DecodeNode(id);
  if (!node || node->kind != NodeKind::kRowLink || node->slot != 0) return {};
  const auto layout = Layout(wait);
  if (!layout) return {};
  return layout->PathOf(node->row);
}

std::optional<Status> EarlyTree::ReadDir(NodeId id, uint64_t cookie, Wait wait,
                                         const Put& put) {
  const std::optional<Node> node = DecodeNode(id);
  if (!node || node->slot != 0) return {};
  const auto list = [&](auto names, auto entry_of) -> std::optional<Status> {
    for (uint64_t i = cookie; i < names.size(); ++i) {
      if (!put({names[i], entry_of(names[i]), i + 1})) break;
    }
    return Status();
  };
  const auto entry_of = [&](std::string_view name) {
    const Answer<Entry> entry = Lookup(id, name, Wait::kNo);
    if (entry && entry->ok()) return entry->value();
    // What is not known yet is left to whoever asks for it.
    Entry later;
    later.attributes.inode = InodeOf(Hash64(AsBytes(name)), hash_);
    if (const auto file = FindControlFile(name);
        node->kind == NodeKind::kControl && file) {
      later = PlainEntry(NodeKind::kControlFile, 0,
                         static_cast<uint32_t>(*file), NodeType::kFile);
    } else if (name == "metadata.jsonl") {
      later = PlainEntry(NodeKind::kMetadata, 0, 0, NodeType::kFile);
    }
    later.node = 0;
    return later;
  };
  if (node->kind == NodeKind::kRoot) {
    return list(std::vector<std::string_view>{"rows", "by", "select",
                                              "metadata.jsonl", ".rowfs"},
                entry_of);
  }
  if (node->kind == NodeKind::kControl) return list(kControlNames, entry_of);
  if (node->kind == NodeKind::kSelect) return Status();
  if (node->kind == NodeKind::kRows || node->kind == NodeKind::kShard) {
    return ListRows(*node, cookie, wait, put);
  }
  if (node->kind == NodeKind::kRowFolder) {
    return ListFiles(node->row, cookie, put);
  }
  return {};
}

// Streams: what is there, and when nothing is, the next that comes.
std::optional<Status> EarlyTree::ListRows(const Node& folder, uint64_t cookie,
                                          Wait wait, const Put& put) {
  const std::optional<RowsLayout> layout = Layout(wait);
  if (!layout) return {};
  constexpr uint64_t kShard = RowsLayout::kShardRows;
  const bool shards = folder.kind == NodeKind::kRows && layout->sharded();
  const uint64_t step = shards ? kShard : 1;
  const uint64_t first =
      folder.kind == NodeKind::kShard ? folder.row * kShard : 0;
  const uint64_t end =
      folder.kind == NodeKind::kShard ? first + kShard : kNodeRowsMax;
  uint64_t i = cookie;
  if (first + i * step >= end) return Status();
  if (!Has(first + i * step, wait)) return {};
  const uint64_t rows = rows_->found().rows;
  for (; first + i * step < std::min(rows, end); ++i) {
    const uint64_t row = first + i * step;
    const std::string name =
        shards ? layout->ShardName(i) : layout->NumberName(row);
    const Entry entry =
        shards ? PlainEntry(NodeKind::kShard, i, 0, NodeType::kDirectory)
               : PlainEntry(NodeKind::kRowFolder, row, 0, NodeType::kDirectory);
    if (!put({name, entry, i + 1})) break;
  }
  return Status();
}

std::optional<Status> EarlyTree::ListFiles(uint64_t row, uint64_t cookie,
                                           const Put& put) {
  const auto files = rows_->FilesOf(row);
  if (!files) return {};
  std::set<std::string> names = {std::string(kRowJsonName)};
  for (const FileRows::File& file : files->files) {
    if (!names.insert(StemOf(file.name)).second) return {};
  }
  // row.json has all columns, and who knows what comes yet.
  Entry json =
      PlainEntry(NodeKind::kRowFile, row, kRowJsonCode, NodeType::kFile);
  json.node = 0;
  if (cookie == 0 && !put({kRowJsonName, json, 1})) return Status();
  for (uint64_t i = std::max<uint64_t>(cookie, 1); i <= files->files.size();
       ++i) {
    const std::string name = StemOf(files->files[i - 1].name);
    const Answer<Entry> entry = LookupFile(row, name);
    if (!entry || !put({name, entry->value(), i + 1})) break;
  }
  return Status();
}

EarlyTree::Answer<OpenedFile> EarlyTree::Open(NodeId id, Wait wait) {
  const std::optional<Node> node = DecodeNode(id);
  const Answer<Attributes> attributes = GetAttr(id, wait);
  if (!node || !attributes || !attributes->ok() ||
      attributes->value().type != NodeType::kFile) {
    return {};
  }
  OpenedFile opened;  // without a handle: it is read by its number
  opened.attributes = attributes->value();
  opened.changing = node->kind == NodeKind::kControlFile &&
                    IsChanging(static_cast<ControlFile>(node->item));
  return opened;
}

EarlyTree::Answer<size_t> EarlyTree::Read(NodeId id, uint64_t offset,
                                          MutableByteSpan out, Wait wait) {
  const std::optional<Node> node = DecodeNode(id);
  if (!node || node->slot != 0) return {};
  if (node->kind == NodeKind::kControlFile) {
    const auto text = ControlText(static_cast<ControlFile>(node->item));
    if (!text) return {};
    return TextFile(*text).ReadAt(offset, out);
  }
  const auto file = FindFile(*node);
  if (!file) return {};
  if (wait == Wait::kNo) return WouldWait();
  Result<BlobSource> source = rows_->OpenFile(*file);
  if (!source.ok()) return source.status();
  BlobCell cell;
  cell.size = file->size;
  return BlobFile(std::make_shared<const Blob>(std::move(cell),
                                               std::move(source).value()))
      .ReadAt(offset, out);
}

}  // namespace rowfs
