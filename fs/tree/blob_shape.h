// What a blob cell shows as, before it has a name: whether its own bytes are a
// file, of which type and size, and which views lie beside it.
//
// Pure apart from the reads it says; thread-safe.
#ifndef ROWFS_FS_TREE_BLOB_SHAPE_H_
#define ROWFS_FS_TREE_BLOB_SHAPE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "fs/tree/row_contents.h"
#include "index/dataset/dataset.h"
#include "index/runtime/plugin.h"

namespace rowfs {

struct BlobShape {
  // The stored bytes are a file of their own, named stem + extension.
  bool own_file = true;
  std::string extension;  // with its dot
  std::string media_type;
  uint64_t size = 0;
  // Suffixes of the stem, as the plugin lists them; the main file among them
  // when own_file is false.
  std::vector<ViewEntry> views;
  // Nobody can make a file of the stored bytes: opening it fails.
  bool broken = false;
  std::string error;
};

// Entries a plugin may show beside one blob.
inline constexpr uint64_t kBlobViewsMax = 256;

// The shape of `cell`, which is not null. `indexed`: its bytes are a container
// although it has blob_info (column layout). What is read: see ReadRowContents.
BlobShape DescribeBlob(const RowReader& reader, uint64_t row,
                       const CellPath& path, const BlobCell& cell,
                       const Metadata& metadata, bool indexed);

// Opens the bytes of a cell that was read already.
Result<std::shared_ptr<const Blob>> OpenCell(const Dataset& dataset,
                                             const BlobCell& cell);

}  // namespace rowfs
#endif  // ROWFS_FS_TREE_BLOB_SHAPE_H_
