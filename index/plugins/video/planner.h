// Which packets a frame needs: where decoding starts and what is fed.
//
// Pure functions.
#ifndef ROWFS_INDEX_PLUGINS_VIDEO_PLANNER_H_
#define ROWFS_INDEX_PLUGINS_VIDEO_PLANNER_H_

#include <cstdint>
#include <span>
#include <vector>

#include "index/plugins/video/media_index.h"

namespace rowfs::plugin {

// The packet to start at so that the frame of packet `ordinal`, which lies in
// GOP `gop`, comes out clean: the key packet of its GOP, or of an earlier one
// for leading pictures and recovery windows.
uint32_t PlanStart(std::span<const Gop> gops, std::span<const Packet> packets,
                   uint32_t gop, uint32_t ordinal);

// The frames of one decode: they share `start`, sorted by packet.
struct PlannedDecode {
  uint32_t start = 0;
  std::vector<uint32_t> frames;  // frame numbers
  std::vector<BlobRange> ranges;
};

// The decodes that `frames` need, one per start, in order of start. A frame
// that is asked for twice is there twice. O(frames log frames + packets fed).
std::vector<PlannedDecode> PlanFrames(const MediaIndex& index,
                                      std::span<const uint32_t> frames);

// The bytes from the start of a decode to `ordinal`: one range, unless the
// container scatters the packets.
std::vector<BlobRange> PlanRanges(const MediaIndex& index, uint32_t start,
                                  uint32_t ordinal);

}  // namespace rowfs::plugin
#endif  // ROWFS_INDEX_PLUGINS_VIDEO_PLANNER_H_
