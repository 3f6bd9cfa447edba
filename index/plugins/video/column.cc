#include "index/plugins/video/column.h"

#include <algorithm>
#include <bit>

namespace rowfs::plugin {
namespace {

enum : uint8_t { kRuns = 0, kDictionary = 1, kSigned = 2, kUnsigned = 3 };
constexpr size_t kDictionaryMax = 64;

void WriteRuns(std::span<const int64_t> values, ByteWriter* out) {
  for (size_t i = 0; i < values.size();) {
    size_t end = i + 1;
    while (end < values.size() && values[end] == values[i]) ++end;
    out->Signed(values[i]);
    out->Varint(end - i);
    i = end;
  }
}

unsigned IndexBits(size_t entries) {
  return static_cast<unsigned>(std::bit_width(entries - 1));
}

// False when there are too many different values.
bool WriteDictionary(std::span<const int64_t> values, ByteWriter* out) {
  std::vector<int64_t> entries;
  std::vector<uint8_t> indices;
  indices.reserve(values.size());
  for (int64_t v : values) {
    const auto at = std::find(entries.begin(), entries.end(), v);
    indices.push_back(static_cast<uint8_t>(at - entries.begin()));
    if (at != entries.end()) continue;
    if (entries.size() == kDictionaryMax) return false;
    entries.push_back(v);
  }
  out->Varint(entries.size());
  for (int64_t v : entries) out->Signed(v);
  const unsigned bits = IndexBits(entries.size());
  uint32_t pending = 0;
  unsigned filled = 0;
  for (uint8_t index : indices) {
    pending |= uint32_t{index} << filled;
    for (filled += bits; filled >= 8; filled -= 8, pending >>= 8) {
      out->U8(static_cast<uint8_t>(pending));
    }
  }
  if (filled > 0) out->U8(static_cast<uint8_t>(pending));
  return true;
}

bool ReadRuns(size_t count, ByteReader* reader, std::vector<int64_t>* out) {
  while (out->size() < count && reader->ok()) {
    const int64_t value = reader->Signed();
    const uint64_t run = reader->Varint(count - out->size());
    if (run == 0) return false;
    out->insert(out->end(), static_cast<size_t>(run), value);
  }
  return reader->ok();
}

bool ReadDictionary(size_t count, ByteReader* reader,
                    std::vector<int64_t>* out) {
  const size_t size = static_cast<size_t>(reader->Varint(kDictionaryMax));
  if (size == 0) return false;
  std::vector<int64_t> entries(size);
  for (int64_t& v : entries) v = reader->Signed();
  const unsigned bits = IndexBits(size);
  const ByteSpan packed = reader->Take((uint64_t{count} * bits + 7) / 8);
  if (!reader->ok()) return false;
  uint32_t pending = 0;
  unsigned filled = 0;
  size_t next = 0;
  for (size_t i = 0; i < count; ++i) {
    for (; filled < bits; filled += 8) {
      pending |= uint32_t{packed[next++]} << filled;
    }
    const size_t index = pending & ((1u << bits) - 1);
    if (index >= size) return false;
    out->push_back(entries[index]);
    pending >>= bits;
    filled -= bits;
  }
  return true;
}

}  // namespace

void WriteColumn(std::span<const int64_t> values, ByteWriter* out) {
  ByteWriter runs;
  runs.U8(kRuns);
  WriteRuns(values, &runs);
  ByteWriter varints;
  const bool negative = std::any_of(values.begin(), values.end(),
                                    [](int64_t v) { return v < 0; });
  varints.U8(negative ? kSigned : kUnsigned);
  for (int64_t v : values) {
    if (negative) {
      varints.Signed(v);
    } else {
      varints.Varint(static_cast<uint64_t>(v));
    }
  }
  ByteWriter dictionary;
  dictionary.U8(kDictionary);
  const bool fits = !values.empty() && WriteDictionary(values, &dictionary);
  const ByteWriter* best = runs.size() <= varints.size() ? &runs : &varints;
  if (fits && dictionary.size() < best->size()) best = &dictionary;
  out->Raw(best->bytes());
}

std::vector<int64_t> ReadColumn(size_t count, ByteReader* reader) {
  std::vector<int64_t> out;
  out.reserve(count);
  bool good = true;
  const uint8_t code = reader->U8();
  if (code == kRuns) {
    good = ReadRuns(count, reader, &out);
  } else if (code == kDictionary) {
    good = count > 0 && ReadDictionary(count, reader, &out);
  } else if (code == kSigned || code == kUnsigned) {
    good = count <= reader->remaining();
    for (size_t i = 0; good && i < count; ++i) {
      out.push_back(code == kSigned
                        ? reader->Signed()
                        : static_cast<int64_t>(reader->Varint(INT64_MAX)));
    }
  } else {
    good = false;
  }
  if (!good) reader->Fail();
  if (!reader->ok()) out.clear();
  return out;
}

}  // namespace rowfs::plugin
