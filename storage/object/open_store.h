// From a URL or path to a Location: the only place that knows which store
// serves which scheme and in which order wrappers stand around it.
//
// Thread-safe.
#ifndef ROWFS_STORAGE_OBJECT_OPEN_STORE_H_
#define ROWFS_STORAGE_OBJECT_OPEN_STORE_H_

#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "storage/base/sync.h"
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
};

// Stores made once per origin and kept.
std::unique_ptr<StoreRegistry> MakeStoreRegistry();

}  // namespace rowfs
#endif  // ROWFS_STORAGE_OBJECT_OPEN_STORE_H_
