// What only JPEG can: restart markers without decoding.
//
// Functions without state.
#ifndef ROWFS_INDEX_PLUGINS_IMAGE_JPEG_FILE_H_
#define ROWFS_INDEX_PLUGINS_IMAGE_JPEG_FILE_H_

#include "index/plugins/image/byte_source.h"
#include "index/plugins/image/image_index.h"

namespace rowfs::plugin {

// The file with a restart marker behind every row of MCUs, one scan, the same
// coefficients, all its metadata. ROWFS_E_UNSUPPORTED when libjpeg cannot, or
// finds damage; ROWFS_E_LIMIT above 256 MiB.
Result<Bytes> AddRestarts(ByteSource* file);

// An index of such a file whose cells are the rows.
Status IndexBands(ByteSpan jpeg, ImageIndex* index);

}  // namespace rowfs::plugin
#endif  // ROWFS_INDEX_PLUGINS_IMAGE_JPEG_FILE_H_
