// Full-zip pages: every value behind its own control word, at a place that can
// be computed or looked up, so that one value is one small read.
//
// Pure functions; thread-safe.
#ifndef ROWFS_STORAGE_LANCE_FULL_ZIP_ENCODER_H_
#define ROWFS_STORAGE_LANCE_FULL_ZIP_ENCODER_H_

#include "storage/lance/page_layout.h"

namespace rowfs {

// `longest`: bytes of the longest value; long values are compressed one by one
// where that helps (or as field metadata `lance-encoding:compression` says).
EncodedPage EncodeFullZip(const LeafPage& page, const LeafColumn& leaf,
                          const PageLevels& levels, uint64_t longest,
                          bool planar);

}  // namespace rowfs
#endif  // ROWFS_STORAGE_LANCE_FULL_ZIP_ENCODER_H_
