// What the sources of AWS keys read: small files.
//
// Thread-safe.
#ifndef ROWFS_STORAGE_OBJECT_AWS_TEXT_H_
#define ROWFS_STORAGE_OBJECT_AWS_TEXT_H_

#include <optional>
#include <string>

namespace rowfs {

// The content of a local file of up to 1 MiB, without the white space at its
// end; absent when it cannot be read.
std::optional<std::string> FileText(const std::string& path);

}  // namespace rowfs
#endif  // ROWFS_STORAGE_OBJECT_AWS_TEXT_H_
