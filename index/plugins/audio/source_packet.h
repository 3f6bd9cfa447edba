// What libavformat says about a track of sound and its packets, in our words.
//
// Pure functions.
#ifndef ROWFS_INDEX_PLUGINS_AUDIO_SOURCE_PACKET_H_
#define ROWFS_INDEX_PLUGINS_AUDIO_SOURCE_PACKET_H_

#include <cstdint>
#include <optional>

#include "index/plugins/audio/sound_index.h"
#include "index/plugins/common/libav.h"

namespace rowfs::plugin {

// A packet of the track as the demuxer gives it. Valid as long as that is.
struct SourcePacket {
  ByteSpan data;
  int64_t position = -1;         // where the demuxer says it lies
  std::optional<uint32_t> skip;  // samples to drop from here on
  uint32_t discard = 0;          // samples to drop at its end
  bool dropped = false;          // nothing of it is heard
};

// `data` instead of the bytes of `packet`.
SourcePacket SourcePacketOf(const AVPacket& packet, ByteSpan data);

// How to decode, into an empty index. ROWFS_E_UNSUPPORTED without a usable rate
// or number of channels.
Status DescribeSound(const AVCodecParameters& parameters, SoundIndex* index);

// Samples to drop before any packet says so.
uint32_t InitialSkip(const AVCodecParameters& parameters);

bool IsPcm(AVCodecID id);

}  // namespace rowfs::plugin
#endif  // ROWFS_INDEX_PLUGINS_AUDIO_SOURCE_PACKET_H_
