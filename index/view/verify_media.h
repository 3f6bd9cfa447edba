// Whether a blob_info and its blob belong together, as far as the plugin that
// wrote it can tell.
//
// Function without shared state; thread-safe.
#ifndef ROWFS_INDEX_VIEW_VERIFY_MEDIA_H_
#define ROWFS_INDEX_VIEW_VERIFY_MEDIA_H_

#include "index/view/media.h"

namespace rowfs {

// The plugin opens the whole index; every file of every listed view can be
// planned; what the plans read lies inside the blob and what they make has the
// size that is told; times in a view do not go back. With `decode` the key
// frames of each view, or its first file where it has no such thing, are read
// and decoded too. The first problem, with its path. Requires: `media` was made
// with its index in full. Reads nothing of the blob without `decode`.
Status VerifyMedia(const Media& media, bool decode);

}  // namespace rowfs
#endif  // ROWFS_INDEX_VIEW_VERIFY_MEDIA_H_
