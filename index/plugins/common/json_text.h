// Texts of files as JSON strings.
//
// No state.
#ifndef ROWFS_INDEX_PLUGINS_COMMON_JSON_TEXT_H_
#define ROWFS_INDEX_PLUGINS_COMMON_JSON_TEXT_H_

#include <string>
#include <string_view>

namespace rowfs::plugin {

// Append `text` in quotes, escaped; bytes that are not UTF-8 become U+FFFD.
void PutQuoted(std::string_view text, std::string* out);

}  // namespace rowfs::plugin
#endif  // ROWFS_INDEX_PLUGINS_COMMON_JSON_TEXT_H_
