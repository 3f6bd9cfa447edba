#include "storage/lance/roaring.h"

#include <algorithm>
#include <bit>

namespace rowfs {
namespace {

// The RoaringFormatSpec names: with run containers the cookie's upper half is
// the container count minus one, else the count follows.
constexpr uint32_t kCookieRuns = 12347;
constexpr uint32_t kCookieNoRuns = 12346;
constexpr uint32_t kOffsetsFrom = 4;  // with runs: offsets from this count on
constexpr uint32_t kArrayMax = 4096;
constexpr size_t kBitmapWords = 1024;
constexpr uint32_t kContainerMax = 65536;

}  // namespace

uint32_t RoaringBitmap::Container::RunLength(size_t i) const {
  const uint32_t end = i + 1 < run_before.size() ? run_before[i + 1] : size;
  return end - run_before[i];
}

uint32_t RoaringBitmap::Container::Rank(uint32_t end) const {
  switch (kind) {
    case Kind::kArray:
      return static_cast<uint32_t>(
          std::lower_bound(words.begin(), words.end(), end,
                           [](uint16_t a, uint32_t b) { return a < b; }) -
          words.begin());
    case Kind::kBitmap: {
      uint32_t count = 0;
      const size_t full = end / 64;
      for (size_t i = 0; i < full; ++i) {
        count += static_cast<uint32_t>(std::popcount(bits[i]));
      }
      if (end % 64 != 0) {
        const uint64_t mask = (uint64_t{1} << (end % 64)) - 1;
        count += static_cast<uint32_t>(std::popcount(bits[full] & mask));
      }
      return count;
    }
    case Kind::kRuns: {
      const auto next =
          std::lower_bound(words.begin(), words.end(), end,
                           [](uint16_t a, uint32_t b) { return a < b; });
      if (next == words.begin()) return 0;
      const auto run = static_cast<size_t>(next - words.begin()) - 1;
      return run_before[run] + std::min(end - words[run], RunLength(run));
    }
  }
  return 0;
}

bool RoaringBitmap::Container::Contains(uint16_t low) const {
  return Rank(uint32_t{low} + 1) != Rank(low);
}

Status RoaringBitmap::DecodeRuns(Cursor* cursor, Container* out) {
  ROWFS_ASSIGN_OR_RETURN(const uint16_t count, cursor->U16());
  uint32_t total = 0;
  uint32_t next = 0;  // first value the next run may start at
  for (uint32_t i = 0; i < count; ++i) {
    ROWFS_ASSIGN_OR_RETURN(const uint16_t start, cursor->U16());
    ROWFS_ASSIGN_OR_RETURN(const uint16_t length, cursor->U16());
    if (start < next || uint32_t{start} + length >= kContainerMax) {
      return cursor->Error("runs overlap or overflow");
    }
    out->words.push_back(start);
    out->run_before.push_back(total);
    total += uint32_t{length} + 1;
    next = uint32_t{start} + length + 1;
  }
  if (total != out->size) return cursor->Error("runs do not add up");
  return {};
}

Result<RoaringBitmap::Container> RoaringBitmap::DecodeContainer(Cursor* cursor,
                                                                Kind kind,
                                                                uint32_t size) {
  Container out;
  out.kind = kind;
  out.size = size;
  if (kind == Kind::kRuns) {
    ROWFS_RETURN_IF_ERROR(DecodeRuns(cursor, &out));
  } else if (kind == Kind::kArray) {
    ROWFS_ASSIGN_OR_RETURN(const ByteSpan bytes,
                           cursor->Take(uint64_t{size} * 2));
    for (size_t i = 0; i < size; ++i) {
      const uint16_t value = LoadU16(bytes.subspan(i * 2));
      if (i > 0 && value <= out.words.back()) {
        return cursor->Error("values out of order");
      }
      out.words.push_back(value);
    }
  } else {
    ROWFS_ASSIGN_OR_RETURN(const ByteSpan bytes,
                           cursor->Take(kBitmapWords * 8));
    for (size_t i = 0; i < kBitmapWords; ++i) {
      out.bits.push_back(LoadU64(bytes.subspan(i * 8)));
    }
    if (out.Rank(kContainerMax) != size) {
      return cursor->Error("bitmap does not have as many values as it says");
    }
  }
  return out;
}

void RoaringBitmap::Add(Container container) {
  container.before = size_;
  size_ += container.size;
  containers_.push_back(std::move(container));
}

Result<RoaringBitmap> RoaringBitmap::Decode(ByteSpan bytes, uint64_t limit,
                                            std::string_view what) {
  Cursor cursor(bytes, what);
  ROWFS_ASSIGN_OR_RETURN(const uint32_t cookie, cursor.U32());
  uint32_t count = 0;
  ByteSpan run_flags;
  const bool runs = (cookie & 0xffff) == kCookieRuns;
  if (runs) {
    count = (cookie >> 16) + 1;
    ROWFS_ASSIGN_OR_RETURN(run_flags, cursor.Take((count + 7) / 8));
  } else if (cookie == kCookieNoRuns) {
    ROWFS_ASSIGN_OR_RETURN(count, cursor.U32());
  } else {
    return cursor.Error("no Roaring bitmap");
  }
  if (count > kContainerMax) return cursor.Error("too many containers");
  ROWFS_ASSIGN_OR_RETURN(const ByteSpan heads,
                         cursor.Take(uint64_t{count} * 4));
  // Offsets are redundant: containers follow one another.
  if (!runs || count >= kOffsetsFrom) {
    ROWFS_RETURN_IF_ERROR(cursor.Skip(uint64_t{count} * 4));
  }
  RoaringBitmap out;
  for (size_t i = 0; i < count; ++i) {
    const uint16_t key = LoadU16(heads.subspan(i * 4));
    const uint32_t size = uint32_t{LoadU16(heads.subspan(i * 4 + 2))} + 1;
    if (i > 0 && key <= out.containers_.back().key) {
      return cursor.Error("containers out of order");
    }
    const bool is_run =
        runs && (std::to_integer<uint32_t>(run_flags[i / 8]) >> (i % 8) & 1);
    const Kind kind = is_run              ? Kind::kRuns
                      : size <= kArrayMax ? Kind::kArray
                                          : Kind::kBitmap;
    ROWFS_ASSIGN_OR_RETURN(Container container,
                           DecodeContainer(&cursor, kind, size));
    container.key = key;
    const uint64_t base = uint64_t{key} << 16;
    if (base >= limit ||
        (limit - base < kContainerMax &&
         container.Rank(static_cast<uint32_t>(limit - base)) != size)) {
      return cursor.Error("a value of " + std::to_string(limit) + " or more");
    }
    out.Add(std::move(container));
  }
  if (!cursor.AtEnd()) return cursor.Error("bytes behind the bitmap");
  return out;
}

RoaringBitmap RoaringBitmap::FromSorted(std::span<const uint32_t> values) {
  RoaringBitmap out;
  size_t begin = 0;
  while (begin < values.size()) {
    Container container;
    container.key = static_cast<uint16_t>(values[begin] >> 16);
    size_t end = begin;
    while (end < values.size() && values[end] >> 16 == container.key) ++end;
    container.size = static_cast<uint32_t>(end - begin);
    const bool bitmap = container.size > kArrayMax;
    container.kind = bitmap ? Kind::kBitmap : Kind::kArray;
    if (bitmap) container.bits.resize(kBitmapWords);
    for (size_t i = begin; i < end; ++i) {
      const auto low = static_cast<uint16_t>(values[i] & 0xffff);
      if (bitmap) {
        container.bits[low / 64] |= uint64_t{1} << (low % 64);
      } else {
        container.words.push_back(low);
      }
    }
    out.Add(std::move(container));
    begin = end;
  }
  return out;
}

Bytes RoaringBitmap::Encode() const {
  const RoaringBitmap plain = FromSorted(ToVector());
  const auto count = static_cast<uint32_t>(plain.containers_.size());
  Bytes out;
  AppendU32(&out, kCookieNoRuns);
  AppendU32(&out, count);
  for (const Container& container : plain.containers_) {
    AppendU16(&out, container.key);
    AppendU16(&out, static_cast<uint16_t>(container.size - 1));
  }
  uint32_t offset = 8 + count * 8;
  for (const Container& container : plain.containers_) {
    AppendU32(&out, offset);
    offset += container.kind == Kind::kBitmap
                  ? static_cast<uint32_t>(kBitmapWords * 8)
                  : container.size * 2;
  }
  for (const Container& container : plain.containers_) {
    for (const uint16_t value : container.words) AppendU16(&out, value);
    for (const uint64_t word : container.bits) AppendU64(&out, word);
  }
  return out;
}

size_t RoaringBitmap::FindContainer(uint64_t key) const {
  const auto found = std::lower_bound(
      containers_.begin(), containers_.end(), key,
      [](const Container& c, uint64_t k) { return c.key < k; });
  return static_cast<size_t>(found - containers_.begin());
}

bool RoaringBitmap::Contains(uint32_t value) const {
  const size_t i = FindContainer(value >> 16);
  return i < containers_.size() && containers_[i].key == value >> 16 &&
         containers_[i].Contains(static_cast<uint16_t>(value & 0xffff));
}

uint64_t RoaringBitmap::Rank(uint64_t end) const {
  const size_t i = FindContainer(end >> 16);
  if (i == containers_.size()) return size_;
  const Container& container = containers_[i];
  if (container.key != end >> 16) return container.before;
  return container.before + container.Rank(static_cast<uint32_t>(end & 0xffff));
}

uint64_t RoaringBitmap::SelectAbsent(uint64_t k) const {
  // The last container that starts with at most `k` absent numbers before it.
  const auto absent_before = [](const Container& c) {
    return (uint64_t{c.key} << 16) - c.before;
  };
  const auto next = std::upper_bound(containers_.begin(), containers_.end(), k,
                                     [&](uint64_t value, const Container& c) {
                                       return value < absent_before(c);
                                     });
  if (next == containers_.begin()) return k;
  const Container& container = *(next - 1);
  const uint64_t wanted = k - absent_before(container);
  if (wanted >= kContainerMax - container.size) {
    return k + container.before + container.size;
  }
  // The smallest offset up to which wanted + 1 numbers are absent.
  uint32_t low = 0;
  uint32_t high = kContainerMax - 1;
  while (low < high) {
    const uint32_t middle = (low + high) / 2;
    if (middle + 1 - container.Rank(middle + 1) >= wanted + 1) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return (uint64_t{container.key} << 16) + low;
}

std::vector<uint32_t> RoaringBitmap::ToVector() const {
  std::vector<uint32_t> out;
  out.reserve(size_);
  for (const Container& container : containers_) {
    const uint32_t base = uint32_t{container.key} << 16;
    if (container.kind == Kind::kArray) {
      for (const uint16_t low : container.words) out.push_back(base + low);
    } else if (container.kind == Kind::kRuns) {
      for (size_t i = 0; i < container.words.size(); ++i) {
        for (uint32_t j = 0; j < container.RunLength(i); ++j) {
          out.push_back(base + container.words[i] + j);
        }
      }
    } else {
      for (uint32_t i = 0; i < kContainerMax; ++i) {
        if ((container.bits[i / 64] >> (i % 64) & 1) != 0) {
          out.push_back(base + i);
        }
      }
    }
  }
  return out;
}

}  // namespace rowfs
