#include "storage/lance/row_ids.h"

#include <algorithm>
#include <bit>

#include "storage/lance/parse_message.h"

namespace rowfs {
namespace {

namespace pb = lance::pb;

Status Corrupt(std::string_view message) {
  return Status(Code::kCorruption, "row ids: " + std::string(message));
}

Result<std::vector<uint64_t>> DecodeArray(const pb::EncodedU64Array& array) {
  uint64_t base = 0;
  size_t width = 8;
  std::string_view text;
  if (array.has_u16_array()) {
    base = array.u16_array().base();
    width = 2;
    text = array.u16_array().offsets();
  } else if (array.has_u32_array()) {
    base = array.u32_array().base();
    width = 4;
    text = array.u32_array().offsets();
  } else {
    text = array.u64_array().values();
  }
  if (text.size() % width != 0) return Corrupt("cut off array");
  const ByteSpan bytes = AsBytes(text);
  std::vector<uint64_t> values;
  values.reserve(bytes.size() / width);
  for (size_t i = 0; i < bytes.size(); i += width) {
    const auto value = CheckedAdd(base, LoadUint(bytes.subspan(i), width));
    if (!value) return Corrupt("id above 64 bits");
    values.push_back(*value);
  }
  return values;
}

uint64_t CountBits(std::string_view bitmap, uint64_t bits) {
  uint64_t count = 0;
  for (uint64_t i = 0; i < bits / 8; ++i) {
    count += static_cast<uint64_t>(
        std::popcount(static_cast<unsigned char>(bitmap[i])));
  }
  for (uint64_t i = bits / 8 * 8; i < bits; ++i) {
    count += static_cast<unsigned char>(bitmap[i / 8]) >> (i % 8) & 1;
  }
  return count;
}

}  // namespace

// Turns one message segment into ours, checked.
class RowIdDecoder {
 public:
  using Segment = RowIdSequence::Segment;

  static Result<Segment> Decode(const pb::U64Segment& segment) {
    switch (segment.segment_case()) {
      case pb::U64Segment::kRange:
        return Range(segment.range().start(), segment.range().end());
      case pb::U64Segment::kRangeWithHoles:
        return Holes(segment.range_with_holes());
      case pb::U64Segment::kRangeWithBitmap:
        return Bitmap(segment.range_with_bitmap());
      case pb::U64Segment::kSortedArray:
        return IdArray(segment.sorted_array());
      case pb::U64Segment::kArray:
        return IdArray(segment.array());
      case pb::U64Segment::SEGMENT_NOT_SET:
        break;
    }
    return Corrupt("segment of an unknown kind");
  }

 private:
  static Result<Segment> Range(uint64_t start, uint64_t end) {
    if (end < start) return Corrupt("range ends before it starts");
    Segment out;
    out.start = start;
    out.count = end - start;
    return out;
  }

  static Result<Segment> Holes(const pb::U64Segment::RangeWithHoles& range) {
    ROWFS_ASSIGN_OR_RETURN(Segment out, Range(range.start(), range.end()));
    ROWFS_ASSIGN_OR_RETURN(out.values, DecodeArray(range.holes()));
    for (size_t i = 0; i < out.values.size(); ++i) {
      const uint64_t hole = out.values[i];
      if (hole < range.start() || hole >= range.end() ||
          (i > 0 && hole <= out.values[i - 1])) {
        return Corrupt("holes out of range or order");
      }
    }
    out.count -= out.values.size();
    return out;
  }

  static Result<Segment> Bitmap(const pb::U64Segment::RangeWithBitmap& range) {
    ROWFS_ASSIGN_OR_RETURN(Segment out, Range(range.start(), range.end()));
    if (range.bitmap().size() != out.count / 8 + (out.count % 8 != 0 ? 1 : 0)) {
      return Corrupt("bitmap does not fit its range");
    }
    out.bitmap = range.bitmap();
    out.count = CountBits(out.bitmap, out.count);
    return out;
  }

