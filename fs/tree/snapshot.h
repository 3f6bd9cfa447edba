// One version of the dataset as the tree shows it: its rows with what lies in
// them, its names, its open media, each read at most once while it is wanted.
//
// Thread-safe.
#ifndef ROWFS_FS_TREE_SNAPSHOT_H_
#define ROWFS_FS_TREE_SNAPSHOT_H_

#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "fs/tree/lazy.h"
#include "fs/tree/metadata_file.h"
#include "fs/tree/row_contents.h"
#include "fs/tree/rows_layout.h"
#include "fs/tree/stored_rows.h"
#include "fs/tree/value_index.h"
#include "index/view/renderer.h"
#include "storage/base/sync.h"

namespace rowfs {

class Snapshot {
 public:
  // Everything passed by reference outlives this. `slot` goes into node
  // numbers.
  Snapshot(std::shared_ptr<Dataset> dataset, PluginRegistry& plugins,
           Renderer& renderer, const TreeOptions& options, uint32_t slot,
           int64_t mtime_ns);

  const Dataset& dataset() const { return *dataset_; }
  Dataset& dataset() { return *dataset_; }
  const RowsLayout& layout() const { return layout_; }
  const TreeOptions& options() const { return options_; }
  uint32_t slot() const { return slot_; }
  int64_t mtime_ns() const { return mtime_ns_; }
  // Equal only for equal content; what inode numbers are made with.
  uint64_t hash() const { return hash_; }
  ValueIndex& values() { return *values_; }
  // Columns by/ shows, with the names of their folders.
  const std::vector<std::pair<size_t, std::string>>& scalars() const {
    return scalars_;
  }

  // Name of the row's folder, and its path below rows/. With --name-column the
  // first call reads that column.
  Result<std::string> RowName(uint64_t row, Wait wait);
  Result<std::string> RowPath(uint64_t row, Wait wait);
  // The row whose folder is called `name`, wherever it lies.
  Result<std::optional<uint64_t>> FindRowName(std::string_view name, Wait wait);

  // What lies in the row's folder. One Take unless it is in memory; a reader
  // that goes from row to row has the next ones taken along. In a quick table
  // Wait::kNo takes it too, as long as nothing has to wait.
  Result<std::shared_ptr<const RowContents>> Contents(uint64_t row, Wait wait)
      EXCLUDES(mu_);
  // Files and folders that need no contents; null when the table has none.
  StoredRows* stored() const { return stored_.get(); }
  // The media at `cell`, with its whole index; kCorruption when there is none
  // and none can be made. Reads all of a blob that was never indexed.
  Result<std::shared_ptr<const Media>> OpenMedia(uint64_t row,
                                                 const CellPath& cell)
      EXCLUDES(mu_);
  // The bytes of a file of the row. Waits unless the row is in memory and the
  // item is a value.
  Result<std::shared_ptr<const ViewFile>> OpenItem(const RowContents& contents,
                                                   const RowItem& item,
                                                   Wait wait);
  Result<std::shared_ptr<const ViewFile>> OpenView(uint64_t row,
                                                   const CellPath& cell,
                                                   const std::string& path);
  // metadata.jsonl; the first call reads the table once.
  Result<std::shared_ptr<const MetadataFile>> Metadata(Wait wait);
  Renderer& renderer() { return renderer_; }
  // Whether rows and stored bytes are worth trying within a NoWaitScope.
  bool quick() const { return quick_; }

 private:
  static constexpr size_t kContentsMax = 4096;
  static constexpr uint64_t kContentsBytesMax = 16 << 20;
  static constexpr size_t kMediaMax = 64;
  static constexpr uint64_t kMediaBytesMax = 64 << 20;
  static constexpr uint64_t kAheadRowsMax = 32;

  using MediaKey = std::pair<uint64_t, CellPath>;
  struct OpenedMedia {
    MediaKey key;
    std::shared_ptr<const Media> media;
    uint64_t bytes = 0;
  };
  struct Listed {
    std::shared_ptr<const RowContents> contents;
    uint64_t bytes = 0;
  };

  Result<std::shared_ptr<const RowContents>> MakeContents(uint64_t row)
      EXCLUDES(mu_);
  uint64_t index_key() const { return slot_ == 0 ? 0 : hash_; }
  Result<std::shared_ptr<const RowNames>> Names(Wait wait);
  std::shared_ptr<const RowContents> FindContents(uint64_t row) EXCLUDES(mu_);
  Result<std::shared_ptr<const Row>> ReadRow(uint64_t row) EXCLUDES(mu_);
  void Remember(std::shared_ptr<const RowContents> contents) EXCLUDES(mu_);
  // What was found in a blob of the row since changes what is listed there.
  void Forget(uint64_t row) EXCLUDES(mu_);
  Result<std::shared_ptr<const Media>> IndexMedia(
      uint64_t row, const CellPath& cell,
      const std::shared_ptr<const Blob>& blob) EXCLUDES(mu_);
  Result<std::shared_ptr<const Media>> MakeMedia(uint64_t row,
                                                 const CellPath& cell);

  const std::shared_ptr<Dataset> dataset_;
  PluginRegistry& plugins_;
  Renderer& renderer_;
  const TreeOptions& options_;
  const uint32_t slot_;
  const int64_t mtime_ns_;
  const RowsLayout layout_;
  const uint64_t hash_;
  const bool quick_;
  std::unique_ptr<ScannedValueIndex> scanned_;
  ValueIndex* values_;
  std::unique_ptr<StoredRows> stored_;
  std::optional<size_t> name_column_;
  NameIndex* name_index_ = nullptr;
  std::vector<std::pair<size_t, std::string>> scalars_;
  Lazy<RowNames> names_;
  Lazy<MetadataFile> metadata_;

  Mutex mu_;
  std::list<Listed> listed_ GUARDED_BY(mu_);  // newest first
  std::map<uint64_t, std::list<Listed>::iterator> by_row_ GUARDED_BY(mu_);
  uint64_t listed_bytes_ GUARDED_BY(mu_) = 0;
  std::list<OpenedMedia> media_ GUARDED_BY(mu_);  // newest first
  uint64_t media_bytes_ GUARDED_BY(mu_) = 0;
  uint64_t last_row_ GUARDED_BY(mu_) = 0;
  uint64_t run_length_ GUARDED_BY(mu_) = 0;  // rows asked for one by one
};

}  // namespace rowfs
#endif  // ROWFS_FS_TREE_SNAPSHOT_H_
