#include "index/runtime/plugin_registry.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <system_error>

#include "index/runtime/plugin_host.h"
#include "index/runtime/plugin_worker.h"
#include "storage/base/clock.h"
#include "storage/base/hash.h"

namespace rowfs {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kWorkerName = "rowfs-worker";

// The first of two plugins with one name, or one magic, wins.
Status CheckUnique(const PluginVector& plugins, const Plugin& added) {
  for (const auto& plugin : plugins) {
    if (plugin->name() == added.name() || plugin->magic() == added.magic()) {
      return Status(Code::kAlreadyExists,
                    "plugin " + added.name() +
                        " has the name or the magic of plugin " +
                        plugin->name() + "; leave one of them out");
    }
  }
  return Status();
}

Result<std::unique_ptr<Plugin>> OpenInProcess(const std::string& path) {
  ROWFS_ASSIGN_OR_RETURN(auto library, PluginLibrary::Open(path));
  auto host = std::make_unique<PluginHost>(std::move(library));
  ROWFS_RETURN_IF_ERROR(host->WarmUp());
  return std::unique_ptr<Plugin>(std::move(host));
}

// Opens plugins as the options say. Workers are started all at once and then
// asked one after the other.
class PluginOpener {
 public:
  PluginOpener(const PluginOptions& options, std::string worker_program)
      : in_process_(options.in_process),
        workers_max_(options.workers_max != 0 ? options.workers_max
                                              : ProcessorCount()) {
    settings_.program = std::move(worker_program);
    settings_.memory_bytes_max = options.memory_bytes_max;
    settings_.deadline_ms = options.deadline_ms;
    settings_.ingest_stall_ms = options.ingest_stall_ms;
  }

  // One result per path.
  std::vector<Result<std::unique_ptr<Plugin>>> Open(
      const std::vector<std::string>& paths) {
    std::vector<Result<std::unique_ptr<Plugin>>> opened;
    if (in_process_) {
      for (const auto& path : paths) opened.push_back(OpenInProcess(path));
      return opened;
    }
    std::vector<Result<std::unique_ptr<PluginWorker>>> started;
    for (const std::string& path : paths) {
      settings_.plugin = fs::absolute(path).string();
      started.push_back(
          PluginWorker::Start(starter_, settings_, workers_max_, &clock_));
    }
    for (auto& worker : started) {
      Status status = worker.status();
      if (status.ok()) status = worker.value()->Describe();
      if (status.ok()) {
        opened.emplace_back(std::move(worker).value());
      } else {
        opened.emplace_back(status);
      }
    }
    return opened;
  }

 private:
  static size_t ProcessorCount() {
    return static_cast<size_t>(std::max(1L, sysconf(_SC_NPROCESSORS_ONLN)));
  }

  const bool in_process_;
  const size_t workers_max_;
  WorkerSettings settings_;
  RealClock clock_;
  std::shared_ptr<WorkerStarter> starter_ = std::make_shared<WorkerStarter>();
};

// Moves what is usable over; what is not becomes a problem.
void Sort(std::vector<Result<std::unique_ptr<Plugin>>> opened,
          LazyRegistry::Loaded* out) {
  for (auto& plugin : opened) {
    Status status = plugin.status();
    if (status.ok()) status = CheckUnique(out->plugins, *plugin.value());
    if (status.ok()) {
      out->plugins.push_back(std::move(plugin).value());
    } else {
      out->problems.emplace_back(status.message());
    }
  }
}

Result<std::string> FindWorker(const std::vector<std::string>& folders) {
  for (const std::string& folder : folders) {
    const fs::path path = fs::path(folder) / kWorkerName;
    if (access(path.c_str(), X_OK) == 0) return path.string();
  }
  std::string places;
  for (const std::string& folder : folders) places += " " + folder;
  return Status(Code::kNotFound, "there is no rowfs-worker in" + places +
                                     "; install it there, or use --in-process "
                                     "for data you trust");
}

}  // namespace

const LazyRegistry::Loaded& LazyRegistry::Get() const {
  {
    MutexLock lock(mu_);
    while (loading_) loaded_.Wait(mu_);
    if (all_ != nullptr) return *all_;
    loading_ = true;
  }
  auto all = std::make_unique<const Loaded>(load_());
  MutexLock lock(mu_);
  all_ = std::move(all);
  loading_ = false;
  loaded_.NotifyAll();
  return *all_;
}

std::vector<std::string> LazyRegistry::Names() const {
  std::vector<std::string> names;
  for (const auto& plugin : Get().plugins) names.push_back(plugin->name());
  return names;
}

std::vector<std::string> LazyRegistry::Problems() const {
  return Get().problems;
}

Plugin* LazyRegistry::FindByName(std::string_view name) {
  for (const auto& plugin : Get().plugins) {
    if (plugin->name() == name) return plugin.get();
  }
  return nullptr;
}

