// What the container says about a stream, in our words.
//
// No state.
#ifndef ROWFS_INDEX_PLUGINS_VIDEO_DESCRIBE_H_
#define ROWFS_INDEX_PLUGINS_VIDEO_DESCRIBE_H_

#include <string>
#include <utility>
#include <vector>

#include "index/plugins/common/libav.h"
#include "index/plugins/video/media_index.h"

namespace rowfs::plugin {

// Everything about `stream` but its packets.
Stream DescribeStream(const AVStream& stream);

// The stream to show as frames: the default one, else the first, cover art
// aside; -1 when there is none.
int ChooseMainStream(const AVFormatContext& format);

std::vector<std::pair<std::string, std::string>> DescribeTags(
    const AVDictionary* metadata);

// The shape that `frame` has.
FrameShape ShapeOfFrame(const AVFrame& frame);

}  // namespace rowfs::plugin
#endif  // ROWFS_INDEX_PLUGINS_VIDEO_DESCRIBE_H_
