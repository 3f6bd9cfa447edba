#include "index/runtime/plugin_library.h"

#include <dlfcn.h>
#include <unistd.h>

#include <cstring>

#include "index/runtime/plugin_checks.h"

namespace rowfs {
namespace {

// The size of rowfs_plugin in version 1; later fields are optional.
constexpr uint32_t kPluginSizeMin =
    offsetof(rowfs_plugin, decode) + sizeof(rowfs_plugin::decode);

Status CheckApi(const rowfs_plugin* api) {
  if (api == nullptr) {
    return Status(Code::kUnsupported, "plugin entry gives nothing");
  }
  if (api->abi_version != ROWFS_PLUGIN_ABI_VERSION) {
    return Status(Code::kUnsupported,
                  "plugin has ABI version " + std::to_string(api->abi_version) +
                      ", this program speaks " +
                      std::to_string(ROWFS_PLUGIN_ABI_VERSION) +
                      "; rebuild the plugin");
  }
  if (api->struct_size < kPluginSizeMin) {
    return Status(Code::kUnsupported,
                  "plugin's struct has " + std::to_string(api->struct_size) +
                      " bytes, at least " + std::to_string(kPluginSizeMin) +
                      " are needed; rebuild the plugin");
  }
  if (api->name == nullptr || api->version == nullptr ||
      api->probe == nullptr || api->ingest == nullptr || api->open == nullptr ||
      api->close == nullptr || api->list == nullptr || api->lookup == nullptr ||
      api->plan == nullptr || api->decode == nullptr) {
    return Status(Code::kUnsupported, "plugin lacks a required function");
  }
  return Status();
}

}  // namespace

Result<std::unique_ptr<PluginLibrary>> PluginLibrary::Open(
    const std::string& path) {
  if (access(path.c_str(), R_OK) != 0) {
    return Status(Code::kNotFound, path + ": no readable plugin is there");
  }
  // A name without a slash would be searched for in the library path.
  const std::string file =
      path.find('/') == std::string::npos ? "./" + path : path;
  void* handle = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (handle == nullptr) {
    const char* reason = dlerror();    // NOLINT(concurrency-mt-unsafe): glibc's
    return Status(Code::kUnsupported,  // is per thread
                  path + ": cannot load the plugin: " +
                      (reason != nullptr ? reason : "unknown reason"));
  }
  void* symbol = dlsym(handle, ROWFS_PLUGIN_ENTRY);
  if (symbol == nullptr) {
    return Status(Code::kUnsupported,
                  path + ": no plugin: it exports no " ROWFS_PLUGIN_ENTRY);
  }
  const auto entry = reinterpret_cast<rowfs_plugin_entry_fn>(symbol);
  std::unique_ptr<PluginLibrary> library(new PluginLibrary);
  library->api_ = entry();
  if (Status s = CheckApi(library->api_); !s.ok()) return s.With(path);
  library->name_ = library->api_->name;
  library->version_ = library->api_->version;
  const Status s = CheckDescription(library->name_, library->version_,
                                    {library->api_->magic, 4});
  if (!s.ok()) return s.With(path);
  return library;
}

std::array<char, 4> PluginLibrary::magic() const {
  std::array<char, 4> magic;
  std::memcpy(magic.data(), api_->magic, magic.size());
  return magic;
}

}  // namespace rowfs
