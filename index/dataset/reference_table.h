// A table whose cells name files instead of holding them (BRCD: tables beside
// blob packs, "zip://member::media/pack-0000.zip"; MediaRef structs {uri,
// pts_ns}), shown with those files as blobs, of which frame.jpg is the frame
// shown at pts_ns.
//
// Thread-safe.
#ifndef ROWFS_INDEX_DATASET_REFERENCE_TABLE_H_
#define ROWFS_INDEX_DATASET_REFERENCE_TABLE_H_

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "storage/table/table_source.h"

namespace rowfs {

// Opens what a reference names: who makes it knows packs and what a dataset may
// reach. Thread-safe.
using OpenReference =
    std::function<Result<BlobSource>(const std::string& reference)>;

// BlobCell::base_id of a cell whose `object` is a reference.
inline constexpr uint32_t kReferenceBase = UINT32_MAX;

// "zip://member::path" or "tar://member::path".
bool IsReference(std::string_view text);

// `table` with references as blobs. Strings are taken for references, wherever
// they stand in structs and lists, when those in the first rows all are; the
// `uri` of a struct<uri: string, pts_ns: int64> always. `table` itself when
// there are none. Reads a few rows of the columns that could hold some.
Result<std::unique_ptr<TableSource>> WithReferences(
    std::unique_ptr<TableSource> table, OpenReference open);

}  // namespace rowfs
#endif  // ROWFS_INDEX_DATASET_REFERENCE_TABLE_H_
