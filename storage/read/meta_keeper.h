// Small facts about remote objects kept on disk between runs, beside their
// blocks: size and etag, listings. A convenience only: anything may be missing,
// nothing is ever wrong but old.
//
// Thread-safe.
#ifndef ROWFS_STORAGE_READ_META_KEEPER_H_
#define ROWFS_STORAGE_READ_META_KEEPER_H_

#include <optional>
#include <string>
#include <vector>

#include "storage/object/object_store.h"
#include "storage/read/disk_cache.h"

namespace rowfs {

class MetaKeeper {
 public:
  // `disk` outlives it.
  explicit MetaKeeper(DiskCache& disk) : disk_(disk) {}

  // Facts are found again by their key. Put does nothing when it is kept so
  // already.
  void Put(const std::string& key, ByteSpan value);
  std::optional<Bytes> Get(const std::string& key);

  void PutMeta(const std::string& key, const ObjectMeta& meta);
  std::optional<ObjectMeta> GetMeta(const std::string& key);
  void PutListing(const std::string& key,
                  const std::vector<ListEntry>& entries);
  std::optional<std::vector<ListEntry>> GetListing(const std::string& key);

 private:
  DiskCache& disk_;
};

}  // namespace rowfs
#endif  // ROWFS_STORAGE_READ_META_KEEPER_H_
