// Peaks of a sound in equal parts, which grow as it goes on.
//
// Values without locks.
#ifndef ROWFS_INDEX_PLUGINS_AUDIO_ENVELOPE_H_
#define ROWFS_INDEX_PLUGINS_AUDIO_ENVELOPE_H_

#include <cstdint>
#include <utility>
#include <vector>

namespace rowfs::plugin {

using Peaks = std::pair<int16_t, int16_t>;  // lowest, highest
inline constexpr Peaks kNoPeaks = {INT16_MAX, INT16_MIN};

class Envelope {
 public:
  // The next `samples` samples lie between `peaks`.
  void Add(Peaks peaks, uint32_t samples);
  // At most kEnvelopeMax parts; empty when nothing was added.
  std::vector<Peaks> Finish();

 private:
  std::vector<Peaks> parts_;
  Peaks open_ = kNoPeaks;
  uint64_t held_ = 0;
  uint64_t step_ = 1024;  // samples in a part
};

}  // namespace rowfs::plugin
#endif  // ROWFS_INDEX_PLUGINS_AUDIO_ENVELOPE_H_
