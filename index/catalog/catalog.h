// What is worth keeping between runs about one snapshot, in one SQLite file:
// sizes of rendered files, indexes of media and archives, rows by value. It can
// always be made again, so nothing here fails: a catalog that cannot be read or
// written finds nothing and keeps nothing, and says why in problem(). A damaged
// file is set aside and begun anew, one of a newer program is left alone.
//
// Thread-safe, and any number of processes may have the same file open.
#ifndef ROWFS_INDEX_CATALOG_CATALOG_H_
#define ROWFS_INDEX_CATALOG_CATALOG_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "index/catalog/catalog_file.h"
#include "index/catalog/sqlite.h"
#include "storage/base/bytes.h"
#include "storage/base/status.h"
#include "storage/base/sync.h"

namespace rowfs {

// What indexing a blob without blob_info came to.
struct IndexedMedia {
  // Not kOk: it has no views, and why.
  Code code = Code::kOk;
  std::string message;
  std::string plugin;  // empty (and kOk): no plugin knows such files
  std::string plugin_version;
  uint8_t blob_type = 0;
  Bytes stream_info;
  Bytes entries;

  bool operator==(const IndexedMedia&) const = default;
};

// Rows by the value of one column. Values are numbered from 0 in the order of
// their names as bytes.
struct IndexedValue {
  std::string name;
  uint64_t row_count = 0;

  bool operator==(const IndexedValue&) const = default;
};

class Catalog {
 public:
  // Open the catalog at `path` (CatalogPath), making folder and file if needed.
  static std::unique_ptr<Catalog> Open(const std::string& path,
                                       std::string_view fingerprint);
  // One that lies beside the data, for reading alone: nothing is made there,
  // and one of another snapshot is left as it is and finds nothing. Null when
  // there is no file.
  static std::unique_ptr<Catalog> OpenLent(const std::string& path,
                                           std::string_view fingerprint);
  // Keeps what is still in memory.
  ~Catalog();

  // Why nothing, or not everything, is kept; empty when all is well.
  std::string problem() const EXCLUDES(mu_);

  // Whether anything is found or kept at all.
  bool usable() const EXCLUDES(mu_);

  // Exact sizes of rendered files. Puts are collected and written together; a
  // process that is killed loses the last few.
  std::optional<uint64_t> FindSize(uint64_t key) EXCLUDES(mu_);
  void PutSize(uint64_t key, uint64_t size) EXCLUDES(mu_);

  // `key` names the blob within the snapshot.
  std::optional<IndexedMedia> FindMedia(std::string_view key) EXCLUDES(mu_);
  void PutMedia(std::string_view key, const IndexedMedia& media) EXCLUDES(mu_);

  // Any bytes under a name: tables of archive members and the like.
  std::optional<Bytes> FindBytes(std::string_view name) EXCLUDES(mu_);
  void PutBytes(std::string_view name, ByteSpan bytes) EXCLUDES(mu_);

  // The number of values of a column; absent when it was not indexed (with a
  // ValueIndexWriter), and then the three below find nothing either.
  std::optional<uint64_t> CountValues(std::string_view column) EXCLUDES(mu_);
  std::optional<IndexedValue> FindValue(std::string_view column,
                                        uint64_t number) EXCLUDES(mu_);
  std::optional<uint64_t> FindValueNumber(std::string_view column,
                                          std::string_view name) EXCLUDES(mu_);
  // Up to `limit` rows of a value, from its row number `start` on, ascending.
  std::optional<std::vector<uint64_t>> FindRows(std::string_view column,
                                                uint64_t number, uint64_t start,
                                                uint64_t limit) EXCLUDES(mu_);

  // The same for names of rows (NameIndexWriter): each row has one, unique.
  std::optional<uint64_t> CountNames(std::string_view column) EXCLUDES(mu_);
  std::optional<uint64_t> FindRow(std::string_view column,
                                  std::string_view name) EXCLUDES(mu_);
  // Names of up to `limit` rows from `start` on.
  std::optional<std::vector<std::string>> FindNames(std::string_view column,
                                                    uint64_t start,
                                                    uint64_t limit)
      EXCLUDES(mu_);

 private:
  friend class RowStaging;
  static constexpr size_t kSizesPendingMax = 256;
  static constexpr size_t kIdleMax = 8;

  Catalog() = default;
  static std::unique_ptr<Catalog> Make(
      Result<std::unique_ptr<CatalogFile>> file, std::string warning);

  // A connection nobody else uses; null when there is no usable file.
  std::unique_ptr<Database> Take() EXCLUDES(mu_);
  // The same; null also when it cannot be written.
  std::unique_ptr<Database> TakeForWriting() EXCLUDES(mu_);
  void GiveBack(std::unique_ptr<Database> db) EXCLUDES(mu_);
  // Remember what went wrong; damage ends the use of the file.
  void Note(const Status& error) EXCLUDES(mu_);
  void FlushSizes() EXCLUDES(mu_);

  // Run a query on a connection; on any error nothing was found, or kept.
  template <typename T>
  std::optional<T> Find(
      const std::function<Result<std::optional<T>>(Database&)>& read) {
    auto db = Take();
    if (db == nullptr) return std::nullopt;
    Result<std::optional<T>> found = read(*db);
    GiveBack(std::move(db));
    Note(found.status());
    return found.ok() ? std::move(found).value() : std::nullopt;
  }
  void Put(const std::function<Status(Database&)>& write) EXCLUDES(mu_);

  std::unique_ptr<CatalogFile> file_;  // null: nothing is kept
  mutable Mutex mu_;
  bool usable_ GUARDED_BY(mu_) = true;
  std::string problem_ GUARDED_BY(mu_);
  std::vector<std::unique_ptr<Database>> idle_ GUARDED_BY(mu_);
  std::map<uint64_t, uint64_t> sizes_pending_ GUARDED_BY(mu_);
};

}  // namespace rowfs
#endif  // ROWFS_INDEX_CATALOG_CATALOG_H_
