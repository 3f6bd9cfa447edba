// The data files of a dataset version, opened when first needed and checked
// against what the manifest says of them.
//
// Thread-safe.
#ifndef ROWFS_STORAGE_LANCE_DATA_FILES_H_
#define ROWFS_STORAGE_LANCE_DATA_FILES_H_

#include <memory>
#include <string>

#include "storage/lance/assemble.h"
#include "storage/lance/base_paths.h"
#include "storage/lance/file_reader.h"
#include "storage/lance/lru_cache.h"
#include "storage/read/object_reader.h"

namespace rowfs {

// Ids and columns that `file` lists; negative ids and columns are left out.
ColumnMap LiveColumns(const lance::pb::DataFile& file);

// The base a data file, a deletion file lies under.
template <typename Message>
std::optional<uint32_t> BaseOf(const Message& file) {
  if (!file.has_base_id()) return std::nullopt;
  return file.base_id();
}

class DataFiles {
 public:
  // `bases`, what `read` points to and every message outlive this.
  DataFiles(const BasePaths& bases, const ReadContext& read);

  // The reader of `file`. kCorruption when its rows, version, columns or types
  // contradict the manifest; `physical_rows` 0: the manifest does not say.
  // Costs what LanceFileReader::Open does, nothing when it was opened lately.
  Result<std::shared_ptr<const LanceFileReader>> Open(
      const lance::pb::DataFile& file, uint64_t physical_rows);

  // An object that is no data file: a deletion file, an external blob. One
  // request, none when it was opened lately.
  Result<std::shared_ptr<const ObjectReader>> OpenObject(
      const Location& location);
  // A blob file of this dataset, written once: no request on a remote store,
  // where whether it is there shows when it is read.
  Result<std::shared_ptr<const ObjectReader>> OpenSidecar(
      const Location& location);

  // The first place of `path` under base `id` where there is an object. No
  // request where there is but one place; else OpenObject's.
  Result<Location> Locate(std::optional<uint32_t> id, const std::string& path);

 private:
  Result<std::shared_ptr<const ObjectReader>> OpenFirst(
      const std::vector<Location>& places) const;

  const BasePaths& bases_;
  const ReadContext read_;
  LruCache<const lance::pb::DataFile*, LanceFileReader> files_;
  LruCache<std::string, ObjectReader> objects_;
};

}  // namespace rowfs
#endif  // ROWFS_STORAGE_LANCE_DATA_FILES_H_
