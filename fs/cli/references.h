// References from tables into packs: the formats of tables, made to show what
// their cells refer to, and folders that hold a table and packs together.
//
// Thread-safe.
#ifndef ROWFS_FS_CLI_REFERENCES_H_
#define ROWFS_FS_CLI_REFERENCES_H_

#include "storage/table/table_source.h"

namespace rowfs {

// `format` with references shown as files (index/dataset/reference_table.h).
// Relative references start at the opened folder, or at the folder that an
// opened file lies in, and stay inside; others follow --allow-external. A
// shard is opened at the first reference into it.
TableFormat WithPackReferences(TableFormat format);

// A folder in which exactly one table of `format` lies, as NAME.lance, beside
// what it refers to: opened as that table with the folder as its root.
TableFormat TableInFolder(TableFormat format);

}  // namespace rowfs
#endif  // ROWFS_FS_CLI_REFERENCES_H_
