#include "index/runtime/plugin_registry.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <system_error>

#include "index/runtime/plugin_host.h"
#include "storage/base/hash.h"

namespace rowfs {
namespace {

namespace fs = std::filesystem;

using PluginVector = std::vector<std::unique_ptr<Plugin>>;

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

}  // namespace

std::vector<std::string> PluginList::Names() const {
  std::vector<std::string> names;
  for (const auto& plugin : plugins_) names.push_back(plugin->name());
  return names;
}

Plugin* PluginList::FindByName(std::string_view name) {
  for (const auto& plugin : plugins_) {
    if (plugin->name() == name) return plugin.get();
  }
  return nullptr;
}

Plugin* PluginList::FindByMagic(ByteSpan stream_info) {
  for (const auto& plugin : plugins_) {
    const std::array<char, 4> magic = plugin->magic();
    if (AsText(stream_info).starts_with({magic.data(), magic.size()})) {
      return plugin.get();
    }
  }
  return nullptr;
}

Result<Plugin*> PluginList::FindByContent(ByteSpan head,
                                          std::string_view file_name) {
  Plugin* best = nullptr;
  int best_sure = 0;
  Status error;
  for (const auto& plugin : plugins_) {
    const Result<int> sure = plugin->Probe(head, file_name);
    if (!sure.ok()) {
      // One that dies on these bytes does not hide one that knows them.
      error = sure.status();
    } else if (sure.value() > best_sure) {
      best = plugin.get();
      best_sure = sure.value();
    }
  }
  if (best == nullptr && !error.ok()) return error;
  return best;
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
  if (!options.in_process) {
    return Status(Code::kUnsupported, "plugins run only in process so far");
  }
  PluginVector plugins;
  std::vector<std::string> problems;
  // What the user names comes first and must work; what is merely there may be
  // unusable (a library is missing) without taking the others away.
  const auto add = [&](const std::string& path) -> Status {
    ROWFS_ASSIGN_OR_RETURN(auto plugin, OpenInProcess(path));
    ROWFS_RETURN_IF_ERROR(CheckUnique(plugins, *plugin));
    plugins.push_back(std::move(plugin));
    return Status();
  };
  for (const std::string& path : options.extra_paths) {
    ROWFS_RETURN_IF_ERROR(add(path));
  }
  for (const auto& path : FindPluginFiles(PluginFolders(options.directory))) {
    const Status status = add(path);
    if (!status.ok()) problems.emplace_back(status.message());
  }
  return std::unique_ptr<PluginRegistry>(
      std::make_unique<PluginList>(std::move(plugins), std::move(problems)));
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
