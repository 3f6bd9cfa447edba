// A leaf column while it waits to become a page: its values one behind the
// other and the levels that say how they nest (repetition and definition, as
// the format numbers them, but with a number for every kind of null and empty
// there could be; the page encoder drops the ones that do not occur).
//
// Values; not thread-safe to mutate concurrently.
#ifndef ROWFS_STORAGE_LANCE_LEAF_PAGE_H_
#define ROWFS_STORAGE_LANCE_LEAF_PAGE_H_

#include <cstdint>
#include <vector>

#include "storage/base/bytes.h"
#include "storage/table/array.h"

namespace rowfs {

// Bits one behind the other, LSB first.
class BitBuffer {
 public:
  uint64_t size() const { return size_; }
  const Bytes& bytes() const { return bytes_; }
  bool At(uint64_t i) const;
  void Append(bool bit);
  void AppendRun(bool bit, uint64_t count);
  // `count` bits of `source` from bit `begin` on.
  void AppendFrom(ByteSpan source, uint64_t begin, uint64_t count);
  // The bits [begin, begin + count) as bytes; spare bits are 0.
  Bytes Extract(uint64_t begin, uint64_t count) const;

 private:
  Bytes bytes_;
  uint64_t size_ = 0;
};

enum class LeafShape : uint8_t {
  kNull,      // no values at all: the null type
  kBits,      // booleans
  kFixed,     // whole bytes a value
  kVariable,  // strings, binaries, rows of blob descriptors
};

// How the values of a leaf lie; follows from its type alone.
struct LeafLayout {
  LeafShape shape = LeafShape::kFixed;
  uint32_t width = 0;        // kFixed: bytes an element
  uint32_t offset_bits = 0;  // kVariable: 32 or 64
  // Fixed-size lists, outermost first: a value is their product of elements.
  std::vector<uint32_t> dimensions;
  bool text = false;        // bytes are text: worth a symbol table
  uint32_t index_bits = 0;  // Arrow dictionary: bits of its index type
  bool blob = false;        // rows of blob descriptors

  uint64_t elements() const;  // a value
};

// The layout of a leaf type; kUnsupported names the type.
Result<LeafLayout> MakeLeafLayout(const DataType& type);

enum class LayerKind : uint8_t { kItem, kList };

struct LeafPage {
  uint64_t rows = 0;
  uint64_t slots = 0;   // values, nulls included
  uint64_t levels = 0;  // entries: slots and the empty and null lists
  uint16_t max_visible = UINT16_MAX;  // higher definition levels have no slot
  // Empty while all are 0. `def` counts from the innermost layer on: one number
  // for an item layer (null), two for a list layer (null, empty).
  std::vector<uint16_t> rep;
  std::vector<uint16_t> def;

  BitBuffer bits;              // kBits
  Bytes data;                  // kFixed, kVariable
  std::vector<uint64_t> ends;  // kVariable, one a slot
  // By dimension: which items are valid; empty while all are.
  std::vector<BitBuffer> item_validity;

  // kVariable rows of blob descriptors: one of them carries blob_info.
  bool blob_info = false;

  // About what the page will take on disk, uncompressed.
  uint64_t byte_size() const;
  ByteSpan BytesAt(uint64_t slot) const;
  // Levels stay unallocated until the first one that is not 0.
  void AppendDef(uint16_t value, uint64_t count = 1);
};

// Rows [begin, end) of `page`; `lists` is the number of list layers.
LeafPage SlicePage(const LeafPage& page, const LeafLayout& layout,
                   uint16_t lists, uint64_t begin, uint64_t end);

// The highest definition level that still has a slot: the numbers of the layers
// inside the innermost list. `layers` innermost first.
uint16_t MaxVisibleLevel(const std::vector<LayerKind>& layers);

}  // namespace rowfs
#endif  // ROWFS_STORAGE_LANCE_LEAF_PAGE_H_
