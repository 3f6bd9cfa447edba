// How many packets before a packet a fresh decoder needs, by codec: what the
// format says, before ingest checks it.
//
// Pure functions.
#ifndef ROWFS_INDEX_PLUGINS_AUDIO_PREROLL_H_
#define ROWFS_INDEX_PLUGINS_AUDIO_PREROLL_H_

#include <cstdint>
#include <deque>
#include <string>

#include "index/plugins/common/bytes.h"

namespace rowfs::plugin {

enum class Exactness : uint8_t {
  kAlways,     // a fresh decoder gives the same samples
  kSometimes,  // depends on the stream: checked at ingest, else not relied on
  kNever       // decoders carry noise or filters without end
};
Exactness ExactnessOf(const std::string& codec);

// Packets before one whose packets last `samples`, whatever they hold.
uint32_t BasePreroll(const std::string& codec, uint32_t samples);

// Follows the bit reservoir of an MP3 stream: a frame's sound may begin in the
// bytes of frames before it.
class Mp3Reservoir {
 public:
  // Packets that must be decoded before the next frame, `packet`, so that it
  // and the frame whose sound overlaps it come out whole.
  uint32_t Next(ByteSpan packet);

 private:
  struct Frame {
    uint32_t main_bytes = 0;  // of sound data it carries
    uint32_t back = 0;        // bytes before it that its sound begins
  };
  // Packets before frame `at` (counted from the back of frames_) that hold the
  // start of its sound.
  uint32_t Reach(size_t at) const;

  std::deque<Frame> frames_;
};

// Samples of a packet as it says itself; 0 when only decoding tells.
uint32_t PacketSamples(const std::string& codec, uint32_t sample_rate,
                       ByteSpan packet);

}  // namespace rowfs::plugin
#endif  // ROWFS_INDEX_PLUGINS_AUDIO_PREROLL_H_
