// View entries in C++ and their way across the plugin interface.
//
// No state.
#ifndef ROWFS_INDEX_PLUGINS_COMMON_EMIT_H_
#define ROWFS_INDEX_PLUGINS_COMMON_EMIT_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "index/plugins/common/status.h"

namespace rowfs::plugin {

struct Entry {
  std::string name;
  bool directory = false;
  uint32_t flags = 0;  // ROWFS_ENTRY_ flags
  uint64_t size = 0;
  std::string media_type;
  std::string canonical_path;
  std::vector<std::pair<std::string, std::string>> attributes;
};

inline rowfs_str ToStr(std::string_view s) { return {s.data(), s.size()}; }
inline std::string_view FromStr(rowfs_str s) {
  return s.size == 0 ? std::string_view() : std::string_view(s.data, s.size);
}

// Hand `entry` to the host; what it returned, as a status.
Status Emit(const Entry& entry, const rowfs_entry_sink& out);

// Write `status` into `error` and give its code.
int32_t Report(const Status& status, rowfs_error* error);

// `number` with leading zeros, at least `digits` wide.
std::string Padded(uint64_t number, size_t digits);

}  // namespace rowfs::plugin
#endif  // ROWFS_INDEX_PLUGINS_COMMON_EMIT_H_
