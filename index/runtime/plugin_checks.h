// What a plugin, or a worker that speaks for one, may answer. Both sides of the
// worker socket check with the same functions: the worker because plugins have
// bugs, the parent because a worker that parsed hostile bytes may say anything.
//
// Pure functions, thread-safe.
#ifndef ROWFS_INDEX_RUNTIME_PLUGIN_CHECKS_H_
#define ROWFS_INDEX_RUNTIME_PLUGIN_CHECKS_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "index/runtime/plugin.h"
#include "storage/base/status.h"

namespace rowfs {

inline constexpr size_t kPluginNameBytesMax = 32;
inline constexpr size_t kPluginVersionBytesMax = 256;
inline constexpr size_t kEntryNameBytesMax = 255;
inline constexpr size_t kEntryTextBytesMax = 4096;
inline constexpr size_t kEntryAttributesMax = 64;
// Of one plan, in all.
inline constexpr uint64_t kSegmentsMax = uint64_t{1} << 20;
inline constexpr uint64_t kRangesMax = uint64_t{1} << 20;
// Of one window of time, or outputs of one decode.
inline constexpr uint64_t kItemsMax = uint64_t{1} << 22;
inline constexpr uint64_t kForeseenMax = 256;
inline constexpr uint64_t kRecipeBytesMax = uint64_t{64} << 20;
// stream_info or entries of one blob, literals of one plan, a listing in
// memory.
inline constexpr uint64_t kIndexBytesMax = uint64_t{256} << 20;
// All outputs of one decode.
inline constexpr uint64_t kOutputBytesMax = uint64_t{1} << 30;

// `text` with its control bytes replaced and cut to 512 bytes: what a plugin
// says ends up in logs and on terminals.
std::string OneLine(std::string_view text);

// The error a ROWFS_E_ code stands for; OK for ROWFS_OK.
Status StatusFromPlugin(int32_t code, std::string_view message);

// kInternal when a plugin may not have this name, version or magic.
Status CheckDescription(std::string_view name, std::string_view version,
                        std::string_view magic);

// kInternal, naming what is wrong: a name that is no path part, a size of zero
// that is not exact, texts or counts above the limits.
Status CheckEntry(const ViewEntry& entry);

// The memory that an entry takes.
uint64_t EntryBytes(const ViewEntry& entry);

// kInternal when an item is unanswered or answered twice, kCorruption when a
// range lies outside the blob, kResourceExhausted above the limits.
Status CheckPlan(const ViewPlan& plan, size_t path_count, uint64_t blob_size);

// kInternal when blob_type or magic are not what the plugin may write.
Status CheckIngestOutput(const IngestOutput& output, std::string_view magic);

}  // namespace rowfs
#endif  // ROWFS_INDEX_RUNTIME_PLUGIN_CHECKS_H_
