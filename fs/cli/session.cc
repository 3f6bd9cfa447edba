#include "fs/cli/session.h"

#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>

#include "fs/cli/references.h"
#include "index/catalog/catalog_file.h"
#include "storage/folder/folder_source.h"
#include "storage/lance/dataset.h"
#include "storage/pack/pack_source.h"
#include "storage/read/cached_store.h"
#if ROWFS_WITH_PARQUET
#include "storage/parquet/table_folder.h"
#endif

namespace rowfs {
namespace {

constexpr size_t kReadThreads = 16;
constexpr uint64_t kMemoryBytesMax = uint64_t{1} << 30;
// Remote bytes kept on disk between runs, all processes together.
constexpr uint64_t kDiskBytesMax = uint64_t{10} << 30;
constexpr uint64_t kHedgeMsMax = 3'600'000;

// The smallest limit of the groups that `folder` lies in, up to `root`.
void LowerToGroup(std::string folder, const std::string& root, const char* name,
                  uint64_t* limit) {
  for (;;) {
    uint64_t value = 0;
    if (std::ifstream(folder + "/" + name) >> value && value > 0) {
      *limit = std::min(*limit, value);
    }
    if (folder.size() <= root.size()) return;
    folder.resize(std::max(folder.rfind('/'), root.size()));
  }
}

// The memory this process may use: the limits of its control group and of
// those around it (either hierarchy), else the machine's.
uint64_t MemoryLimit() {
  const auto pages = static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES));
  uint64_t limit = pages * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  std::ifstream groups("/proc/self/cgroup");
  // "0::/a/b" for the unified hierarchy, "4:memory:/a/b" for the old one.
  for (std::string line; std::getline(groups, line);) {
    const size_t first = line.find(':');
    const size_t second = line.find(':', first + 1);
    if (first == line.npos || second == line.npos) continue;
    const std::string kinds = line.substr(first + 1, second - first - 1);
    const std::string path = line.substr(second + 1);
    if (kinds.empty()) {
      for (const std::string root :
           {"/sys/fs/cgroup", "/sys/fs/cgroup/unified"}) {
        LowerToGroup(root + path, root, "memory.max", &limit);
      }
    } else if (("," + kinds + ",").find(",memory,") != kinds.npos) {
      const std::string root = "/sys/fs/cgroup/memory";
      LowerToGroup(root + path, root, "memory.limit_in_bytes", &limit);
    }
  }
  return limit;
}

// What is freed goes back to the system where memory is short: dozens of
// threads that read megabytes would each keep some, far above what the caches
// may hold. Reads of files, 128 KiB, stay below the sizes that are mapped anew
// each time, which costs a third of a long read.
void LimitHeap(uint64_t memory_bytes) {
  constexpr uint64_t kShortBytes = 512 << 20;
  if (memory_bytes >= kShortBytes) return;
  mallopt(M_ARENA_MAX, 2);
  mallopt(M_MMAP_THRESHOLD, 256 << 10);
  mallopt(M_TRIM_THRESHOLD, 256 << 10);
}

}  // namespace

Result<std::unique_ptr<Session>> Session::Make(const Args& args,
                                               const std::string& format,
                                               Logger* log) {
  auto session = std::unique_ptr<Session>(new Session());
  session->log_ = log;
  ROWFS_ASSIGN_OR_RETURN(const auto memory, args.GetUint("--memory"));
  session->memory_bytes_ =
      memory.value_or(std::min(MemoryLimit() / 4, kMemoryBytesMax));
  LimitHeap(session->memory_bytes_);
  session->cache_directory_ = CatalogDirectory(args.Get("--cache-dir"));
  session->format_ = format;
  session->allow_external_ = args.GetAll("--allow-external");
  session->in_process_ = args.Has("--in-process");
  if (args.Has("--trace")) {
    ROWFS_ASSIGN_OR_RETURN(
        session->trace_, ReadTrace::Open(args.Get("--trace"), session->clock_));
  }
  if (!session->cache_directory_.empty()) {
    session->disk_cache_ = std::make_unique<DiskCache>(
        session->cache_directory_ + "/blocks", kDiskBytesMax, session->clock_);
    session->metas_ = std::make_unique<MetaKeeper>(*session->disk_cache_);
  }
  // Half of the memory for bytes as they are stored, a quarter for rendered
  // files, an eighth for what is on its way ahead of readers.
  session->cache_ = std::make_unique<BlockCache>(session->memory_bytes_ / 2,
                                                 session->disk_cache_.get());
  session->ahead_.bytes_max = session->memory_bytes_ / 8;
  // Readers of the members of one pack are readers of one object.
  FetchLimits limits;
  limits.per_object = limits.per_store;
  session->queue_ = std::make_unique<FetchQueue>(limits, session->clock_);
  ROWFS_RETURN_IF_ERROR(session->MakeStores(args));
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

Status Session::MakeStores(const Args& args) {
  StoreOptions options;
  options.ca_file = args.Get("--ca-file");
  options.offline = args.Has("--offline");
  ROWFS_ASSIGN_OR_RETURN(const auto hedge, args.GetUint("--hedge"));
  options.hedge_after_ms =
      static_cast<int64_t>(std::min(hedge.value_or(0), kHedgeMsMax));
  if (!options.ca_file.empty() && access(options.ca_file.c_str(), R_OK) != 0) {
    return {Code::kInvalidArgument,
            options.ca_file + ": --ca-file cannot be read"};
  }
  const CachedStore::Options cached = {.disk = disk_cache_.get(),
                                       .stats = &stats_,
                                       .trace = trace_.get(),
                                       .clock = &clock_,
                                       .offline = options.offline};
  options.wrap = [cached](std::shared_ptr<ObjectStore> store) {
    return std::make_shared<CachedStore>(std::move(store), cached);
  };
  stores_ = MakeStoreRegistry(std::move(options));
  return {};
}

uint64_t Session::cached_bytes() const {
  return cache_->bytes() + ahead_.in_use;
}

OpenContext Session::MakeOpenContext() {
  OpenContext context;
  context.stores = stores_.get();
  context.read.stats = &stats_;
  context.read.cache = cache_.get();
  context.read.pool = pool_.get();
  context.read.queue = queue_.get();
  context.read.metas = metas_.get();
  context.read.ahead = &ahead_;
  context.read.trace = trace_.get();
  context.read.log = log_;
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
