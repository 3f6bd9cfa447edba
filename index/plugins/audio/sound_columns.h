// `entries` of a sound: the packets and pages of a SoundIndex in columns, each
// as runs of equal values, so that constant columns take no room.
//
// No state.
#ifndef ROWFS_INDEX_PLUGINS_AUDIO_SOUND_COLUMNS_H_
#define ROWFS_INDEX_PLUGINS_AUDIO_SOUND_COLUMNS_H_

#include "index/plugins/audio/sound_index.h"

namespace rowfs::plugin {

Bytes WriteColumns(const SoundIndex& index);

// Reads what WriteColumns wrote into `index`, whose head is complete.
// ROWFS_E_CORRUPT for anything that breaks a bound.
Status ReadColumns(ByteSpan entries, SoundIndex* index);

}  // namespace rowfs::plugin
#endif  // ROWFS_INDEX_PLUGINS_AUDIO_SOUND_COLUMNS_H_
