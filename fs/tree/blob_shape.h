// What a blob cell shows as, before it has a name: whether its own bytes are a
// file, of which type and size, and which views lie beside it.
//
// Pure apart from the reads it says; thread-safe.
#ifndef ROWFS_FS_TREE_BLOB_SHAPE_H_
#define ROWFS_FS_TREE_BLOB_SHAPE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
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
  // The views are made of the stored bytes, which may have more of them.
  bool late_views = false;
  // What late views are likely to be called, found or not: names depend on
  // these, so that they stay when the bytes are indexed.
  std::vector<std::string> reserved;
  // `views` is what such files usually have.
  bool foreseen = false;
  // Nobody can make a file of the stored bytes: opening it fails.
  bool broken = false;
  std::string error;
  // A store did not tell, and another time it will: this is not the shape.
  Status failure;
  // A store refused to tell; it may have changed its mind by the next time.
  bool unsure = false;
};

// Values of kViewsKey.
inline constexpr std::string_view kViewsNone = "none";
inline constexpr std::string_view kViewsByMagic = "by_magic";
inline constexpr std::string_view kViewsByName = "by_name";

// The media type of bytes that nothing is known about.
inline constexpr std::string_view kPlainBytesType = "application/octet-stream";

// Entries a plugin may show beside one blob.
inline constexpr uint64_t kBlobViewsMax = 256;

// The shape of `cell`, which is not null. `indexed`: its bytes are a container
// although it has blob_info (column layout). `file_name`: what the file is
// called, when the table says; it ends in `extension`. What is read: see
// ReadRowContents.
struct BlobPlace {
  uint64_t row = 0;
  const CellPath& path;
  const Metadata& metadata;
  bool indexed = false;
  std::string_view file_name;
};
BlobShape DescribeBlob(const RowReader& reader, const BlobPlace& place,
                       const BlobCell& cell);

// The media type a column's metadata says its blobs have.
std::optional<std::string> DeclaredMediaType(const Metadata& metadata);

// Splits at the last dot, which neither starts nor ends the name; the extension
// has its dot.
std::pair<std::string, std::string> SplitExtension(const std::string& name);

// Opens the bytes of a cell that was read already.
Result<std::shared_ptr<const Blob>> OpenCell(const Dataset& dataset,
                                             const BlobCell& cell);

}  // namespace rowfs
#endif  // ROWFS_FS_TREE_BLOB_SHAPE_H_
