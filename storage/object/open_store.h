// From a URL or path to a Location: the only place that knows which store
// serves which scheme and in which order wrappers stand around it.
//
// Thread-safe.
#ifndef ROWFS_STORAGE_OBJECT_OPEN_STORE_H_
#define ROWFS_STORAGE_OBJECT_OPEN_STORE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "storage/object/object_store.h"

namespace rowfs {

class StoreRegistry {
 public:
  virtual ~StoreRegistry() = default;

  // The store and path of `uri`: "/dir", "relative", "file://", "http(s)://",
  // "s3://bucket/key", "hf://...". kInvalidArgument for another scheme or a
  // malformed one, kUnsupported for a scheme that this build leaves out. No
  // request. A relative path is made absolute against the working directory.
  virtual Result<Location> Resolve(std::string_view uri) = 0;

  // The same for a URI that a dataset names and the user allowed by a prefix:
  // its host must not turn out to have a private, loopback or link-local
  // address, and a password in it is not used.
  virtual Result<Location> ResolveFromDataset(std::string_view uri) {
    return Resolve(uri);
  }
};

struct StoreOptions {
  // PEM file of trusted roots; empty: SSL_CERT_FILE, else the system's.
  std::string ca_file;
  // No request leaves this machine: kUnavailable instead.
  bool offline = false;
  // A read unanswered for so long is asked for a second time, and the first
  // answer counts. 0: never.
  int64_t hedge_after_ms = 0;
  // Put around each remote store, once; null: nothing.
  std::function<std::shared_ptr<ObjectStore>(std::shared_ptr<ObjectStore>)>
      wrap;
};

// Stores made once per origin, bucket and repository, and kept; Locations must
// not outlive the registry. Endpoints, keys and proxies come from the process
// environment.
std::unique_ptr<StoreRegistry> MakeStoreRegistry(StoreOptions options = {});

}  // namespace rowfs
#endif  // ROWFS_STORAGE_OBJECT_OPEN_STORE_H_
