// Stable row ids of a fragment: one 64-bit id a physical row, kept in the
// segment forms the manifest stores them in.
//
// Immutable; thread-safe.
#ifndef ROWFS_STORAGE_LANCE_ROW_IDS_H_
#define ROWFS_STORAGE_LANCE_ROW_IDS_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "storage/base/bytes.h"
#include "storage/base/status.h"
#include "storage/lance/table.pb.h"

namespace rowfs {

// How many numbers a segment holds. kCorruption when it contradicts itself.
Result<uint64_t> CountSegment(const lance::pb::U64Segment& segment);

class RowIdSequence {
 public:
  // Parse a serialised RowIdSequence; kCorruption unless it holds exactly
  // `row_count` ids and no segment contradicts itself.
  static Result<RowIdSequence> Decode(ByteSpan bytes, uint64_t row_count);

  // The id of physical row `row`. Requires: row < row_count. Costs a binary
  // search; in a bitmap segment a scan of its bitmap.
  uint64_t At(uint64_t row) const;

  // `ids` as a serialised RowIdSequence: ranges where they run on, else arrays.
  static std::string Encode(const std::vector<uint64_t>& ids);

 private:
  struct Segment {
    uint64_t before = 0;  // ids in earlier segments
    uint64_t count = 0;
    bool is_array = false;
    uint64_t start = 0;            // ranges
    std::vector<uint64_t> values;  // array: ids; else: holes, increasing
    std::string bitmap;            // least significant bit first, 1 = present
  };

  std::vector<Segment> segments_;
  uint64_t size_ = 0;

  friend class RowIdDecoder;
};

}  // namespace rowfs
#endif  // ROWFS_STORAGE_LANCE_ROW_IDS_H_
