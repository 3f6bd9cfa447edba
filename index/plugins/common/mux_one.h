// What libavformat's muxers write about a codec, taken out of a file with one
// stream and one packet.
//
// Thread-safe: no state.
#ifndef ROWFS_INDEX_PLUGINS_COMMON_MUX_ONE_H_
#define ROWFS_INDEX_PLUGINS_COMMON_MUX_ONE_H_

#include <cstdint>

#include "index/plugins/common/bytes.h"
#include "index/plugins/common/exact_time.h"
#include "index/plugins/common/libav.h"

namespace rowfs::plugin {

inline constexpr uint32_t kSampleEntryBytesMax = (1u << 20) + 4096;

struct StreamTimes {
  TimeBase base;
  TimeBase frame_rate;  // 0/1: unknown
};

// A file of format `name` with one stream, called `tag` (0: as the format
// likes) and one packet; empty when the format does not take them.
Bytes MuxOne(const char* name, const AVCodecParameters& codec, uint32_t tag,
             const StreamTimes& times, ByteSpan packet);

// The only entry of stsd in `file`, a complete box; empty when there is none.
Bytes SampleEntry(ByteSpan file);

}  // namespace rowfs::plugin
#endif  // ROWFS_INDEX_PLUGINS_COMMON_MUX_ONE_H_
