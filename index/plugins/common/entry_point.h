// What every plugin's C entry point does the same way: turn a call into C++,
// let nothing that was thrown out, and answer questions about views.
//
// No state.
#ifndef ROWFS_INDEX_PLUGINS_COMMON_ENTRY_POINT_H_
#define ROWFS_INDEX_PLUGINS_COMMON_ENTRY_POINT_H_

#include <cstdint>
#include <new>

#include "index/abi/rowfs_plugin.h"
#include "index/plugins/common/bytes.h"
#include "index/plugins/common/emit.h"
#include "index/plugins/common/status.h"

namespace rowfs::plugin {

inline ByteSpan ToSpan(rowfs_bytes b) {
  return b.data == nullptr ? ByteSpan() : ByteSpan(b.data, b.size);
}

// What a callback of the host returned, as a status.
inline Status Stopped(int32_t code) {
  return code == ROWFS_OK ? Status() : Status(code, "the host stopped");
}

inline Status NeedEntries() {
  return Status(ROWFS_E_NEED_ENTRIES, "opened without entries");
}

// Run `body`, which returns a Status, and report what comes of it.
template <typename Body>
int32_t Guarded(rowfs_error* error, Body body) {
  try {
    return Report(body(), error);
  } catch (const std::bad_alloc&) {
    return Report(Limit("out of memory"), error);
  } catch (...) {
    return Report(Internal("unexpected exception"), error);
  }
}

// `list`, `lookup` and `select` of a plugin whose rowfs_index has `head` and,
// when it was opened with entries, an optional `views`. The class of the views
// lists what lies beside the blob from a head alone.
template <typename Index>
int32_t ListViews(Index* index, rowfs_str directory, uint64_t start,
                  uint64_t limit, const rowfs_entry_sink* out,
                  rowfs_error* error) {
  return Guarded(error, [&]() -> Status {
    if (index->views) {
      return index->views->List(FromStr(directory), start, limit, *out);
    }
    if (directory.size != 0) return NeedEntries();
    const auto top = decltype(index->views)::value_type::ListTop(index->head);
    for (uint64_t i = start; i < top.size() && i - start < limit; ++i) {
      PLUGIN_RETURN_IF_ERROR(Emit(top[i], *out));
    }
    return {};
  });
}

template <typename Index>
int32_t LookupView(Index* index, rowfs_str path, const rowfs_entry_sink* out,
                   rowfs_error* error) {
  return Guarded(error, [&]() -> Status {
    if (!index->views) return NeedEntries();
    PLUGIN_ASSIGN_OR_RETURN(const Entry entry,
                            index->views->Lookup(FromStr(path)));
    return Emit(entry, *out);
  });
}

template <typename Index>
int32_t SelectViews(Index* index, rowfs_str view, rowfs_str from, rowfs_str to,
                    const rowfs_entry_sink* out, rowfs_error* error) {
  return Guarded(error, [&]() -> Status {
    if (!index->views) return NeedEntries();
    return index->views->Select(FromStr(view), FromStr(from), FromStr(to),
                                *out);
  });
}

}  // namespace rowfs::plugin
#endif  // ROWFS_INDEX_PLUGINS_COMMON_ENTRY_POINT_H_
