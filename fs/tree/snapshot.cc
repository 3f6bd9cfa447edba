#include "fs/tree/snapshot.h"

#include <algorithm>

#include "fs/tree/blob_shape.h"
#include "fs/tree/files.h"
#include "fs/tree/node_id.h"
#include "index/dataset/names.h"
#include "storage/base/hash.h"
#include "storage/base/no_wait.h"

namespace rowfs {
namespace {

// The time of the version, where the format knows it.
int64_t TimeOf(const TableSource& table, int64_t fallback_ns) {
  const Json facts = table.Describe();
  const Json* time = facts.Find("timestamp_ns");
  if (time == nullptr) return fallback_ns;
  return time->AsInt().value_or(fallback_ns);
}

bool IsQuick(const Dataset& dataset) {
  if (dataset.columns().empty()) return false;
  const Metadata& metadata = dataset.columns()[0].metadata;
  return std::ranges::any_of(
      metadata, [](const auto& entry) { return entry.first == kQuickKey; });
}

// Null when waiting is allowed.
std::unique_ptr<NoWaitScope> NoWaitFor(Wait wait) {
  return wait == Wait::kNo ? std::make_unique<NoWaitScope>() : nullptr;
}

uint64_t BytesOf(const RowContents& contents) {
  uint64_t bytes = sizeof(RowContents);
  for (const RowItem& item : contents.items) {
    bytes += sizeof(RowItem) + item.name.size() + item.path.size() +
             item.text.size();
  }
  return bytes;
}

}  // namespace

Snapshot::Snapshot(std::shared_ptr<Dataset> dataset, PluginRegistry& plugins,
                   Renderer& renderer, const TreeOptions& options,
                   uint32_t slot, int64_t mtime_ns)
    : dataset_(std::move(dataset)),
      plugins_(plugins),
      renderer_(renderer),
      options_(options),
      slot_(slot),
      mtime_ns_(TimeOf(dataset_->table(), mtime_ns)),
      layout_(dataset_->row_count(), options.rows, options.row_digits),
      hash_(Hash64(AsBytes(dataset_->table().fingerprint()))),
      quick_(IsQuick(*dataset_)),
      values_(slot == 0 ? options.values : nullptr) {
  if (values_ == nullptr) {
    scanned_ = std::make_unique<ScannedValueIndex>(dataset_);
    values_ = scanned_.get();
  }
  if (dataset_->file_rows() != nullptr) {
    stored_ = std::make_unique<StoredRows>(*dataset_, quick_);
  }
  if (!options.name_column.empty()) {
    name_column_ = dataset_->FindColumn(options.name_column);
    if (slot == 0) name_index_ = options.names;
  }
  UniqueNames taken;
  for (size_t i = 0; i < dataset_->columns().size(); ++i) {
    const Column& column = dataset_->columns()[i];
    if (!IsScalar(column) || i >= kNodeItemsMax) continue;
    scalars_.emplace_back(i, taken.Take(EscapeName(column.name)));
  }
}

Result<std::shared_ptr<const RowNames>> Snapshot::Names(Wait wait) {
  return names_.Get(wait, [this] {
    return RowNames::Read(*dataset_, *name_column_, layout_);
  });
}

Result<std::string> Snapshot::RowName(uint64_t row, Wait wait) {
  if (!name_column_) return layout_.NumberName(row);
  if (name_index_ != nullptr) {
    if (wait == Wait::kNo) return WouldWait();
    return name_index_->NameOf(row);
  }
  ROWFS_ASSIGN_OR_RETURN(const auto names, Names(wait));
  return std::string(names->at(row));
}

Result<std::string> Snapshot::RowPath(uint64_t row, Wait wait) {
  if (!name_column_) return layout_.PathOf(row);
  ROWFS_ASSIGN_OR_RETURN(std::string name, RowName(row, wait));
  if (!layout_.sharded()) return name;
  return layout_.ShardName(row / RowsLayout::kShardRows) + "/" + name;
}

Result<std::optional<uint64_t>> Snapshot::FindRowName(std::string_view name,
                                                      Wait wait) {
  if (name_column_ && name_index_ != nullptr) {
    if (wait == Wait::kNo) return WouldWait();
    return name_index_->FindName(name);
  }
  if (name_column_) {
    ROWFS_ASSIGN_OR_RETURN(const auto names, Names(wait));
    return names->Find(name);
  }
  std::optional<uint64_t> row = layout_.FindNumber(name);
  if (row && layout_.NumberName(*row) != name) row.reset();
  return row;
}

std::shared_ptr<const RowContents> Snapshot::FindContents(uint64_t row) {
  const MutexLock lock(mu_);
  const auto found = by_row_.find(row);
  if (found == by_row_.end()) return nullptr;
  listed_.splice(listed_.begin(), listed_, found->second);
  return found->second->contents;
}

void Snapshot::Remember(std::shared_ptr<const RowContents> contents) {
  const uint64_t bytes = BytesOf(*contents);
  const MutexLock lock(mu_);
  if (by_row_.contains(contents->row)) return;
  listed_.push_front({std::move(contents), bytes});
  by_row_[listed_.front().contents->row] = listed_.begin();
  listed_bytes_ += bytes;
  while (listed_.size() > 1 &&
         (listed_.size() > kContentsMax || listed_bytes_ > kContentsBytesMax)) {
    listed_bytes_ -= listed_.back().bytes;
    by_row_.erase(listed_.back().contents->row);
    listed_.pop_back();
  }
}

void Snapshot::Forget(uint64_t row) {
  const MutexLock lock(mu_);
  const auto found = by_row_.find(row);
  if (found == by_row_.end()) return;
  listed_bytes_ -= found->second->bytes;
  listed_.erase(found->second);
  by_row_.erase(found);
}

Result<std::shared_ptr<const Row>> Snapshot::ReadRow(uint64_t row) {
  uint64_t count = 1;
  {
    const MutexLock lock(mu_);
    if (row != last_row_) {
      run_length_ = row == last_row_ + 1 ? run_length_ + 1 : 0;
    }
    last_row_ = row;
    count = std::min(uint64_t{1} << std::min<uint64_t>(run_length_, 16),
                     kAheadRowsMax);
  }
  if (dataset_->HasRow(row)) count = 1;
  std::vector<uint64_t> rows;
  for (uint64_t i = row; i < row + count && i < dataset_->row_count(); ++i) {
    rows.push_back(i);
  }
  Result<std::vector<std::shared_ptr<const Row>>> taken =
      dataset_->ReadRows(rows);
  // A neighbour that cannot be read is not this row's concern.
  if (!taken.ok() && count > 1) return dataset_->ReadRow(row);
  ROWFS_RETURN_IF_ERROR(taken.status());
  return taken.value()[0];
}

Result<std::shared_ptr<const RowContents>> Snapshot::Contents(uint64_t row,
                                                              Wait wait) {
  if (row >= dataset_->row_count()) {
    return Status(Code::kNotFound, "no such row");
  }
  if (auto known = FindContents(row)) return known;
  if (wait == Wait::kNo && !quick_) return WouldWait();
  const auto scope = NoWaitFor(wait);
  Result<std::shared_ptr<const RowContents>> contents = MakeContents(row);
  if (scope && scope->refused()) return WouldWait();
  ROWFS_RETURN_IF_ERROR(contents.status());
  // Names are a function of the snapshot, not of the network.
  ROWFS_RETURN_IF_ERROR(contents.value()->failure);
  if (!contents.value()->unsure) Remember(contents.value());
  return contents;
}

Result<std::shared_ptr<const RowContents>> Snapshot::MakeContents(
    uint64_t row) {
  ROWFS_ASSIGN_OR_RETURN(const auto values, ReadRow(row));
  return std::make_shared<const RowContents>(ReadRowContents(
      {*dataset_, plugins_, options_, false, index_key()}, *values));
}

Result<std::shared_ptr<const Media>> Snapshot::MakeMedia(uint64_t row,
                                                         const CellPath& cell) {
  ROWFS_ASSIGN_OR_RETURN(const auto blob,
                         dataset_->OpenBlob(row, cell, BlobDetail::kFull));
  if (!blob) return Status(Code::kNotFound, "no such blob");
  const std::string& config = options_.plugin_config;
  if (blob->cell().info) {
    ROWFS_ASSIGN_OR_RETURN(auto media, Media::Open(blob, plugins_, config));
    return std::shared_ptr<const Media>(std::move(media));
  }
  return IndexMedia(row, cell, blob);
}

Result<std::shared_ptr<const Media>> Snapshot::IndexMedia(
    uint64_t row, const CellPath& cell,
    const std::shared_ptr<const Blob>& blob) {
  const Status none(Code::kCorruption, "no plugin makes views of this blob");
  if (options_.indexer == nullptr) return none;
  auto index = options_.indexer->Known({index_key(), row, cell});
  if (!index) {
    Bytes head(std::min(blob->size(), kFileTypeHeadBytes));
    ROWFS_RETURN_IF_ERROR(blob->ReadAt(0, head));
    index = options_.indexer->Find({index_key(), row, cell}, blob,
                                   DetectFileType(head));
    Forget(row);
  }
  // Sound or not, there is nothing to show: the folder is broken.
  if (index->status().code() == Code::kUnsupported) {
    return Status(Code::kCorruption, std::string(index->status().message()));
  }
  ROWFS_RETURN_IF_ERROR(index->status());
  if (!index->value()) return none;
  const MediaIndexer::Index& found = *index->value();
  return std::shared_ptr<const Media>(
      Media::Make(blob, *found.plugin, found.info, options_.plugin_config));
}

Result<std::shared_ptr<const Media>> Snapshot::OpenMedia(uint64_t row,
                                                         const CellPath& cell) {
  const MediaKey key{row, cell};
  {
    const MutexLock lock(mu_);
    for (auto it = media_.begin(); it != media_.end(); ++it) {
      if (it->key != key) continue;
      media_.splice(media_.begin(), media_, it);
      return it->media;
    }
  }
  ROWFS_ASSIGN_OR_RETURN(auto media, MakeMedia(row, cell));
  const PluginIndex& index = media->index();
  const uint64_t bytes = (index.stream_info ? index.stream_info->size() : 0) +
                         (index.entries ? index.entries->size() : 0);
  const MutexLock lock(mu_);
  media_.push_front({key, media, bytes});
  media_bytes_ += bytes;
  while (media_.size() > 1 &&
         (media_.size() > kMediaMax || media_bytes_ > kMediaBytesMax)) {
    media_bytes_ -= media_.back().bytes;
    media_.pop_back();
  }
  return media;
}

Result<std::shared_ptr<const ViewFile>> Snapshot::OpenView(
    uint64_t row, const CellPath& cell, const std::string& path) {
  ROWFS_ASSIGN_OR_RETURN(const auto media, OpenMedia(row, cell));
  ROWFS_ASSIGN_OR_RETURN(const ViewEntry entry, media->Lookup(path));
  return renderer_.Open(media, path, entry);
}

Result<std::shared_ptr<const ViewFile>> Snapshot::OpenItem(
    const RowContents& contents, const RowItem& item, Wait wait) {
  using File = std::shared_ptr<const ViewFile>;
  switch (item.kind) {
    case RowItem::Kind::kRowJson:
    case RowItem::Kind::kJson:
      return File(std::make_shared<TextFile>(item.text));
    case RowItem::Kind::kNumber:
    case RowItem::Kind::kText:
    case RowItem::Kind::kTensor: {
      if (wait == Wait::kNo && !quick_ && !dataset_->HasRow(contents.row)) {
        return WouldWait();
      }
      const auto scope = NoWaitFor(wait);
      ROWFS_ASSIGN_OR_RETURN(const auto row, dataset_->ReadRow(contents.row));
      ROWFS_ASSIGN_OR_RETURN(std::string text, ValueFileText(item, *row));
      return File(std::make_shared<TextFile>(std::move(text)));
    }
    case RowItem::Kind::kBroken:
      return Status(Code::kCorruption, item.error);
    case RowItem::Kind::kFolder:
    case RowItem::Kind::kViewFolder:
      return Status(Code::kInvalidArgument, "is a folder");
    case RowItem::Kind::kBlob: {
      if (wait == Wait::kNo && !quick_) return WouldWait();
      // Refused, it is kUnavailable as well.
      const auto scope = NoWaitFor(wait);
      ROWFS_ASSIGN_OR_RETURN(const auto row, dataset_->ReadRow(contents.row));
      ROWFS_ASSIGN_OR_RETURN(const CellRef cell, FindCell(*row, item.cell));
      ROWFS_ASSIGN_OR_RETURN(
          auto blob, OpenCell(*dataset_, BlobCellAt(*cell.array, cell.index)));
      return File(std::make_shared<BlobFile>(std::move(blob)));
    }
    case RowItem::Kind::kViewFile:
      if (wait == Wait::kNo) return WouldWait();
      return OpenView(contents.row, item.cell, item.view);
  }
  return Status(Code::kInternal, "no such kind of file");
}

Result<std::shared_ptr<const MetadataFile>> Snapshot::Metadata(Wait wait) {
  return metadata_.Get(wait, [this] {
    return MetadataFile::Open(*dataset_, plugins_, options_,
                              [this](uint64_t row) -> Result<std::string> {
                                ROWFS_ASSIGN_OR_RETURN(
                                    const std::string path,
                                    RowPath(row, Wait::kYes));
                                return "rows/" + path;
                              });
  });
}

}  // namespace rowfs
