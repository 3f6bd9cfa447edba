// What a tree keeps between runs, in the snapshot's catalog: exact sizes of
// rendered files, and indexes of media that were never ingested. What `rowfs
// index build` left beside the data is read as well.
//
// Thread-safe.
#ifndef ROWFS_FS_CLI_CATALOG_STORES_H_
#define ROWFS_FS_CLI_CATALOG_STORES_H_

#include <memory>
#include <string>

#include "fs/cli/session.h"
#include "fs/tree/tree_options.h"
#include "index/catalog/catalog.h"
#include "index/view/renderer.h"

namespace rowfs {

// Beside a dataset PATH the file PATH + this is looked for.
inline constexpr std::string_view kIndexSuffix = ".rowfs-index";

struct Catalogs {
  // In the cache directory; keeps nothing where there is none.
  std::unique_ptr<Catalog> own;
  // Built ahead of time, for reading alone; may be null.
  std::unique_ptr<Catalog> lent;

  // What `find` says of the own catalog, else of the lent one.
  template <typename Find>
  auto First(const Find& find) const {
    auto found = find(*own);
    if (!found && lent != nullptr) found = find(*lent);
    return found;
  }
};

// The catalogs of the dataset's snapshot. `index_file`: where the lent one
// lies; empty: beside a local dataset, if there is one.
Catalogs OpenCatalogs(const Session& session, const Dataset& dataset,
                      const std::string& index_file);
// What a blob is called in them.
std::string MediaKey(const MediaIndexer::Place& place);

class CatalogSizes final : public SizeStore {
 public:
  explicit CatalogSizes(const Catalogs& catalogs) : catalogs_(catalogs) {}
  std::optional<uint64_t> FindSize(uint64_t key) override {
    return catalogs_.First(
        [&](Catalog& catalog) { return catalog.FindSize(key); });
  }
  void PutSize(uint64_t key, uint64_t size) override {
    catalogs_.own->PutSize(key, size);
  }

 private:
  const Catalogs& catalogs_;
};

// Gives a blob without blob_info the views of a plugin that knows its content:
// indexed once, where it lies, its bytes untouched.
class CatalogIndexer final : public MediaIndexer {
 public:
  // Blobs of up to `verify_bytes_max` are verified as an ingest verifies them,
  // which decodes all of them; of larger ones the packets are believed.
  CatalogIndexer(const Catalogs& catalogs, PluginRegistry& plugins,
                 uint64_t verify_bytes_max = kVerifyBytesMax)
      : catalogs_(catalogs),
        plugins_(plugins),
        verify_bytes_max_(verify_bytes_max) {}

  std::optional<Result<std::optional<Index>>> Known(
      const Place& place) override;
  Result<std::optional<Index>> Find(const Place& place,
                                    const std::shared_ptr<const Blob>& blob,
                                    FileType type) override;

 private:
  // What a person waits for who only lists frames.
  static constexpr uint64_t kVerifyBytesMax = 16 << 20;

  Result<IndexedMedia> Build(const Blob& blob, FileType type);
  Result<IndexedMedia> BuildWith(Plugin& plugin, const Blob& blob,
                                 const std::string& name);
  Result<std::optional<Index>> IndexOf(IndexedMedia media);

  const Catalogs& catalogs_;
  PluginRegistry& plugins_;
  const uint64_t verify_bytes_max_;
};

}  // namespace rowfs
#endif  // ROWFS_FS_CLI_CATALOG_STORES_H_
