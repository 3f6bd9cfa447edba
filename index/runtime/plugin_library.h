// A plugin's shared object, loaded into this process and checked: the only
// place that knows dlopen. It stays loaded until the process ends, since media
// libraries do not survive being unloaded.
//
// Immutable after Open; thread-safe as far as the plugin is (PluginHost takes
// care of that).
#ifndef ROWFS_INDEX_RUNTIME_PLUGIN_LIBRARY_H_
#define ROWFS_INDEX_RUNTIME_PLUGIN_LIBRARY_H_

#include <array>
#include <memory>
#include <string>

#include "index/abi/rowfs_plugin.h"
#include "storage/base/status.h"

namespace rowfs {

class PluginLibrary {
 public:
  // Load `path`. kNotFound when there is no such file, kUnsupported when it is
  // no plugin or one of another ABI version, kInternal when it describes itself
  // in an impossible way.
  static Result<std::unique_ptr<PluginLibrary>> Open(const std::string& path);

  const rowfs_plugin& api() const { return *api_; }
  const std::string& name() const { return name_; }
  const std::string& version() const { return version_; }
  std::array<char, 4> magic() const;

 private:
  PluginLibrary() = default;

  const rowfs_plugin* api_ = nullptr;
  std::string name_;
  std::string version_;
};

}  // namespace rowfs
#endif  // ROWFS_INDEX_RUNTIME_PLUGIN_LIBRARY_H_
