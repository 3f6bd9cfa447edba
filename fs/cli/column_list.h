// Which columns a command is about: names of columns and of fields of structs
// in them.
//
// Thread-safe.
#ifndef ROWFS_FS_CLI_COLUMN_LIST_H_
#define ROWFS_FS_CLI_COLUMN_LIST_H_

#include <vector>

#include "fs/cli/command.h"
#include "index/dataset/dataset.h"
#include "storage/table/struct_fields.h"

namespace rowfs {

// A column, or a field of a struct in one.
struct ChosenColumn {
  size_t column = 0;  // in Dataset::columns()
  FieldPath path;     // in the table's schema

  bool whole() const { return path.children.empty(); }
  bool operator==(const ChosenColumn&) const = default;
};

// What every `--columns A,B,C.FIELD` of `args` names, in that order; without
// any all columns that are shown. Names between commas; a name with a comma in
// it, given alone, wins. kNotFound says which names there are,
// kInvalidArgument which is there twice.
Result<std::vector<ChosenColumn>> ChooseColumns(const Dataset& dataset,
                                                const Args& args);

}  // namespace rowfs
#endif  // ROWFS_FS_CLI_COLUMN_LIST_H_
