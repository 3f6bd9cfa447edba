// Values as page encodings hand them on, before they become an Array of a type:
// encodings know bits and bytes, not whether 32 bits are a float or a date.
//
// Values; thread-safe to read.
#ifndef ROWFS_STORAGE_LANCE_VALUE_BLOCK_H_
#define ROWFS_STORAGE_LANCE_VALUE_BLOCK_H_

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "storage/base/bytes.h"
#include "storage/base/status.h"
#include "storage/table/array.h"

namespace rowfs {

// No page may decode to more than this; what would is refused before anything
// of that size is allocated.
inline constexpr uint64_t kDecodedBytesMax = uint64_t{1} << 30;

// While it lives, what this thread reads of a column may decode to `bytes`, and
// is refused likewise: for callers that can ask for fewer rows.
class DecodeLimit {
 public:
  explicit DecodeLimit(uint64_t bytes);
  ~DecodeLimit();
  DecodeLimit(const DecodeLimit&) = delete;
  DecodeLimit& operator=(const DecodeLimit&) = delete;

  // The limit in force: kDecodedBytesMax without one of these.
  static uint64_t Bytes();

 private:
  const uint64_t before_;
};

struct ValueBlock {
  enum class Shape : uint8_t {
    kFixed,     // `bits` a value in `data`; 1 bit LSB first, else whole bytes
    kVariable,  // `data` between `offsets`
    kList,      // `dimension` values of children[0] each
    kStruct,    // one value of each child
  };
  Shape shape = Shape::kFixed;
  uint64_t count = 0;
  uint64_t bits = 0;
  Bytes data;
  std::vector<uint64_t> offsets;  // count + 1, the first is 0; or empty
  uint64_t dimension = 0;
  // kList: which of the count * dimension items are valid, if any may be null.
  bool has_item_validity = false;
  Bytes item_validity;
  std::vector<ValueBlock> children;

  static ValueBlock Fixed(uint64_t bits) {
    return {.shape = Shape::kFixed, .bits = bits};
  }
  static ValueBlock Variable() {
    return {.shape = Shape::kVariable, .offsets = {0}};
  }
};

// Copy `count` bits of `from`, starting at bit `begin`, behind the first
// `at` bits of `*to`, which grows. Requires: `from` holds them.
void AppendBits(ByteSpan from, uint64_t begin, uint64_t count, Bytes* to,
                uint64_t at);
// `count` one bits behind the first `at` bits of `*to`.
void AppendOnes(uint64_t count, Bytes* to, uint64_t at);

// kResourceExhausted when `count` values of `bits` bits pass the limit.
// Returns the bytes they take.
Result<uint64_t> DecodedBytes(uint64_t count, uint64_t bits,
                              std::string_view what);

// Append value `i` of `from` for each of `indices`, which are checked
// (kCorruption). Requires: both of one shape.
Status GatherValues(const ValueBlock& from, std::span<const uint64_t> indices,
                    ValueBlock* to);

// The same of indices that are the integers of a kFixed block of 8, 16, 32 or
// 64 bits.
Status GatherAt(const ValueBlock& from, const ValueBlock& indices,
                ValueBlock* to);

// Make room for `count` values more, whose variable bytes are about `bytes`.
void Reserve(uint64_t count, uint64_t bytes, ValueBlock* block);

// Append `count` values without content: zeros, empty bytes, lists and structs
// of such. What stands in a slot that a null covers.
void AppendBlank(uint64_t count, ValueBlock* to);

// The unsigned integers of a kFixed block of 8, 16, 32 or 64 bits.
std::vector<uint64_t> ToIntegers(const ValueBlock& block);

// Make the block an array of `type`. kCorruption when it cannot be one: other
// shape or width, or text and offsets too large. For structs `type` has one
// child per child block.
Result<Array> ToArray(ValueBlock block, const TypePtr& type);

}  // namespace rowfs
#endif  // ROWFS_STORAGE_LANCE_VALUE_BLOCK_H_
