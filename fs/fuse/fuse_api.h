// libfuse's low-level interface, at the version this project is written for.
// The only place that includes it.
#ifndef ROWFS_FS_FUSE_FUSE_API_H_
#define ROWFS_FS_FUSE_FUSE_API_H_

#define FUSE_USE_VERSION 312
#include <fuse3/fuse_lowlevel.h>

#endif  // ROWFS_FS_FUSE_FUSE_API_H_
