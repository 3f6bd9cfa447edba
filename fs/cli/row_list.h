// Lists of rows: what --rows says, and the files that --view shows.
//
// Pure apart from what it reads; thread-safe.
#ifndef ROWFS_FS_CLI_ROW_LIST_H_
#define ROWFS_FS_CLI_ROW_LIST_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "fs/cli/command.h"
#include "fs/tree/selection.h"
#include "index/dataset/dataset.h"
#include "storage/object/open_store.h"

namespace rowfs {

// The rows that --rows of `args` says. kInvalidArgument and kOutOfRange name
// the option.
Result<Selection> RowsOption(const Args& args, uint64_t row_count);

// "NAME=FILE" as a name and the rows that FILE lists. A line holds a row's
// number; a number that no row has, or one behind "id:", is a row id as
// user.rowfs.row_id has it (looked for in all rows). kInvalidArgument and
// kNotFound name the line.
Result<std::pair<std::string, std::vector<uint64_t>>> ReadView(
    StoreRegistry& stores, const Dataset& dataset, const std::string& text);

}  // namespace rowfs
#endif  // ROWFS_FS_CLI_ROW_LIST_H_
