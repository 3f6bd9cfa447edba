// The parts of the byte form of a MediaIndex, each written next to where it is
// read: the fixed head, the streams (the rest of stream_info), the packets
// (entries). Only index_*.cc use this.
//
// No state.
#ifndef ROWFS_INDEX_PLUGINS_VIDEO_INDEX_FORMAT_H_
#define ROWFS_INDEX_PLUGINS_VIDEO_INDEX_FORMAT_H_

#include <cstdint>
#include <vector>

#include "index/plugins/common/bytes.h"
#include "index/plugins/video/media_index.h"

namespace rowfs::plugin {

// What the head says about the two other parts.
struct BodySums {
  uint64_t body_size = 0;
  uint32_t body_crc = 0;
  uint64_t entries_size = 0;
  uint32_t entries_crc = 0;
};

void WriteHead(const IndexHead& head, const BodySums& sums, ByteWriter* out);
Result<IndexHead> ReadHead(ByteSpan bytes, BodySums* sums);

// Streams without packets. Reading sets the number of packets each stream has
// in `counts`; their sum is at most kPacketsMax.
void WriteStreams(const MediaIndex& index, ByteWriter* out);
Status ReadStreams(ByteReader* in, MediaIndex* index,
                   std::vector<uint32_t>* counts);

// GOPs and packets of index->streams, which ReadStreams has made.
Status WritePackets(const MediaIndex& index, ByteWriter* out);
Status ReadPackets(const std::vector<uint32_t>& counts, ByteReader* in,
                   MediaIndex* index);

// Give every packet of a stored layout its offset; the number of bytes that
// the packets take, or UINT64_MAX when it overflows.
uint64_t PlaceStoredPackets(MediaIndex* index);

}  // namespace rowfs::plugin
#endif  // ROWFS_INDEX_PLUGINS_VIDEO_INDEX_FORMAT_H_
