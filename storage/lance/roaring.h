// A set of 32-bit row offsets in the portable Roaring form: what deletion files
// hold. Memory stays in proportion to the bytes it was read from.
//
// Immutable after Decode or FromSorted; thread-safe.
#ifndef ROWFS_STORAGE_LANCE_ROARING_H_
#define ROWFS_STORAGE_LANCE_ROARING_H_

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "storage/base/bytes.h"
#include "storage/base/status.h"

namespace rowfs {

class RoaringBitmap {
 public:
  // Parse all of `bytes`. kCorruption, naming `what`, for anything that is not
  // one well-formed bitmap or holds a value of `limit` or more.
  static Result<RoaringBitmap> Decode(ByteSpan bytes, uint64_t limit,
                                      std::string_view what);
  // Requires: strictly increasing.
  static RoaringBitmap FromSorted(std::span<const uint32_t> values);

  // The portable form, without run containers.
  Bytes Encode() const;

  uint64_t size() const { return size_; }
  bool Contains(uint32_t value) const;
  // How many values are below `end`.
  uint64_t Rank(uint64_t end) const;
  // The smallest x that is not a value and has exactly `k` such numbers below
  // it: which physical row is live row `k`.
  uint64_t SelectAbsent(uint64_t k) const;
  // All values, increasing.
  std::vector<uint32_t> ToVector() const;

 private:
  enum class Kind : uint8_t { kArray, kBitmap, kRuns };
  struct Container {
    uint16_t key = 0;
    Kind kind = Kind::kArray;
    uint32_t size = 0;                 // values, 1 to 65536
    uint64_t before = 0;               // values in earlier containers
    std::vector<uint16_t> words;       // array: values; runs: first values
    std::vector<uint32_t> run_before;  // runs: values in earlier runs
    std::vector<uint64_t> bits;        // bitmap: 1024 words

    uint32_t Rank(uint32_t end) const;  // values below `end`, 0 to 65536
    bool Contains(uint16_t low) const;
    uint32_t RunLength(size_t i) const;
  };

  static Result<Container> DecodeContainer(Cursor* cursor, Kind kind,
                                           uint32_t size);
  static Status DecodeRuns(Cursor* cursor, Container* out);
  void Add(Container container);
  size_t FindContainer(uint64_t key) const;  // first with this key or above

  std::vector<Container> containers_;  // by key
  uint64_t size_ = 0;
};

}  // namespace rowfs
#endif  // ROWFS_STORAGE_LANCE_ROARING_H_
