// Packs and WebDatasets as tables: rows are members that belong together, every
// member is a blob cell.
//
// Columns: `__key__`, what the members of a row share of their names, and one
// per suffix. A pack with one member a row: `file_name` and `file`.
#ifndef ROWFS_STORAGE_PACK_PACK_SOURCE_H_
#define ROWFS_STORAGE_PACK_PACK_SOURCE_H_

#include <vector>

#include "storage/table/table_source.h"

namespace rowfs {

// Formats, in the order they are to be tried:
//   "webdataset"        a tar, a folder of tars, "x-{000..012}.tar"
//   "blobpack"          a zip, a folder of zips or, when asked for by name, of
//                       tars or of any files; rows are members that share a
//                       stem up to the first dot of the base name
//   "blobpack-members"  the same, when asked for by name: one row a member
// Opening costs the tail of each zip and one pass over the headers of each tar;
// no format knows versions.
std::vector<TableFormat> PackFormats();

}  // namespace rowfs
#endif  // ROWFS_STORAGE_PACK_PACK_SOURCE_H_
