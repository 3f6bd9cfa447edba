#include "fs/cli/tree_session.h"

#include <sys/stat.h>

#include <algorithm>
#include <optional>

#include "fs/cli/progress.h"
#include "fs/cli/row_list.h"
#include "fs/tree/row_contents.h"

namespace rowfs {
namespace {

// Shorter tars are looked through before anyone can ask.
constexpr uint64_t kEarlyBytesMin = 64 << 20;
constexpr uint64_t kEarlyRemoteBytesMin = 8 << 20;

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
  const size_t colon = source_.find("://");
  const std::string store =
      colon == source_.npos ? "file" : source_.substr(0, colon);
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
  if (early_ != nullptr) {
    const EarlyRows::Found found = early_->found();
    add("rowfs_index_rows", "gauge", "", std::to_string(found.rows));
    add("rowfs_index_bytes", "gauge", "{state=\"done\"}",
        std::to_string(found.bytes));
    add("rowfs_index_bytes", "gauge", "{state=\"all\"}",
        std::to_string(found.bytes_total));
  }
  if (!whole_) return text;
  add("rowfs_decode_seconds_total", "counter", "",
      std::to_string(static_cast<double>(renderer_->decode_ns()) / 1e9));
  add("rowfs_memory_bytes", "gauge", "",
      std::to_string(renderer_->cached_bytes() + session_->cached_bytes()));
  return text;
}

Result<std::unique_ptr<TreeSession>> TreeSession::Open(const Args& args,
                                                       Logger* log, Env* env,
                                                       Begin begin) {
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
  options.stats_text = [raw = self.get()] { return raw->StatsText(); };
  self->log_ = log;
  if (begin == Begin::kEarly && self->BeginEarly(args, options)) return self;

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
  self->source_ = self->dataset_->source();
  ROWFS_ASSIGN_OR_RETURN(self->tree_, self->MakeTree(args, std::move(options)));
  self->whole_ = true;
  return self;
}

TreeSession::~TreeSession() { Stop(); }

// Whether it was: options that are about the whole table, and whatever is no
// such tar, are for the usual way.
bool TreeSession::BeginEarly(const Args& args, const TreeOptions& options) {
  const std::string format = args.Get("--format");
  for (const std::string_view flag :
       {"--name-column", "--view", "--follow", "--exact-stat", "--index"}) {
    if (args.Has(flag)) return false;
  }
  if (!format.empty() && format != "webdataset") return false;
  const auto location = session_->stores().Resolve(args.operands[0]);
  if (!location.ok()) return false;
  const bool remote = location.value().store->capabilities().remote;
  early_ = EarlyTar::Begin(location.value(), session_->MakeOpenContext(),
                           remote ? kEarlyRemoteBytesMin : kEarlyBytesMin);
  if (early_ == nullptr) return false;
  source_ = location.value().uri();
  TreeOptions both = options;  // of the early tree and of the whole one
  both.mtime_ns = TimeOf(source_);
  if (both.mtime_ns == 0) both.mtime_ns = RealClock().NowNs();
  tree_ = Tree::MakeEarly(early_, both);
  opener_ = std::make_unique<ThreadPool>(1, 1);
  opener_->Submit([this, args, both] { FinishEarly(args, both); });
  return true;
}

void TreeSession::FinishEarly(const Args& args, TreeOptions options) {
  const auto finish = [&]() -> Result<std::unique_ptr<Tree>> {
    ROWFS_ASSIGN_OR_RETURN(auto table, early_->Finish());
    ROWFS_ASSIGN_OR_RETURN(
        dataset_, Dataset::Make(source_, std::move(table), DatasetOptions()));
    tree_->KeepNames(&options);
    return MakeTree(args, std::move(options));
  };
  Result<std::unique_ptr<Tree>> tree = finish();
  if (log_ != nullptr) {
    if (tree.ok()) {
      log_->Log(LogLevel::kInfo, "index",
                "looked through " + source_ + ": " +
                    std::to_string(dataset_->row_count()) + " rows");
    } else {
      log_->Log(LogLevel::kError, "index", tree.status().message());
    }
  }
  whole_ = tree.ok();
  tree_->Complete(std::move(tree));
}

Result<std::unique_ptr<Tree>> TreeSession::MakeTree(const Args& args,
                                                    TreeOptions options) {
  Session& session = *session_;
  ROWFS_ASSIGN_OR_RETURN(PluginRegistry * plugins, session.Plugins());
  const std::string base = SplitVersion(dataset_->source()).first;
  if (options.mtime_ns == 0) options.mtime_ns = TimeOf(base);
  // No other format keeps its versions.
  if (dataset_->table().format() == "lance") {
    options.open_version = [&session, base](uint64_t version) {
      return session.OpenDataset(base + "@v" + std::to_string(version));
    };
  }
  // The kernel was told already that files are opened.
  options.stored_only = early_ == nullptr && !options.open_version &&
                        HoldsStoredFilesOnly(*dataset_);
  catalogs_ = OpenCatalogs(session, *dataset_, args.Get("--index"));
  const Catalogs& catalogs = catalogs_;
  sizes_ = std::make_unique<CatalogSizes>(catalogs);
  values_ = std::make_unique<CatalogValues>(dataset_, catalogs);
  options.values = values_.get();
  if (!options.name_column.empty()) {
    names_ = CatalogNames::Find(*dataset_, options.name_column, catalogs);
    options.names = names_.get();
  }
  indexer_ = std::make_unique<CatalogIndexer>(catalogs, *plugins);
  options.indexer = indexer_.get();
  // Indexing reads a file from end to end: not what a walk through all folders
  // may cost on a network.
  options.list_unindexed = dataset_->source().find("://") == base.npos;
  ahead_pool_ = std::make_unique<ThreadPool>(kAheadThreads, 8);
  prefetch_pool_ = std::make_unique<ThreadPool>(kPrefetchThreads, 10'000);
  options.prefetch_pool = prefetch_pool_.get();
  RenderLimits limits;
  limits.cache_bytes_max = session.memory_bytes() / 4;
  renderer_ =
      std::make_unique<Renderer>(limits, ahead_pool_.get(), sizes_.get());
  return Tree::Make(dataset_, *plugins, *renderer_, std::move(options));
}

}  // namespace rowfs
