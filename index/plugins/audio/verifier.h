// The proof that planned pre-roll works: while a sound is decoded from its
// start, fresh decoders start about once a second (or at every packet) as the
// planner would and must give the same samples. Where they do not, pre-roll
// grows; where that does not help, the sound is not exact.
//
// One thread at a time.
#ifndef ROWFS_INDEX_PLUGINS_AUDIO_VERIFIER_H_
#define ROWFS_INDEX_PLUGINS_AUDIO_VERIFIER_H_

#include <cstdint>
#include <deque>

#include "index/plugins/audio/sound_index.h"

namespace rowfs::plugin {

class Verifier {
 public:
  // Changes prerolls and head.exact of `index`, whose packets come one by one.
  Verifier(SoundIndex* index, bool every_packet)
      : index_(index), every_packet_(every_packet) {}

  // Whether Add needs the samples of the next packet.
  bool Wants() const { return index_->head.exact; }
  // The last packet of the index was added: its bytes and its samples.
  Status Add(ByteSpan data, Bytes samples);
  // There are no more packets.
  Status Finish();

 private:
  struct Held {
    Bytes data;
    Bytes samples;
  };

  // Compare packet `target` and the ones held behind it.
  Status Check(size_t target);
  Result<bool> Matches(size_t target, uint32_t preroll);
  size_t first_held() const { return index_->packets.size() - held_.size(); }

  SoundIndex* index_;
  const bool every_packet_;
  std::deque<Held> held_;  // the last packets of the index
  uint64_t decoded_ = 0;
  uint64_t next_check_ = 0;
  bool pending_ = false;  // the packet before the last is to be checked
  uint32_t extra_ = 0;    // added to every pre-roll
};

}  // namespace rowfs::plugin
#endif  // ROWFS_INDEX_PLUGINS_AUDIO_VERIFIER_H_
