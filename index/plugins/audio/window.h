// A window of samples: which packets it takes, and how it is decoded from them.
//
// Where the codec lets a fresh decoder give what a decode from the start gives,
// a window is one decode. Elsewhere sound is cut into blocks of one second from
// sample 0, each decoded by a decoder of its own after its pre-roll, and a
// window is made of cuts of these: so windows that overlap agree, and all of
// them are a function of the index and the blob alone.
//
// No state.
#ifndef ROWFS_INDEX_PLUGINS_AUDIO_WINDOW_H_
#define ROWFS_INDEX_PLUGINS_AUDIO_WINDOW_H_

#include <cstdint>
#include <functional>
#include <vector>

#include "index/plugins/audio/sound_index.h"

namespace rowfs::plugin {

struct Window {
  uint64_t begin = 0;  // samples
  uint64_t end = 0;
  uint64_t size() const { return end - begin; }
};

struct ByteRange {
  uint64_t begin = 0;
  uint64_t end = 0;
};

// The packets one decoder takes: [first, last], of which the sound of
// [wanted, last] is used.
struct DecodeRun {
  uint32_t first = 0;
  uint32_t wanted = 0;
  uint32_t last = 0;
  Window window;
};

// Requires: window is not empty and within the sound; not for linear sounds.
std::vector<DecodeRun> RunsOf(const SoundIndex& index, const Window& window);

// The bytes those runs need: one range, or several where the container puts
// much between the packets.
std::vector<ByteRange> RangesOf(const SoundIndex& index,
                                const std::vector<DecodeRun>& runs);

// Bytes of packets out of ranges that were read.
class PacketBytes {
 public:
  // Both must outlive the object. ROWFS_E_INVALID later when they do not fit.
  PacketBytes(const SoundIndex& index, const std::vector<ByteRange>& ranges,
              const std::vector<ByteSpan>& bytes)
      : index_(index), ranges_(ranges), bytes_(bytes) {}

  // The bytes of packets [first, last], in order.
  Status ForEach(uint32_t first, uint32_t last,
                 const std::function<Status(uint32_t, ByteSpan)>& take) const;
  // The bytes [begin, end) of the blob.
  Result<ByteSpan> Find(uint64_t begin, uint64_t end) const;

 private:
  Status WalkOgg(uint32_t first, uint32_t last,
                 const std::function<Status(uint32_t, ByteSpan)>& take) const;

  const SoundIndex& index_;
  const std::vector<ByteRange>& ranges_;
  const std::vector<ByteSpan>& bytes_;
};

// The samples of `runs`, one behind the other, in head.type. ROWFS_E_CORRUPT
// when a packet does not give what the index says.
Status DecodeRuns(const SoundIndex& index, const std::vector<DecodeRun>& runs,
                  const PacketBytes& packets, Bytes* out);

}  // namespace rowfs::plugin
#endif  // ROWFS_INDEX_PLUGINS_AUDIO_WINDOW_H_
