#include "fs/cli/tree_session.h"

#include <sys/stat.h>

#include <algorithm>
#include <optional>

#include "fs/cli/progress.h"
#include "fs/cli/row_list.h"
#include "fs/tree/row_contents.h"

namespace rowfs {
namespace {

constexpr size_t kAheadThreads = 2;
constexpr size_t kPrefetchThreads = 16;

// When a local source last changed, so that copies of two mounts of it are as
// old; 0 for others.
int64_t TimeOf(const std::string& source) {
  std::string path = source;
  if (path.starts_with("file://")) path.erase(0, 7);
  struct stat about = {};
  if (path.find("://") != path.npos || stat(path.c_str(), &about) != 0) {
    return 0;
  }
  return about.st_mtim.tv_sec * int64_t{1'000'000'000} + about.st_mtim.tv_nsec;
}

TreeOptions::Rows RowsLayoutOf(const std::string& text) {
  if (text == "flat") return TreeOptions::Rows::kFlat;
  if (text == "sharded") return TreeOptions::Rows::kSharded;
  return TreeOptions::Rows::kAuto;
}

// Sizes of metadata.jsonl of more rows are not found out for every `ls -l`.
constexpr uint64_t kStoredOnlyRowsMax = 250'000;

// Whether no folder of the mount lists files that have to be rendered: all
// blobs say that they have no views, or none that are listed.
bool HoldsStoredFilesOnly(const Dataset& dataset) {
  if (dataset.row_count() > kStoredOnlyRowsMax) return false;
  for (const Column& column : dataset.columns()) {
    if (column.role == ColumnRole::kTree) return false;
    const bool plain = std::ranges::any_of(
        column.metadata, [](const auto& e) { return e.first == kViewsKey; });
    if (column.role == ColumnRole::kBlob && !plain) return false;
  }
  return true;
}

Json MountConfig(const Args& args) {
  Json config = Json::Object();
  for (const std::string_view flag :
       {"--rows", "--frames", "--name-column", "--format", "--memory",
        "--exact-stat", "--cache-dir", "--trace", "--follow"}) {
    if (args.Has(flag))
      config.Add(flag.substr(2), Json::String(args.Get(flag)));
  }
  config.Add("in-process", Json::Bool(args.Has("--in-process")))
      .Add("offline", Json::Bool(args.Has("--offline")));
  return config;
}

}  // namespace

std::string TreeSession::StatsText() {
  std::string text;
  const auto add = [&](std::string_view name, std::string_view type,
                       std::string_view labels, const std::string& value) {
    const std::string head =
        "# TYPE " + std::string(name) + " " + std::string(type) + "\n";
    if (text.find(head) == text.npos) text += head;
    text += std::string(name) + std::string(labels) + " " + value + "\n";
  };
  ReadStats& stats = session_->stats();
  const std::string source = dataset_->source();
  const size_t colon = source.find("://");
  const std::string store =
      colon == source.npos ? "file" : source.substr(0, colon);
  const std::string data = "{store=\"" + store + "\",kind=\"data\"}";
  const std::string metadata = "{store=\"" + store + "\",kind=\"metadata\"}";
  add("rowfs_store_requests_total", "counter", data,
      std::to_string(stats.data.requests));
  add("rowfs_store_requests_total", "counter", metadata,
      std::to_string(stats.metadata.requests));
  add("rowfs_store_bytes_total", "counter", data,
      std::to_string(stats.data.bytes));
  add("rowfs_store_bytes_total", "counter", metadata,
      std::to_string(stats.metadata.bytes));
  add("rowfs_cache_hits_total", "counter", "",
      std::to_string(stats.cache_hits));
  add("rowfs_cache_misses_total", "counter", "",
      std::to_string(stats.cache_misses));
  add("rowfs_decode_seconds_total", "counter", "",
      std::to_string(static_cast<double>(renderer_->decode_ns()) / 1e9));
  add("rowfs_memory_bytes", "gauge", "",
      std::to_string(renderer_->cached_bytes() + session_->cached_bytes()));
  return text;
}

Result<std::unique_ptr<TreeSession>> TreeSession::Open(const Args& args,
                                                       Logger* log, Env* env) {
  auto self = std::unique_ptr<TreeSession>(new TreeSession());
  ROWFS_ASSIGN_OR_RETURN(self->session_,
                         Session::Make(args, args.Get("--format"), log));
  Session& session = *self->session_;
  TreeOptions options;
  options.rows = RowsLayoutOf(args.Get("--rows"));
  options.name_column = args.Get("--name-column");
  if (args.Has("--frames")) {
    options.plugin_config = "frames=" + args.Get("--frames");
  }
  options.exact_stat = args.Has("--exact-stat");
  options.log = log;
  options.config_json = WriteJson(MountConfig(args));

  {
    std::optional<OpeningProgress> opening;
    if (env != nullptr) opening.emplace(*env, log, session.stats());
    ROWFS_ASSIGN_OR_RETURN(self->dataset_,
                           session.OpenDataset(args.operands[0]));
  }
  for (const std::string& view : args.GetAll("--view")) {
    ROWFS_ASSIGN_OR_RETURN(options.views.emplace_back(),
                           ReadView(session.stores(), *self->dataset_, view));
  }
  ROWFS_ASSIGN_OR_RETURN(PluginRegistry * plugins, session.Plugins());
  const std::string base = SplitVersion(self->dataset_->source()).first;
  options.mtime_ns = TimeOf(base);
  // No other format keeps its versions.
  if (self->dataset_->table().format() == "lance") {
    options.open_version = [&session, base](uint64_t version) {
      return session.OpenDataset(base + "@v" + std::to_string(version));
    };
  }
  options.stored_only =
      !options.open_version && HoldsStoredFilesOnly(*self->dataset_);
  self->catalogs_ = OpenCatalogs(session, *self->dataset_, args.Get("--index"));
  const Catalogs& catalogs = self->catalogs_;
  self->sizes_ = std::make_unique<CatalogSizes>(catalogs);
  self->values_ = std::make_unique<CatalogValues>(self->dataset_, catalogs);
  options.values = self->values_.get();
  if (!options.name_column.empty()) {
    self->names_ =
        CatalogNames::Find(*self->dataset_, options.name_column, catalogs);
    options.names = self->names_.get();
  }
  self->indexer_ = std::make_unique<CatalogIndexer>(catalogs, *plugins);
  options.indexer = self->indexer_.get();
  // Indexing reads a file from end to end: not what a walk through all folders
  // may cost on a network.
  options.list_unindexed = self->dataset_->source().find("://") == base.npos;
  self->ahead_pool_ = std::make_unique<ThreadPool>(kAheadThreads, 8);
  self->prefetch_pool_ = std::make_unique<ThreadPool>(kPrefetchThreads, 10'000);
  options.prefetch_pool = self->prefetch_pool_.get();
  RenderLimits limits;
  limits.cache_bytes_max = session.memory_bytes() / 4;
  self->renderer_ = std::make_unique<Renderer>(limits, self->ahead_pool_.get(),
                                               self->sizes_.get());
  options.stats_text = [raw = self.get()] { return raw->StatsText(); };
  ROWFS_ASSIGN_OR_RETURN(self->tree_,
                         Tree::Make(self->dataset_, *plugins, *self->renderer_,
                                    std::move(options)));
  return self;
}

}  // namespace rowfs
