// Making the index of a sound, and the payload it points into.
//
// No state.
#ifndef ROWFS_INDEX_PLUGINS_AUDIO_INGEST_H_
#define ROWFS_INDEX_PLUGINS_AUDIO_INGEST_H_

#include "index/plugins/common/status.h"

namespace rowfs::plugin {

// The plugin's `ingest`. The file is demuxed once; with verify on it is decoded
// once from the start, which tells how many samples each packet gives and
// which of them are heard, and again in places to see that the planned pre-roll
// gives the same. ROWFS_E_UNSUPPORTED for what has no sound or no decoder here.
Status IngestSound(const rowfs_ingest_request& request);

}  // namespace rowfs::plugin
#endif  // ROWFS_INDEX_PLUGINS_AUDIO_INGEST_H_
