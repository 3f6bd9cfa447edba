// Headers of uncompressed sound files: WAV (RF64 past 4 GiB) and AIFF.
//
// Pure functions.
#ifndef ROWFS_INDEX_PLUGINS_AUDIO_WAV_H_
#define ROWFS_INDEX_PLUGINS_AUDIO_WAV_H_

#include <cstdint>

#include "index/plugins/audio/sound_index.h"

namespace rowfs::plugin {

struct WavFormat {
  uint16_t tag = 1;  // 1 whole numbers, 3 floating point, 6 A-law, 7 mu-law
  uint16_t channels = 1;
  uint32_t sample_rate = 0;
  uint16_t bits = 16;
  uint64_t channel_mask = 0;
};

WavFormat WavFormatOf(SampleType type, const SoundIndex& index);

// What stands before the samples; after them comes one zero byte when
// data_bytes is odd. More than two channels are described by their speakers.
Bytes WavHeader(const WavFormat& format, uint64_t data_bytes);
uint64_t WavSize(const WavFormat& format, uint64_t data_bytes);

// The head of an AIFF (AIFF-C for floating point) of big-endian samples.
// Requires: the sound fits its 32-bit sizes.
Bytes AiffHeader(const SoundIndex& index, bool floating, uint64_t data_bytes);
// What of a sound an AIFF holds.
inline constexpr uint64_t kAiffBytesMax = UINT32_MAX - 256;

}  // namespace rowfs::plugin
#endif  // ROWFS_INDEX_PLUGINS_AUDIO_WAV_H_
