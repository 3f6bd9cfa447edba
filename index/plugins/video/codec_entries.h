// How containers describe a codec: the MP4 sample entry and the Matroska track
// entry of a stream. Made once, at ingest, by libavformat's own muxers, and
// kept in the index; so synthesized files know every codec that these know,
// need no library to be planned, and keep their size when it is replaced.
//
// Thread-safe: no state.
#ifndef ROWFS_INDEX_PLUGINS_VIDEO_CODEC_ENTRIES_H_
#define ROWFS_INDEX_PLUGINS_VIDEO_CODEC_ENTRIES_H_

#include "index/plugins/common/bytes.h"
#include "index/plugins/common/exact_time.h"
#include "index/plugins/video/media_index.h"

struct AVCodecParameters;

namespace rowfs::plugin {

// Describe packets of `codec`, whose extradata is what is in force. Some
// entries (AC-3) are made from what is in `first_packet`, a whole packet as it
// is stored. `frame_rate` 0/1: unknown. Never fails: what no muxer takes stays
// empty.
CodecEntries MakeCodecEntries(const AVCodecParameters& codec,
                              TimeBase time_base, TimeBase frame_rate,
                              ByteSpan first_packet);

}  // namespace rowfs::plugin
#endif  // ROWFS_INDEX_PLUGINS_VIDEO_CODEC_ENTRIES_H_
