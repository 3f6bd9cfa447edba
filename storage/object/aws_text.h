// What the sources of AWS keys read: small files, and members of JSON answers.
//
// Thread-safe.
#ifndef ROWFS_STORAGE_OBJECT_AWS_TEXT_H_
#define ROWFS_STORAGE_OBJECT_AWS_TEXT_H_

#include <optional>
#include <string>
#include <string_view>

#include "storage/base/json.h"

namespace rowfs {

// The content of a local file of up to 1 MiB, without the white space at its
// end; absent when it cannot be read.
std::optional<std::string> FileText(const std::string& path);

// The string `key` of `object`; empty when it is none.
std::string TextAt(const Json& object, std::string_view key);

}  // namespace rowfs
#endif  // ROWFS_STORAGE_OBJECT_AWS_TEXT_H_
