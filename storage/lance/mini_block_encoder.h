// Mini-block pages: chunks of values with their levels in front.
//
// Pure functions; thread-safe.
#ifndef ROWFS_STORAGE_LANCE_MINI_BLOCK_ENCODER_H_
#define ROWFS_STORAGE_LANCE_MINI_BLOCK_ENCODER_H_

#include <optional>

#include "storage/lance/chunk_encoder.h"
#include "storage/lance/dictionary_encoder.h"
#include "storage/lance/page_layout.h"

namespace rowfs {

// `dictionary` may be null; else the values are indices into it. Absent when a
// chunk would have more levels than its header can count.
std::optional<EncodedPage> EncodeMiniBlock(const PageLevels& levels,
                                           const ChunkedValues& values,
                                           const DictionaryItems* dictionary,
                                           bool planar);

}  // namespace rowfs
#endif  // ROWFS_STORAGE_LANCE_MINI_BLOCK_ENCODER_H_