  static Result<Segment> IdArray(const pb::EncodedU64Array& array) {
    Segment out;
    out.is_array = true;
    ROWFS_ASSIGN_OR_RETURN(out.values, DecodeArray(array));
    out.count = out.values.size();
    return out;
  }
};

Result<uint64_t> CountSegment(const pb::U64Segment& segment) {
  ROWFS_ASSIGN_OR_RETURN(const auto decoded, RowIdDecoder::Decode(segment));
  return decoded.count;
}

Result<RowIdSequence> RowIdSequence::Decode(ByteSpan bytes,
                                            uint64_t row_count) {
  pb::RowIdSequence message;
  if (!ParseMessage(bytes, &message)) {
    return Corrupt("not a valid message");
  }
  RowIdSequence out;
  for (const pb::U64Segment& stored : message.segments()) {
    ROWFS_ASSIGN_OR_RETURN(Segment segment, RowIdDecoder::Decode(stored));
    if (segment.count > row_count - out.size_) {
      return Corrupt("more than the fragment's " + std::to_string(row_count) +
                     " rows");
    }
    if (segment.count == 0) continue;
    segment.before = out.size_;
    out.size_ += segment.count;
    out.segments_.push_back(std::move(segment));
  }
  if (out.size_ != row_count) {
    return Corrupt(std::to_string(out.size_) + " for " +
                   std::to_string(row_count) + " rows");
  }
  return out;
}

uint64_t RowIdSequence::At(uint64_t row) const {
  const auto next =
      std::upper_bound(segments_.begin(), segments_.end(), row,
                       [](uint64_t value, const Segment& segment) {
                         return value < segment.before;
                       });
  const Segment& segment = *(next - 1);
  const uint64_t i = row - segment.before;
  if (segment.is_array) return segment.values[i];
  if (segment.bitmap.empty()) {
    // The holes below the answer: the first one that leaves room for it.
    size_t low = 0;
    size_t high = segment.values.size();
    while (low < high) {
      const size_t middle = (low + high) / 2;
      if (segment.values[middle] - segment.start - middle <= i) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return segment.start + i + low;
  }
  uint64_t left = i;
  uint64_t bit = 0;
  while (true) {
    const auto byte = static_cast<unsigned char>(segment.bitmap[bit / 8]);
    const auto count = static_cast<uint64_t>(std::popcount(byte));
    if (left < count) break;
    left -= count;
    bit += 8;
  }
  while (true) {
    const auto byte = static_cast<unsigned char>(segment.bitmap[bit / 8]);
    const bool present = (byte >> (bit % 8) & 1) != 0;
    if (present && left == 0) return segment.start + bit;
    if (present) --left;
    ++bit;
  }
}

std::string RowIdSequence::Encode(const std::vector<uint64_t>& ids) {
  pb::RowIdSequence message;
  // A range costs a few bytes, an id in an array 8: short runs join an array.
  constexpr size_t kRangeFrom = 4;
  std::string loose;
  const auto flush = [&] {
    if (loose.empty()) return;
    message.add_segments()->mutable_array()->mutable_u64_array()->set_values(
        loose);
    loose.clear();
  };
  size_t begin = 0;
  while (begin < ids.size()) {
    size_t end = begin + 1;
    while (end < ids.size() && ids[end] == ids[end - 1] + 1) ++end;
    if (end - begin >= kRangeFrom && ids[end - 1] != UINT64_MAX) {
      flush();
      auto* range = message.add_segments()->mutable_range();
      range->set_start(ids[begin]);
      range->set_end(ids[end - 1] + 1);
    } else {
      for (size_t i = begin; i < end; ++i) {
        Bytes word;
        AppendU64(&word, ids[i]);
        loose += AsText(word);
      }
    }
    begin = end;
  }
  flush();
  return message.SerializeAsString();
}

}  // namespace rowfs
