// The registry over a fixed list of plugins, and where plugins are found.
//
// PluginList is immutable after construction and as thread-safe as its plugins.
#ifndef ROWFS_INDEX_RUNTIME_PLUGIN_REGISTRY_H_
#define ROWFS_INDEX_RUNTIME_PLUGIN_REGISTRY_H_

#include <memory>
#include <string>
#include <vector>

#include "index/runtime/plugin.h"

namespace rowfs {

class PluginList final : public PluginRegistry {
 public:
  PluginList(std::vector<std::unique_ptr<Plugin>> plugins,
             std::vector<std::string> problems)
      : plugins_(std::move(plugins)), problems_(std::move(problems)) {}

  std::vector<std::string> Names() const override;
  Plugin* FindByName(std::string_view name) override;
  Plugin* FindByMagic(ByteSpan stream_info) override;
  Result<Plugin*> FindByContent(ByteSpan head,
                                std::string_view file_name) override;
  std::vector<std::string> Problems() const override { return problems_; }

 private:
  const std::vector<std::unique_ptr<Plugin>> plugins_;
  const std::vector<std::string> problems_;
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
