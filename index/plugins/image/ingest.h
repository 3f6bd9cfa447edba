// A picture file becomes payload and index.
//
// No state.
#ifndef ROWFS_INDEX_PLUGINS_IMAGE_INGEST_H_
#define ROWFS_INDEX_PLUGINS_IMAGE_INGEST_H_

#include "index/abi/rowfs_plugin.h"
#include "index/plugins/common/status.h"

namespace rowfs::plugin {

// rowfs_plugin.ingest. The payload is the file as it is, but for JPEG, which
// gets restart markers without being decoded.
Status IngestImage(const rowfs_ingest_request& request);

}  // namespace rowfs::plugin
#endif  // ROWFS_INDEX_PLUGINS_IMAGE_INGEST_H_
