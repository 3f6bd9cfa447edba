// Reading a flatbuffer whose schema the caller knows: tables, vectors of tables
// and of structs. Every step is checked against the buffer.
//
// Views of bytes they do not own; thread-safe to read.
#ifndef ROWFS_STORAGE_LANCE_FLATBUFFER_H_
#define ROWFS_STORAGE_LANCE_FLATBUFFER_H_

#include <cstdint>
#include <optional>

#include "storage/base/bytes.h"
#include "storage/base/status.h"

namespace rowfs {

class FlatTable {
 public:
  // The table that the buffer's first word points to. kCorruption as all here.
  static Result<FlatTable> Root(ByteSpan buffer);

  // Field `index` as a little-endian integer of `width` bytes, or `missing`.
  Result<uint64_t> Integer(size_t index, size_t width, uint64_t missing) const;
  // The table that field `index` refers to; absent when not set.
  Result<std::optional<FlatTable>> Table(size_t index) const;

  struct Vector {
    uint64_t count = 0;
    ByteSpan bytes;       // of structs: count * struct_bytes
    uint64_t offset = 0;  // where it lies in the buffer
  };
  // Vector of inline elements of `element_bytes`; empty when not set.
  Result<Vector> Elements(size_t index, uint64_t element_bytes) const;
  // Element `i` of a vector of tables. Requires: from Elements(_, 4), i <
  // count.
  Result<FlatTable> TableAt(const Vector& vector, uint64_t i) const;

 private:
  FlatTable(ByteSpan buffer, uint64_t position)
      : buffer_(buffer), position_(position) {}
  static Result<FlatTable> At(ByteSpan buffer, uint64_t position);
  // Absolute position of field `index`; absent when not set.
  Result<std::optional<uint64_t>> Find(size_t index) const;
  Result<uint64_t> Follow(uint64_t position) const;

  ByteSpan buffer_;
  uint64_t position_;
};

}  // namespace rowfs
#endif  // ROWFS_STORAGE_LANCE_FLATBUFFER_H_
