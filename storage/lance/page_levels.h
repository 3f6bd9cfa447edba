// The structure of one page: which nulls and empties occur in it, its levels
// numbered accordingly, and the same as sparse position sets.
//
// Pure functions; thread-safe.
#ifndef ROWFS_STORAGE_LANCE_PAGE_LEVELS_H_
#define ROWFS_STORAGE_LANCE_PAGE_LEVELS_H_

#include <cstdint>
#include <vector>

#include "storage/lance/encodings.pb.h"
#include "storage/lance/shred.h"

namespace rowfs {

struct PageLevels {
  std::vector<lance::pb::RepDefLayer> layers;  // innermost first
  std::vector<uint16_t> rep;                   // empty without lists
  std::vector<uint16_t> def;  // empty when nothing is null or empty
  uint16_t max_rep = 0;
  uint16_t max_def = 0;
  uint16_t max_visible = 0;  // higher definition levels have no slot
  bool all_null = false;     // no slot has a value
};

// Number the definition levels of `page` by what occurs in it.
PageLevels NumberLevels(const LeafPage& page, const LeafColumn& leaf);

// The levels, rows and slots of a page as one layer of positions each; what
// 2.3 stores for pages without any value. `buffers` gets the sequences that
// need one.
lance::pb::PlanarLayout::Sparse SparseLayers(const LeafPage& page,
                                             const LeafColumn& leaf,
                                             std::vector<Bytes>* buffers);

}  // namespace rowfs
#endif  // ROWFS_STORAGE_LANCE_PAGE_LEVELS_H_
