// A small picture of a whole sound: lowest and highest sample of each part,
// black on white. Written without compression, so its size is known before it
// is made.
//
// Pure functions.
#ifndef ROWFS_INDEX_PLUGINS_AUDIO_WAVEFORM_H_
#define ROWFS_INDEX_PLUGINS_AUDIO_WAVEFORM_H_

#include <vector>

#include "index/plugins/audio/envelope.h"
#include "index/plugins/audio/window.h"

namespace rowfs::plugin {

inline constexpr uint32_t kWaveformWidth = 512;
inline constexpr uint32_t kWaveformHeight = 128;

enum class WaveformFormat : uint8_t { kPng = 0, kPpm = 1 };

uint64_t WaveformSize(WaveformFormat format);
Bytes DrawWaveform(const std::vector<Peaks>& parts, WaveformFormat format);

// Of an index without peaks: the windows that stand for the sound. All of a
// short one, a few short pieces of a long one.
std::vector<Window> WaveformWindows(const SoundIndex& index);

}  // namespace rowfs::plugin
#endif  // ROWFS_INDEX_PLUGINS_AUDIO_WAVEFORM_H_
