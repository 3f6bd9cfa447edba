// Dictionaries of one page: distinct values once, and an index a slot.
//
// Pure functions; thread-safe.
#ifndef ROWFS_STORAGE_LANCE_DICTIONARY_ENCODER_H_
#define ROWFS_STORAGE_LANCE_DICTIONARY_ENCODER_H_

#include <optional>

#include "storage/lance/block_encoder.h"
#include "storage/lance/chunk_encoder.h"
#include "storage/lance/shred.h"

namespace rowfs {

struct DictionaryItems {
  EncodedBlock block;
  uint64_t count = 0;
};

struct PageDictionary {
  ChunkedValues indices;
  DictionaryItems items;
};

// A dictionary where it pays: enough values, few enough distinct ones (field
// metadata `lance-encoding:dict-divisor` and `dict-size-ratio` move the
// limits). Absent otherwise. `planar`: fixed-size lists are worth one, too; no
// reader of 2.2 expects it there.
std::optional<PageDictionary> TryDictionary(const LeafPage& page,
                                            const LeafColumn& leaf,
                                            bool planar);

// The dictionary of a column of Arrow's dictionary type, whose indices have the
// width of its index type; absent when they cannot count the distinct values.
std::optional<PageDictionary> BuildIndexDictionary(const LeafPage& page,
                                                   const LeafLayout& layout);

}  // namespace rowfs
#endif  // ROWFS_STORAGE_LANCE_DICTIONARY_ENCODER_H_
