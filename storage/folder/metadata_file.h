// The metadata file of a Hugging Face style folder: metadata.jsonl or
// metadata.csv, one object or line a row, keyed by `file_name`.
//
// Pure functions, thread-safe.
#ifndef ROWFS_STORAGE_FOLDER_METADATA_FILE_H_
#define ROWFS_STORAGE_FOLDER_METADATA_FILE_H_

#include <string>
#include <string_view>
#include <vector>

#include "storage/base/json.h"
#include "storage/base/status.h"

namespace rowfs {

// Rows as JSON objects. `what` names the file in errors, which give the line:
// kInvalidArgument for a line that is no JSON object (JSON Lines), or that has
// another number of fields than the header (CSV, RFC 4180).
Result<std::vector<Json>> ParseJsonLines(std::string_view text,
                                         std::string_view what);
// CSV values become numbers or bools where the whole text is one, null where
// the field is empty and unquoted, else strings.
Result<std::vector<Json>> ParseCsv(std::string_view text,
                                   std::string_view what);

}  // namespace rowfs
#endif  // ROWFS_STORAGE_FOLDER_METADATA_FILE_H_
