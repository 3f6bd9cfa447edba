// The root's metadata.jsonl: one JSON object a row, as Hugging Face folders
// want it. Never held in memory: its size and where parts begin are found in
// one pass over the table, then parts are made again when they are read.
//
// Thread-safe.
#ifndef ROWFS_FS_TREE_METADATA_FILE_H_
#define ROWFS_FS_TREE_METADATA_FILE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "fs/tree/row_contents.h"
#include "index/view/media.h"
#include "storage/base/sync.h"

namespace rowfs {

class MetadataFile final : public ViewFile {
 public:
  // `path_of` gives the path of a row's folder from the root of the tree.
  using PathOf = std::function<Result<std::string>(uint64_t row)>;

  // Reads all rows once (see ReadRowContents for blobs). `dataset`, `plugins`
  // and `options` outlive the file.
  static Result<std::shared_ptr<const MetadataFile>> Open(
      Dataset& dataset, PluginRegistry& plugins, const TreeOptions& options,
      PathOf path_of);

  uint64_t size() const override { return begins_.back(); }
  bool in_memory() const override { return false; }
  // Makes the parts that the range touches, the last few from memory.
  Result<size_t> ReadAt(uint64_t offset, MutableByteSpan out) const override
      EXCLUDES(mu_);

 private:
  static constexpr uint64_t kPartRows = 256;
  static constexpr size_t kPartsKept = 4;
  using Part = std::shared_ptr<const std::string>;

  MetadataFile(Dataset& dataset, PluginRegistry& plugins,
               const TreeOptions& options, PathOf path_of);

  void NameKeys();
  Result<std::string> Line(const Row& row) const;
  Result<Part> MakePart(uint64_t part) const;
  Result<Part> FindPart(uint64_t part) const EXCLUDES(mu_);

  Dataset& dataset_;
  PluginRegistry& plugins_;
  const TreeOptions& options_;
  const PathOf path_of_;
  std::vector<std::string> keys_;       // of each column
  std::vector<std::string> file_keys_;  // of blob columns that are not first
  std::vector<uint64_t> begins_;        // of each part, and the end
  mutable Mutex mu_;
  mutable std::vector<std::pair<uint64_t, Part>> parts_ GUARDED_BY(mu_);
};

}  // namespace rowfs
#endif  // ROWFS_FS_TREE_METADATA_FILE_H_
