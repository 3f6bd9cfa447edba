// The registry over plugins that are loaded at the first question, and where
// plugins are found.
//
// Thread-safe, as far as the plugins are.
#ifndef ROWFS_INDEX_RUNTIME_PLUGIN_REGISTRY_H_
#define ROWFS_INDEX_RUNTIME_PLUGIN_REGISTRY_H_

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "index/runtime/plugin.h"
#include "storage/base/sync.h"

namespace rowfs {

using PluginVector = std::vector<std::unique_ptr<Plugin>>;

class LazyRegistry final : public PluginRegistry {
 public:
  struct Loaded {
    PluginVector plugins;
    std::vector<std::string> problems;
  };

  // `load` is called once, at the first question, since loading media libraries
  // takes a tenth of a second that a mount without media need not spend.
  explicit LazyRegistry(std::function<Loaded()> load)
      : load_(std::move(load)) {}

  std::vector<std::string> Names() const override;
  Plugin* FindByName(std::string_view name) override;
  Plugin* FindByMagic(ByteSpan stream_info) override;
  Result<std::vector<Plugin*>> RankByContent(
      ByteSpan head, std::string_view file_name) override;
  std::vector<ViewEntry> ForeseeViews(std::string_view extension) override
      EXCLUDES(mu_);
  std::vector<std::string> Problems() const override;

 private:
  // Extensions come from file names, which may be anything.
  static constexpr size_t kForeseenExtensionsMax = 1000;

  // Loads them, or waits until another thread has.
  const Loaded& Get() const EXCLUDES(mu_);

  const std::function<Loaded()> load_;
  mutable Mutex mu_;
  mutable CondVar loaded_;
  mutable bool loading_ GUARDED_BY(mu_) = false;
  mutable std::unique_ptr<const Loaded> all_ GUARDED_BY(mu_);
  std::map<std::string, std::vector<ViewEntry>, std::less<>> foreseen_
      GUARDED_BY(mu_);
};

// Folders to look in, in order: `directory`, or beside the running program and
// then ../lib/rowfs.
std::vector<std::string> PluginFolders(const std::string& directory);

// Every rowfs_*.so of `folders`, sorted by file name; of two with the same name
// the one in the earlier folder.
std::vector<std::string> FindPluginFiles(
    const std::vector<std::string>& folders);

}  // namespace rowfs
#endif  // ROWFS_INDEX_RUNTIME_PLUGIN_REGISTRY_H_
