// CONFIG of the audio plugin: "segment=0.5,sample=f32".
//
// No state.
#ifndef ROWFS_INDEX_PLUGINS_AUDIO_SOUND_CONFIG_H_
#define ROWFS_INDEX_PLUGINS_AUDIO_SOUND_CONFIG_H_

#include <optional>
#include <string_view>

#include "index/plugins/audio/sound_index.h"

namespace rowfs::plugin {

struct SoundConfig {
  std::optional<uint64_t> segment_ns;  // segment=SECONDS
  std::optional<SampleType> type;      // sample=u8|s16|s24|s32|f32|f64
};

// ROWFS_E_INVALID for a bad value. At read time one text serves all plugins, so
// other keys are not an error; with `strict`, at ingest, they are.
Result<SoundConfig> ParseSoundConfig(std::string_view text, bool strict);

// "s16"
std::string_view NameOf(SampleType type);

}  // namespace rowfs::plugin
#endif  // ROWFS_INDEX_PLUGINS_AUDIO_SOUND_CONFIG_H_
