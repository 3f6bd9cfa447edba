// Packs and WebDatasets as tables: rows are members that belong together, every
// member is a blob cell.
//
// Columns: `__key__`, what the members of a row share of their names, and one
// per suffix. A pack with one member a row: `file_name` and `file`.
#ifndef ROWFS_STORAGE_PACK_PACK_SOURCE_H_
#define ROWFS_STORAGE_PACK_PACK_SOURCE_H_

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "storage/pack/member_table.h"
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

// A tar as "webdataset" opens it, for who wants to know its members before.
Result<std::unique_ptr<TableSource>> OpenWebDataset(const Location& location,
                                                    const OpenContext& context,
                                                    const TarObserver& found);
// What the fingerprint of that will be. Requires: an etag.
std::string WebDatasetFingerprint(const Location& location,
                                  const ObjectMeta& meta);

// Whether files with this suffix have no listed views, nor names that depend on
// what is in them.
bool HasPlainFiles(std::string_view suffix, bool remote);

}  // namespace rowfs
#endif  // ROWFS_STORAGE_PACK_PACK_SOURCE_H_
