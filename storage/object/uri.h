// Taking URIs apart and percent-coding. Knows the syntax (RFC 3986), not what
// any scheme means.
//
// Pure functions, thread-safe.
#ifndef ROWFS_STORAGE_OBJECT_URI_H_
#define ROWFS_STORAGE_OBJECT_URI_H_

#include <optional>
#include <string>
#include <string_view>

#include "storage/base/status.h"

namespace rowfs {

struct Uri {
  std::string scheme;     // lower case, without "://"
  std::string authority;  // between "//" and the next '/', as written
  std::string path;       // from that '/' on, as written; may be empty
};

// Absent when `text` has no scheme ("scheme://"): then it is a file path.
std::optional<Uri> FindUri(std::string_view text);

// `%41` becomes `A`. kInvalidArgument for a '%' without two hex digits and for
// `%00`, which no store can name.
Result<std::string> PercentDecode(std::string_view text);

// Everything but unreserved characters (letters, digits, "-._~") and those in
// `keep` becomes `%XX`, upper case.
std::string PercentEncode(std::string_view text, std::string_view keep);

}  // namespace rowfs
#endif  // ROWFS_STORAGE_OBJECT_URI_H_
