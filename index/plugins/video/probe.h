// How sure we are that a file is a video, from its first bytes and its name.
//
// Pure functions.
#ifndef ROWFS_INDEX_PLUGINS_VIDEO_PROBE_H_
#define ROWFS_INDEX_PLUGINS_VIDEO_PROBE_H_

#include <cstdint>
#include <string_view>

#include "index/plugins/common/bytes.h"

namespace rowfs::plugin {

// 0 to 100, as rowfs_plugin::probe wants it. MP4 and Matroska hold sound as
// well: without a video track in sight a name for sound lowers the answer.
int32_t ProbeVideo(ByteSpan head, std::string_view file_name);

// Whether files of this name's extension are usually videos.
bool IsVideoName(std::string_view file_name);

}  // namespace rowfs::plugin
#endif  // ROWFS_INDEX_PLUGINS_VIDEO_PROBE_H_
