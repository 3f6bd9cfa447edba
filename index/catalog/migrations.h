// The schema of the catalog, as numbered steps.
//
// Thread-safe as far as the Database is.
#ifndef ROWFS_INDEX_CATALOG_MIGRATIONS_H_
#define ROWFS_INDEX_CATALOG_MIGRATIONS_H_

#include <string_view>

#include "index/catalog/sqlite.h"

namespace rowfs {

// Bring an empty or older catalog of the snapshot `fingerprint` to the schema
// that this program uses; several processes may do so at once.
//
// kUnsupported when the schema is newer (leave the file alone), kCorruption
// when the file is not a catalog or not one of this snapshot.
Status MigrateCatalog(Database& db, std::string_view fingerprint);

// The same checks without writing; kUnsupported for an older schema too.
Status CheckCatalog(Database& db, std::string_view fingerprint);

}  // namespace rowfs
#endif  // ROWFS_INDEX_CATALOG_MIGRATIONS_H_
