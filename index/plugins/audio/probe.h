// Whether a file looks like one the audio plugin reads.
//
// Pure functions.
#ifndef ROWFS_INDEX_PLUGINS_AUDIO_PROBE_H_
#define ROWFS_INDEX_PLUGINS_AUDIO_PROBE_H_

#include <string_view>

#include "index/plugins/common/bytes.h"

namespace rowfs::plugin {

// 0 to 100, from the first bytes (up to 64 KiB) and the name.
int32_t ProbeSound(ByteSpan head, std::string_view file_name);

}  // namespace rowfs::plugin
#endif  // ROWFS_INDEX_PLUGINS_AUDIO_PROBE_H_
