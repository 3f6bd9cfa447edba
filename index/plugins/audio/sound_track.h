// One track of packets on its way into a SoundIndex: how many samples each
// gives, which of them are heard and how much pre-roll it needs, with the proof
// of that when one is asked for.
//
// One thread at a time.
#ifndef ROWFS_INDEX_PLUGINS_AUDIO_SOUND_TRACK_H_
#define ROWFS_INDEX_PLUGINS_AUDIO_SOUND_TRACK_H_

#include <deque>
#include <memory>
#include <optional>

#include "index/plugins/audio/envelope.h"
#include "index/plugins/audio/preroll.h"
#include "index/plugins/audio/sound_decoder.h"
#include "index/plugins/audio/sound_index.h"
#include "index/plugins/audio/trims.h"
#include "index/plugins/audio/verifier.h"

namespace rowfs::plugin {

class SoundTrack {
 public:
  // The packets go into `index`, which says how to decode them and outlives the
  // track. `verify`: ROWFS_VERIFY_. `skip`: samples to drop before any packet
  // says so. Sets head.exact to what the codec promises. ROWFS_E_UNSUPPORTED
  // when no decoder takes the sound.
  static Result<std::unique_ptr<SoundTrack>> Open(SoundIndex* index,
                                                  int32_t verify,
                                                  uint32_t skip);

  // Put the next packet behind index->packets. Its place is for the caller.
  Status Add(const SourcePacket& source);
  // A packet that is in the index already, with its place and its samples: what
  // of it is heard. Needs no more than the packets at both ends, in order.
  void AddListed(const SourcePacket& source, SoundPacket* packet);
  // Packets are missing between those given to AddListed.
  void SkipListed() { tail_.clear(); }
  // There are no more packets: head.samples, the envelope, and what only the
  // end tells. ROWFS_E_CORRUPT when nothing is heard.
  Status Finish();

  bool verifies() const { return verify_ != ROWFS_VERIFY_OFF; }
  SoundDecoder& decoder() { return *decoder_; }
  Envelope& envelope() { return envelope_; }

 private:
  SoundTrack(SoundIndex* index, int32_t verify, uint32_t skip)
      : index_(index), verify_(verify), trims_(skip) {}
  Result<uint32_t> CountSamples(ByteSpan data, Bytes* samples);
  // Decode the last packets, which nobody has decoded.
  Status DecodeTail();
  Status DecodeRest();

  SoundIndex* index_;
  const int32_t verify_;
  Trims trims_;
  std::unique_ptr<SoundDecoder> decoder_;
  std::optional<Verifier> verifier_;
  Mp3Reservoir reservoir_;
  Envelope envelope_;
  std::deque<Bytes> tail_;  // the last packets
};

// Packets at the end that are decoded even when nothing is verified, since
// there decoders differ from what packets say; and those before them that the
// decoder may need.
inline constexpr size_t kTailPackets = 4;
inline constexpr size_t kTailHeld = 16;

}  // namespace rowfs::plugin
#endif  // ROWFS_INDEX_PLUGINS_AUDIO_SOUND_TRACK_H_
