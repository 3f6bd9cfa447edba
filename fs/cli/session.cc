#include "fs/cli/session.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>

#include "fs/cli/references.h"
#include "storage/folder/folder_source.h"
#include "storage/lance/dataset.h"
#include "storage/pack/pack_source.h"
#if ROWFS_WITH_PARQUET
#include "storage/parquet/table_folder.h"
#endif

namespace rowfs {
namespace {

constexpr size_t kReadThreads = 16;
constexpr uint64_t kMemoryBytesMax = uint64_t{1} << 30;
// Remote bytes kept on disk between runs, all processes together.
constexpr uint64_t kDiskBytesMax = uint64_t{10} << 30;

// NOLINTNEXTLINE(concurrency-mt-unsafe): before any thread starts.
std::string Environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// The memory this process may use: the control group's limit, else the
// machine's.
uint64_t MemoryLimit() {
  const auto pages = static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES));
  uint64_t limit = pages * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  for (const char* path : {"/sys/fs/cgroup/memory.max",
                           "/sys/fs/cgroup/memory/memory.limit_in_bytes"}) {
    uint64_t value = 0;
    if (std::ifstream(path) >> value && value > 0) {
      limit = std::min(limit, value);
    }
  }
  return limit;
}

std::string DefaultCacheDirectory() {
  const std::string xdg = Environment("XDG_CACHE_HOME");
  if (xdg.starts_with('/')) return xdg + "/rowfs";
  const std::string home = Environment("HOME");
  return home.empty() ? "" : home + "/.cache/rowfs";
}

}  // namespace

Result<std::unique_ptr<Session>> Session::Make(const Args& args,
                                               const std::string& format) {
  auto session = std::unique_ptr<Session>(new Session());
  ROWFS_ASSIGN_OR_RETURN(const auto memory, args.GetUint("--memory"));
  session->memory_bytes_ =
      memory.value_or(std::min(MemoryLimit() / 4, kMemoryBytesMax));
  session->cache_directory_ = args.Has("--cache-dir") ? args.Get("--cache-dir")
                                                      : DefaultCacheDirectory();
  session->format_ = format;
  session->allow_external_ = args.GetAll("--allow-external");
  session->in_process_ = args.Has("--in-process");
  session->stores_ = MakeStoreRegistry();
  if (!session->cache_directory_.empty()) {
    session->disk_cache_ = std::make_unique<DiskCache>(
        session->cache_directory_ + "/blocks", kDiskBytesMax, session->clock_);
  }
  session->cache_ = std::make_unique<BlockCache>(session->memory_bytes_ / 2,
                                                 session->disk_cache_.get());
  session->pool_ = std::make_unique<ThreadPool>(kReadThreads, 256);
  session->formats_ = {WithPackReferences(LanceFormat())};
#if ROWFS_WITH_PARQUET
  session->formats_.push_back(WithPackReferences(ParquetFormat()));
  session->formats_.push_back(WithPackReferences(ArrowFormat()));
#endif
  session->formats_.push_back(TableInFolder(LanceFormat()));
  for (TableFormat& packs : PackFormats()) {
    session->formats_.push_back(std::move(packs));
  }
#if ROWFS_WITH_PARQUET
  const TableFormat parquet = ParquetFormat();
  session->formats_.push_back(FolderFormat(&parquet));
#else
  session->formats_.push_back(FolderFormat());
#endif
  return session;
}

OpenContext Session::MakeOpenContext() {
  OpenContext context;
  context.stores = stores_.get();
  context.read.stats = &stats_;
  context.read.cache = cache_.get();
  context.read.pool = pool_.get();
  context.allow_external = allow_external_;
  context.cache_directory = cache_directory_;
  return context;
}

Result<std::shared_ptr<Dataset>> Session::OpenDataset(std::string_view source) {
  DatasetOptions options;
  options.format = format_;
  return Dataset::Open(source, formats_, MakeOpenContext(), options);
}

Result<PluginRegistry*> Session::Plugins(
    const std::vector<std::string>& extra_paths) {
  if (!plugins_) {
    PluginOptions options;
    options.extra_paths = extra_paths;
    options.in_process = in_process_;
    ROWFS_ASSIGN_OR_RETURN(plugins_, OpenPlugins(options));
  }
  return plugins_.get();
}

Result<size_t> FindColumn(const Dataset& dataset, const std::string& name) {
  if (const auto column = dataset.FindColumn(name)) return *column;
  std::string names;
  for (const Column& column : dataset.columns()) {
    if (column.role != ColumnRole::kIndex) names += " " + column.name;
  }
  return Status(Code::kNotFound, dataset.source() + ": there is no column \"" +
                                     name + "\"; there are:" + names);
}

}  // namespace rowfs
