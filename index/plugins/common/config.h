// The configuration text of a plugin: "key=value,key=value".
//
// No state.
#ifndef ROWFS_INDEX_PLUGINS_COMMON_CONFIG_H_
#define ROWFS_INDEX_PLUGINS_COMMON_CONFIG_H_

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "index/plugins/common/status.h"

namespace rowfs::plugin {

// Keys and values; of a key that is given twice the last value. Blank text is
// an empty map. ROWFS_E_INVALID for a part without '=' or with an empty key.
Result<std::map<std::string, std::string>> ParseConfig(std::string_view text);

// A decimal number in [min, max]; ROWFS_E_INVALID naming `key` otherwise.
Result<int64_t> ParseNumber(std::string_view key, std::string_view value,
                            int64_t min, int64_t max);

}  // namespace rowfs::plugin
#endif  // ROWFS_INDEX_PLUGINS_COMMON_CONFIG_H_
