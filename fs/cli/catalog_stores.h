// What a tree keeps between runs, in the snapshot's catalog: exact sizes of
// rendered files, and indexes of media that were never ingested.
//
// Thread-safe.
#ifndef ROWFS_FS_CLI_CATALOG_STORES_H_
#define ROWFS_FS_CLI_CATALOG_STORES_H_

#include <memory>
#include <string>

#include "fs/tree/tree_options.h"
#include "index/catalog/catalog.h"
#include "index/view/renderer.h"

namespace rowfs {

class CatalogSizes final : public SizeStore {
 public:
  explicit CatalogSizes(Catalog& catalog) : catalog_(catalog) {}
  std::optional<uint64_t> FindSize(uint64_t key) override {
    return catalog_.FindSize(key);
  }
  void PutSize(uint64_t key, uint64_t size) override {
    catalog_.PutSize(key, size);
  }

 private:
  Catalog& catalog_;
};

// Gives a blob without blob_info the views of a plugin that knows its content:
// indexed once, where it lies, its bytes untouched.
class CatalogIndexer final : public MediaIndexer {
 public:
  CatalogIndexer(Catalog& catalog, PluginRegistry& plugins)
      : catalog_(catalog), plugins_(plugins) {}

  Result<std::optional<Index>> Find(uint64_t row, const CellPath& path,
                                    const std::shared_ptr<const Blob>& blob,
                                    FileType type) override;

 private:
  Result<IndexedMedia> Build(const Blob& blob, FileType type);

  Catalog& catalog_;
  PluginRegistry& plugins_;
};

}  // namespace rowfs
#endif  // ROWFS_FS_CLI_CATALOG_STORES_H_
