// Which samples of each packet are heard: encoder delay and padding, as
// demuxers tell them with the packets.
//
// One thread at a time.
#ifndef ROWFS_INDEX_PLUGINS_AUDIO_TRIMS_H_
#define ROWFS_INDEX_PLUGINS_AUDIO_TRIMS_H_

#include <algorithm>
#include <cstdint>

#include "index/plugins/audio/sound_index.h"
#include "index/plugins/audio/source_packet.h"

namespace rowfs::plugin {

class Trims {
 public:
  // `skip`: samples to drop before any packet says so.
  explicit Trims(uint32_t skip) : skip_(skip) {}

  // Set front and back of the next `packet`, whose samples are known, as
  // libavcodec would cut its output.
  void Apply(const SourcePacket& source, SoundPacket* packet) {
    if (source.skip) skip_ = *source.skip;
    packet->front =
        source.dropped ? packet->samples : std::min(skip_, packet->samples);
    skip_ -= std::min(skip_, packet->front);
    packet->back = 0;
    if (source.discard <= packet->heard()) packet->back = source.discard;
  }

 private:
  uint32_t skip_;
};

}  // namespace rowfs::plugin
#endif  // ROWFS_INDEX_PLUGINS_AUDIO_TRIMS_H_
