// .info.json of a sound.
//
// Pure functions.
#ifndef ROWFS_INDEX_PLUGINS_AUDIO_INFO_JSON_H_
#define ROWFS_INDEX_PLUGINS_AUDIO_INFO_JSON_H_

#include <string>

#include "index/plugins/audio/sound_index.h"

namespace rowfs::plugin {

// What a program wants to know before it opens a segment.
std::string SoundInfoJson(const SoundIndex& index);

}  // namespace rowfs::plugin
#endif  // ROWFS_INDEX_PLUGINS_AUDIO_INFO_JSON_H_