Plugin* LazyRegistry::FindByMagic(ByteSpan stream_info) {
  for (const auto& plugin : Get().plugins) {
    const std::array<char, 4> magic = plugin->magic();
    if (AsText(stream_info).starts_with({magic.data(), magic.size()})) {
      return plugin.get();
    }
  }
  return nullptr;
}

Result<std::vector<Plugin*>> LazyRegistry::RankByContent(
    ByteSpan head, std::string_view file_name) {
  std::multimap<int, Plugin*, std::greater<>> ranks;
  Status error;
  for (const auto& plugin : Get().plugins) {
    const Result<int> sure = plugin->Probe(head, file_name);
    if (!sure.ok()) {
      // One that dies on these bytes does not hide one that knows them.
      error = sure.status();
    } else if (sure.value() > 0) {
      ranks.emplace(sure.value(), plugin.get());
    }
  }
  if (ranks.empty() && !error.ok()) return error;
  std::vector<Plugin*> plugins;
  for (const auto& [sure, plugin] : ranks) plugins.push_back(plugin);
  return plugins;
}

std::vector<ViewEntry> LazyRegistry::ForeseeViews(std::string_view extension) {
  {
    const MutexLock lock(mu_);
    const auto known = foreseen_.find(extension);
    if (known != foreseen_.end()) return known->second;
  }
  std::vector<ViewEntry> views;
  for (const auto& plugin : Get().plugins) {
    auto seen = plugin->Foresee("blob." + std::string(extension));
    // One that fails here is asked again when the bytes are there.
    if (!seen.ok() || seen.value().empty()) continue;
    views = std::move(seen).value();
    break;
  }
  const MutexLock lock(mu_);
  if (foreseen_.size() < kForeseenExtensionsMax) {
    foreseen_.emplace(extension, views);
  }
  return views;
}

std::vector<std::string> PluginFolders(const std::string& directory) {
  if (!directory.empty()) return {directory};
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  if (error) return {};
  const fs::path beside = program.parent_path();
  return {beside.string(),
          (beside.parent_path() / "lib" / "rowfs").lexically_normal().string()};
}

std::vector<std::string> FindPluginFiles(
    const std::vector<std::string>& folders) {
  std::map<std::string, std::string> by_name;
  for (const std::string& folder : folders) {
    std::error_code error;
    for (fs::directory_iterator it(folder, error), end; !error && it != end;
         it.increment(error)) {
      const std::string name = it->path().filename().string();
      if (name.starts_with("rowfs_") && name.ends_with(".so")) {
        by_name.emplace(name, it->path().string());
      }
    }
  }
  std::vector<std::string> files;
  for (const auto& [name, path] : by_name) files.push_back(path);
  return files;
}

Result<std::unique_ptr<PluginRegistry>> OpenPlugins(
    const PluginOptions& options) {
  const auto folders = PluginFolders(options.directory);
  const auto files = FindPluginFiles(folders);
  std::string worker;
  const bool any = !files.empty() || !options.extra_paths.empty();
  if (!options.in_process && any) {
    ROWFS_ASSIGN_OR_RETURN(worker, FindWorker(folders));
  }
  auto opener = std::make_shared<PluginOpener>(options, worker);
  // What the user names must work, now; what is merely there may be unusable (a
  // library is missing) without taking the others away.
  auto named = std::make_shared<LazyRegistry::Loaded>();
  for (auto& plugin : opener->Open(options.extra_paths)) {
    ROWFS_RETURN_IF_ERROR(plugin.status());
    ROWFS_RETURN_IF_ERROR(CheckUnique(named->plugins, *plugin.value()));
    named->plugins.push_back(std::move(plugin).value());
  }
  const auto load = [opener, named, files] {
    LazyRegistry::Loaded all = std::move(*named);
    Sort(opener->Open(files), &all);
    return all;
  };
  return std::unique_ptr<PluginRegistry>(std::make_unique<LazyRegistry>(load));
}

PluginIndex MakePluginIndex(const Plugin& plugin, SharedBytes stream_info,
                            SharedBytes entries, uint64_t blob_size,
                            std::string_view config) {
  // Lengths go in too, so that no two splits of the same bytes are equal.
  Bytes head;
  AppendText(&head, plugin.name());
  AppendU8(&head, 0);
  AppendText(&head, plugin.version());
  AppendU8(&head, 0);
  AppendText(&head, config);
  AppendU8(&head, 0);
  AppendU64(&head, blob_size);
  AppendU64(&head, stream_info ? stream_info->size() : 0);
  AppendU64(&head, entries ? entries->size() : UINT64_MAX);
  uint64_t key = Hash64(head);
  if (stream_info) key = Hash64(*stream_info, key);
  if (entries) key = Hash64(*entries, key);
  PluginIndex index;
  index.key = key;
  index.stream_info = std::move(stream_info);
  index.entries = std::move(entries);
  index.blob_size = blob_size;
  index.config = config;
  return index;
}

}  // namespace rowfs
