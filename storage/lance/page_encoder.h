// Turns a buffered leaf into pages: chooses between the structural layouts
// (constant, mini-block with or without a dictionary, full-zip) by what the
// values are, the way other Lance writers do, and encodes.
//
// Pure functions; thread-safe. Deterministic: the same page gives the same
// bytes.
#ifndef ROWFS_STORAGE_LANCE_PAGE_ENCODER_H_
#define ROWFS_STORAGE_LANCE_PAGE_ENCODER_H_

#include <vector>

#include "storage/lance/page_layout.h"

namespace rowfs {

// One page, or several when the rows do not fit the limits of one (more levels
// than a chunk can hold, more distinct values than a dictionary's index type).
// `planar`: for file version 2.3. kUnsupported when a single row does not fit.
// Requires: page.rows > 0.
Result<std::vector<EncodedPage>> EncodePages(const LeafPage& page,
                                             const LeafColumn& leaf,
                                             bool planar);

}  // namespace rowfs
#endif  // ROWFS_STORAGE_LANCE_PAGE_ENCODER_H_
