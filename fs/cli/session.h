// What one run of the program is made of: stores, caches, formats, plugins. The
// composition root: the only place that knows every part.
//
// Made and used by one thread; what it lends is thread-safe.
#ifndef ROWFS_FS_CLI_SESSION_H_
#define ROWFS_FS_CLI_SESSION_H_

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "fs/cli/command.h"
#include "index/dataset/dataset.h"
#include "index/runtime/plugin.h"
#include "storage/base/clock.h"
#include "storage/base/thread_pool.h"
#include "storage/object/open_store.h"
#include "storage/read/block_cache.h"
#include "storage/read/disk_cache.h"
#include "storage/read/fetch_queue.h"
#include "storage/read/meta_keeper.h"
#include "storage/read/read_trace.h"

namespace rowfs {

// Options that every command which opens a dataset takes.
inline constexpr Flag kFormatFlag = {
    "--format", "NAME", "take the source for this kind, instead of looking"};
inline constexpr Flag kAllowExternalFlag = {
    "--allow-external", "PREFIX",
    "external blobs may lie under this path or URL", true};
inline constexpr Flag kCacheDirFlag = {
    "--cache-dir", "DIR", "keep indexes here ($XDG_CACHE_HOME/rowfs)"};
inline constexpr Flag kMemoryFlag = {"--memory", "BYTES",
                                     "limit of all caches in memory"};
inline constexpr Flag kOfflineFlag = {
    "--offline", "", "no network: serve what the cache holds, name the rest"};
inline constexpr Flag kTraceFlag = {
    "--trace", "FILE",
    "add a line of JSON to FILE for each request and cached read"};
inline constexpr Flag kCaFileFlag = {
    "--ca-file", "PEM", "trust these roots for TLS, not the system's"};
inline constexpr Flag kHedgeFlag = {
    "--hedge", "MS", "ask a second time when an answer takes so long (off)"};
inline constexpr Flag kInProcessFlag = {
    "--in-process", "",
    "run plugins in this process: faster start, no cage; trusted data only"};
inline constexpr Flag kJsonFlag = {"--json", "", "print JSON, for programs"};

class Session {
 public:
  // Reads the options above from `args`; no I/O but to open the trace. `format`
  // is what --format says about the source; empty: look. `log` may be null and
  // outlives the session.
  static Result<std::unique_ptr<Session>> Make(const Args& args,
                                               const std::string& format,
                                               Logger* log = nullptr);

  StoreRegistry& stores() { return *stores_; }
  ReadStats& stats() { return stats_; }
  uint64_t memory_bytes() const { return memory_bytes_; }
  // Held by the caches of bytes and on its way ahead of readers.
  uint64_t cached_bytes() const;
  const std::string& cache_directory() const { return cache_directory_; }
  std::span<const TableFormat> formats() const { return formats_; }

  OpenContext MakeOpenContext();
  Result<std::shared_ptr<Dataset>> OpenDataset(std::string_view source);
  // The plugins, found at the first call. `extra_paths`: more shared objects.
  Result<PluginRegistry*> Plugins(
      const std::vector<std::string>& extra_paths = {});

 private:
  Session() = default;

  // Stores by --ca-file, --offline and --hedge, behind the caches above.
  Status MakeStores(const Args& args);

  ReadStats stats_;
  uint64_t memory_bytes_ = 0;
  std::string cache_directory_;
  std::string format_;
  std::vector<std::string> allow_external_;
  bool in_process_ = false;
  Logger* log_ = nullptr;
  RealClock clock_;
  std::unique_ptr<ReadTrace> trace_;
  std::unique_ptr<DiskCache> disk_cache_;
  std::unique_ptr<MetaKeeper> metas_;
  std::unique_ptr<BlockCache> cache_;
  std::unique_ptr<FetchQueue> queue_;
  ReadaheadBudget ahead_;
  std::unique_ptr<StoreRegistry> stores_;
  std::unique_ptr<ThreadPool> pool_;
  std::vector<TableFormat> formats_;
  std::unique_ptr<PluginRegistry> plugins_;
};

// The column named `name`: kNotFound lists those there are.
Result<size_t> FindColumn(const Dataset& dataset, const std::string& name);

}  // namespace rowfs
#endif  // ROWFS_FS_CLI_SESSION_H_
