// The description of an encoded page, in the form its file version wants:
// PageLayout (2.2) or PlanarLayout (2.3). The buffers of both are the same.
//
// Values.
#ifndef ROWFS_STORAGE_LANCE_PAGE_LAYOUT_H_
#define ROWFS_STORAGE_LANCE_PAGE_LAYOUT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "storage/base/bytes.h"
#include "storage/lance/encodings.pb.h"
#include "storage/lance/page_levels.h"

namespace rowfs {

// One page ready to be written.
struct EncodedPage {
  std::string layout_type;  // the type URL
  std::string layout;       // the message, serialized
  std::vector<Bytes> buffers;
  uint64_t rows = 0;
};

struct MiniBlockParts {
  std::optional<lance::pb::CompressiveEncoding> rep;
  std::optional<lance::pb::CompressiveEncoding> def;
  lance::pb::CompressiveEncoding value;
  std::optional<lance::pb::CompressiveEncoding> dictionary;
  uint64_t dictionary_items = 0;
  uint64_t value_buffers = 0;
  uint64_t items = 0;
};

struct FullZipParts {
  uint32_t bits_rep = 0;
  uint32_t bits_def = 0;
  uint32_t bits_per_value = 0;   // or
  uint32_t bits_per_offset = 0;  // where values vary in size
  uint64_t items = 0;
  uint64_t visible_items = 0;
  lance::pb::CompressiveEncoding value;
};

void SetMiniBlock(const PageLevels& levels, const MiniBlockParts& parts,
                  bool planar, EncodedPage* page);
void SetFullZip(const PageLevels& levels, const FullZipParts& parts,
                bool planar, EncodedPage* page);
// Every slot that is not null has this value. `inline_value` absent: it is in
// the page's first buffer (not in planar pages).
void SetConstant(const LeafPage& leaf_page, const LeafColumn& leaf,
                 const PageLevels& levels,
                 const std::optional<std::string>& inline_value, bool planar,
                 EncodedPage* page);
// A page without any value.
void SetNoValues(const LeafPage& leaf_page, const LeafColumn& leaf,
                 const PageLevels& levels, bool planar, EncodedPage* page);

}  // namespace rowfs
#endif  // ROWFS_STORAGE_LANCE_PAGE_LAYOUT_H_
