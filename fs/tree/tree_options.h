// How a tree shows a dataset, and what the composition root lends it.
//
// Values; the interfaces are thread-safe.
#ifndef ROWFS_FS_TREE_TREE_OPTIONS_H_
#define ROWFS_FS_TREE_TREE_OPTIONS_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "index/dataset/dataset.h"
#include "index/runtime/plugin.h"
#include "storage/base/log.h"
#include "storage/base/status.h"
#include "storage/base/thread_pool.h"

namespace rowfs {

// Whether an operation may wait (for a disk, a network, a plugin) or has to
// answer from memory.
enum class Wait { kNo, kYes };

// Rows by the value of a scalar column: what by/COLUMN/VALUE shows. The tree
// makes its own by scanning the column once; a catalog can lend one that keeps
// what it found.
class ValueIndex {
 public:
  virtual ~ValueIndex() = default;
  struct Value {
    std::string name;  // escaped, unique
    uint64_t row_count = 0;
  };
  // Values are numbered from 0 in a fixed order. All calls may wait.
  virtual Result<uint64_t> ValueCount(size_t column) = 0;
  virtual Result<Value> GetValue(size_t column, uint64_t number) = 0;
  virtual Result<std::optional<uint64_t>> FindValue(size_t column,
                                                    std::string_view name) = 0;
  // Up to `limit` rows of that value, from its row number `start` on.
  virtual Result<std::vector<uint64_t>> ListRows(size_t column, uint64_t number,
                                                 uint64_t start,
                                                 uint64_t limit) = 0;
};

// The names --name-column gives to row folders, kept by a catalog.
class NameIndex {
 public:
  virtual ~NameIndex() = default;
  // Both may wait.
  virtual Result<std::string> NameOf(uint64_t row) = 0;
  virtual Result<std::optional<uint64_t>> FindName(std::string_view name) = 0;
};

// Indexes media that were never ingested, on first use.
class MediaIndexer {
 public:
  virtual ~MediaIndexer() = default;
  struct Index {
    Plugin* plugin = nullptr;
    BlobInfo info;  // in full
  };
  // Which blob: of the version with this hash (0: the mounted one).
  struct Place {
    uint64_t snapshot = 0;
    uint64_t row = 0;
    const CellPath& path;
  };
  // What Find said before, without reading the blob; absent: it has to look.
  virtual std::optional<Result<std::optional<Index>>> Known(
      const Place& place) = 0;
  // The index of a blob whose blob_info is null; absent when no plugin knows
  // such files. kCorruption and kUnsupported say why it has no views. May read
  // the whole blob; what it found is kept.
  virtual Result<std::optional<Index>> Find(
      const Place& place, const std::shared_ptr<const Blob>& blob,
      FileType type) = 0;
};

struct TreeOptions {
  enum class Rows { kAuto, kFlat, kSharded };

  Rows rows = Rows::kAuto;
  // Of row numbers; 0: as many as the last one needs, at least six.
  size_t row_digits = 0;
  std::string name_column;  // empty: rows are named by number
  // CONFIG for the plugins: "frames=png".
  std::string plugin_config;
  // views/NAME: these rows, in this order.
  std::vector<std::pair<std::string, std::vector<uint64_t>>> views;
  // Render on stat, so that every size is exact before a file is opened.
  bool exact_stat = false;
  // No folder lists files that have to be rendered: opens need no answer. One
  // that is asked for by name is rendered when it is looked up.
  bool stored_only = false;

  // Opens another version of the same dataset; null: no .versions, no .tags.
  std::function<Result<std::shared_ptr<Dataset>>(uint64_t version)>
      open_version;
  MediaIndexer* indexer = nullptr;
  // Row folders list the views that files of such a name usually have before
  // they are indexed. False (far away, where walking through a tree must not
  // fetch it): only those that were; the others are there by name.
  bool list_unindexed = true;
  // Of the mounted version only; null: the tree scans.
  ValueIndex* values = nullptr;
  // Of name_column of the mounted version; null: the tree scans.
  NameIndex* names = nullptr;
  // Runs prefetching; null: .rowfs/prefetch refuses lines.
  ThreadPool* prefetch_pool = nullptr;

  // .rowfs: lines of Prometheus text to show before the tree's own, the options
  // of the mount as JSON, the log.
  std::function<std::string()> stats_text;
  std::string config_json;
  const Logger* log = nullptr;
  // The time of every file where the format does not know that of the version;
  // 0: now.
  int64_t mtime_ns = 0;
};

}  // namespace rowfs
#endif  // ROWFS_FS_TREE_TREE_OPTIONS_H_
