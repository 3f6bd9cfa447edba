// From a media file to payload, stream_info and entries.
//
// No state; one thread at a time.
#ifndef ROWFS_INDEX_PLUGINS_VIDEO_INGEST_H_
#define ROWFS_INDEX_PLUGINS_VIDEO_INGEST_H_

#include "index/plugins/common/status.h"

namespace rowfs::plugin {

// As rowfs_plugin.h says. ROWFS_E_UNSUPPORTED: no video in it, a codec or a
// packet layout that cannot be stored; ROWFS_E_CORRUPT: no frame decodes.
// Reads the file once, front to back as far as the container allows; memory is
// bounded by a few GOPs.
Status IngestVideo(const rowfs_ingest_request& request);

}  // namespace rowfs::plugin
#endif  // ROWFS_INDEX_PLUGINS_VIDEO_INGEST_H_
