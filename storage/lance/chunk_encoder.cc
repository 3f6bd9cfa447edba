#include "storage/lance/chunk_encoder.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "storage/lance/block_encoder.h"
#include "storage/lance/pack_bits.h"

namespace rowfs {

using lance::pb::CompressiveEncoding;

CompressiveEncoding FlatEncoding(uint64_t bits) {
  CompressiveEncoding encoding;
  encoding.mutable_flat()->set_bits_per_value(bits);
  return encoding;
}

CompressiveEncoding VariableEncoding(uint32_t offset_bits) {
  CompressiveEncoding encoding;
  *encoding.mutable_variable()->mutable_offsets() = FlatEncoding(offset_bits);
  return encoding;
}

CompressiveEncoding ListEncoding(const LeafPage& page,
                                 const LeafLayout& layout) {
  CompressiveEncoding encoding =
      FlatEncoding(layout.shape == LeafShape::kBits ? 1 : layout.width * 8);
  for (size_t i = layout.dimensions.size(); i > 0; --i) {
    CompressiveEncoding outer;
    auto* list = outer.mutable_fixed_size_list();
    list->set_items_per_value(layout.dimensions[i - 1]);
    list->set_has_validity(page.item_validity[i - 1].size() > 0);
    *list->mutable_values() = std::move(encoding);
    encoding = std::move(outer);
  }
  return encoding;
}

namespace {

// Values a plain chunk holds when `unit` of them (1, or 8 where a value is a
// number of bits) take `unit_bytes`.
uint64_t PlainChunkValues(uint64_t unit_bytes, uint64_t unit) {
  uint64_t values = unit == 1 ? 2 : unit;
  uint64_t bytes = unit == 1 ? 2 * unit_bytes : unit_bytes;
  while (2 * bytes < kChunkBytesMax && 2 * values <= kChunkValuesMax) {
    values *= 2;
    bytes *= 2;
  }
  return values;
}

}  // namespace

ChunkedValues EncodePlainChunks(ByteSpan data, uint64_t bits, uint64_t count) {
  ChunkedValues out;
  out.encoding = FlatEncoding(bits);
  out.buffers.emplace_back(data.begin(), data.end());
  const uint64_t step =
      bits % 8 == 0 ? PlainChunkValues(bits / 8, 1) : PlainChunkValues(bits, 8);
  for (uint64_t i = 0; i < count; i += step) {
    const uint64_t n = std::min(step, count - i);
    out.chunks.push_back({n, {static_cast<uint32_t>((n * bits + 7) / 8)}});
  }
  return out;
}

namespace {

template <typename T>
uint64_t RunBytes(std::span<const T> values) {
  uint64_t runs = 0;
  for (size_t i = 0; i < values.size();) {
    size_t end = i + 1;
    while (end < values.size() && values[end] == values[i]) ++end;
    runs += (end - i + 254) / 255;
    i = end;
  }
  return runs * (sizeof(T) + 1);
}

template <typename T>
void AppendRuns(std::span<const T> values, ChunkedValues* out) {
  const uint64_t values_before = out->buffers[0].size();
  const uint64_t lengths_before = out->buffers[1].size();
  for (size_t i = 0; i < values.size();) {
    size_t end = i + 1;
    while (end < values.size() && values[end] == values[i] && end - i < 255) {
      ++end;
    }
    AppendUint(&out->buffers[0], values[i], sizeof(T));
    AppendU8(&out->buffers[1], static_cast<uint8_t>(end - i));
    i = end;
  }
  out->chunks.push_back(
      {values.size(),
       {static_cast<uint32_t>(out->buffers[0].size() - values_before),
        static_cast<uint32_t>(out->buffers[1].size() - lengths_before)}});
}

// The longest prefix of `values` that may be a chunk of runs.
template <typename T>
uint64_t RunChunkValues(std::span<const T> values) {
  const auto fits = [&](uint64_t n) {
    return RunBytes(values.first(n)) <= kChunkBytesMax;
  };
  if (values.size() <= kChunkValuesMax && fits(values.size())) {
    return values.size();
  }
  uint64_t n = std::bit_floor(
      std::min(static_cast<uint64_t>(values.size()), kChunkValuesMax));
  while (n > 2 && !fits(n)) n /= 2;
  return n;
}

template <typename T>
ChunkedValues RunChunks(std::span<const T> values) {
  ChunkedValues out;
  auto* rle = out.encoding.mutable_rle();
  *rle->mutable_values() = FlatEncoding(sizeof(T) * 8);
  *rle->mutable_run_lengths() = FlatEncoding(8);
  out.buffers.resize(2);
  while (!values.empty()) {
    const uint64_t n = RunChunkValues(values);
    AppendRuns(values.first(n), &out);
    values = values.subspan(n);
  }
  return out;
}

template <typename T>
uint64_t PackedBytes(std::span<const T> values) {
  uint64_t words = 0;
  for (size_t i = 0; i < values.size(); i += kPackedValues) {
    const auto block =
        values.subspan(i, std::min(values.size() - i, size_t{kPackedValues}));
    words += 1 + PackedWords<T>(BitWidth(block));
  }
  return words * sizeof(T);
}

template <typename T>
ChunkedValues PackedChunks(std::span<const T> values) {
  ChunkedValues out;
  out.encoding.mutable_inline_bitpacking()->set_uncompressed_bits_per_value(
      sizeof(T) * 8);
  out.buffers.resize(1);
  std::vector<T> words;
  for (size_t i = 0; i < values.size(); i += kPackedValues) {
    const auto block =
        values.subspan(i, std::min(values.size() - i, size_t{kPackedValues}));
    const unsigned bits = BitWidth(block);
    words.assign(1 + PackedWords<T>(bits), 0);
    words[0] = static_cast<T>(bits);
    PackBits(block, bits, std::span(words).subspan(1));
    const ByteSpan bytes = std::as_bytes(std::span<const T>(words));
    AppendBytes(&out.buffers[0], bytes);
    out.chunks.push_back({block.size(), {static_cast<uint32_t>(bytes.size())}});
  }
  return out;
}

template <typename T>
ChunkedValues ChooseFixed(ByteSpan data, uint64_t count) {
  std::vector<T> copy(count);  // aligned
  if (count != 0) std::memcpy(copy.data(), data.data(), count * sizeof(T));
  const std::span<const T> values(copy);
  const uint64_t packed = PackedBytes(values);
  const uint64_t runs = RunBytes(values);
  if (runs < data.size() && runs <= packed) return RunChunks(values);
  if (packed < data.size()) return PackedChunks(values);
  return EncodePlainChunks(data, sizeof(T) * 8, count);
}

}  // namespace

ChunkedValues EncodeFixedChunks(ByteSpan values, uint32_t width,
                                uint64_t count) {
  switch (width) {
    case 1:
      return ChooseFixed<uint8_t>(values, count);
    case 2:
      return ChooseFixed<uint16_t>(values, count);
    case 4:
      return ChooseFixed<uint32_t>(values, count);
    case 8:
      return ChooseFixed<uint64_t>(values, count);
    default:
      return EncodePlainChunks(values, uint64_t{width} * 8, count);
  }
}

ChunkedValues EncodeBitChunks(const BitBuffer& bits) {
  return EncodePlainChunks(bits.bytes(), 1, bits.size());
}

ChunkedValues EncodeListChunks(const LeafPage& page, const LeafLayout& layout) {
  const uint64_t element_bits =
      layout.shape == LeafShape::kBits ? 1 : layout.width * 8;
  const uint64_t bits = element_bits * layout.elements();
  const uint64_t unit = bits % 8 == 0 ? 1 : 8;
  uint64_t validity_bytes = 0;
  uint64_t items = 1;
  for (size_t i = 0; i < layout.dimensions.size(); ++i) {
    items *= layout.dimensions[i];
    if (page.item_validity[i].size() > 0) validity_bytes += (items + 7) / 8;
  }
  const uint64_t step = PlainChunkValues(
      validity_bytes * unit + (unit == 1 ? bits / 8 : bits), unit);

  ChunkedValues out;
  out.encoding = ListEncoding(page, layout);
  for (uint64_t begin = 0; begin < page.slots; begin += step) {
    ValueChunk chunk;
    chunk.count = std::min(step, page.slots - begin);
    std::vector<Bytes> parts;
    items = 1;
    for (size_t i = 0; i < layout.dimensions.size(); ++i) {
      items *= layout.dimensions[i];
      if (page.item_validity[i].size() == 0) continue;
      parts.push_back(
          page.item_validity[i].Extract(begin * items, chunk.count * items));
    }
    if (layout.shape == LeafShape::kBits) {
      parts.push_back(page.bits.Extract(begin * items, chunk.count * items));
    } else {
      const uint64_t width = items * layout.width;
      const ByteSpan part =
          ByteSpan(page.data).subspan(begin * width, chunk.count * width);
      parts.emplace_back(part.begin(), part.end());
    }
    out.buffers.resize(parts.size());
    for (size_t i = 0; i < parts.size(); ++i) {
      chunk.sizes.push_back(static_cast<uint32_t>(parts[i].size()));
      AppendBytes(&out.buffers[i], parts[i]);
    }
    out.chunks.push_back(std::move(chunk));
  }
  return out;
}

namespace {

constexpr uint64_t kVariableChunkBytes = 4096;

// How many of the values from `begin` on make a chunk.
uint64_t VariableChunkValues(std::span<const uint64_t> ends, uint64_t begin,
                             uint64_t width) {
  const uint64_t base = begin == 0 ? 0 : ends[begin - 1];
  const uint64_t left = ends.size() - begin;
  const auto fits = [&](uint64_t n) {
    return ends[begin + n - 1] - base + (n + 1) * width <= kVariableChunkBytes;
  };
  if (left <= 2) return left;
  uint64_t n = 2;
  while (true) {
    if (2 * n >= left) return fits(left) ? left : n;
    if (2 * n > kChunkValuesMax || !fits(2 * n)) return n;
    n *= 2;
  }
}

}  // namespace

ChunkedValues EncodeVariableChunks(ByteSpan data,
                                   std::span<const uint64_t> ends,
                                   uint32_t offset_bits) {
  const uint64_t width = offset_bits / 8;
  ChunkedValues out;
  out.encoding = VariableEncoding(offset_bits);
  Bytes& buffer = out.buffers.emplace_back();
  for (uint64_t begin = 0; begin < ends.size();) {
    const uint64_t count = VariableChunkValues(ends, begin, width);
    const uint64_t base = begin == 0 ? 0 : ends[begin - 1];
    const uint64_t start = buffer.size();
    // Offsets count from the start of this buffer of the chunk.
    const uint64_t header = (count + 1) * width;
    AppendUint(&buffer, header, width);
    for (uint64_t i = begin; i < begin + count; ++i) {
      AppendUint(&buffer, header + ends[i] - base, width);
    }
    AppendBytes(&buffer, data.subspan(base, ends[begin + count - 1] - base));
    while ((buffer.size() - start) % width != 0) {
      buffer.push_back(std::byte{0x48});
    }
    out.chunks.push_back(
        {count, {static_cast<uint32_t>(buffer.size() - start)}});
    begin += count;
  }
  return out;
}

namespace {

// The chunks of `ends` as EncodeVariableChunks cuts them, lengths packed to
// `bits` in a buffer of their own.
template <typename T>
ChunkedValues PackedVariableChunks(ByteSpan data,
                                   std::span<const uint64_t> ends,
                                   unsigned bits) {
  ChunkedValues out;
  auto* delta =
      out.encoding.mutable_variable()->mutable_offsets()->mutable_delta();
  delta->set_uncompressed_bits_per_value(sizeof(T) * 8);
  *delta->mutable_deltas() = PackedEncoding(sizeof(T) * 8, bits);
  out.buffers.resize(2);
  std::vector<T> lengths;
  for (uint64_t begin = 0; begin < ends.size();) {
    const uint64_t count = VariableChunkValues(ends, begin, sizeof(T));
    const uint64_t base = begin == 0 ? 0 : ends[begin - 1];
    lengths.clear();
    for (uint64_t i = begin, last = base; i < begin + count; ++i) {
      lengths.push_back(static_cast<T>(ends[i] - last));
      last = ends[i];
    }
    const uint64_t before = out.buffers[0].size();
    AppendPacked(std::span<const T>(lengths), bits, &out.buffers[0]);
    const uint64_t bytes = ends[begin + count - 1] - base;
    AppendBytes(&out.buffers[1], data.subspan(base, bytes));
    out.chunks.push_back(
        {count,
         {static_cast<uint32_t>(out.buffers[0].size() - before),
          static_cast<uint32_t>(bytes)}});
    begin += count;
  }
  return out;
}

// What the chunks take, with the sizes in their headers and their padding.
uint64_t ChunkBytes(const ChunkedValues& values) {
  uint64_t total = 0;
  for (const ValueChunk& chunk : values.chunks) {
    for (const uint32_t size : chunk.sizes) total += (size + 7) / 8 * 8 + 4;
  }
  return total;
}

}  // namespace

ChunkedValues EncodePackedVariableChunks(ByteSpan data,
                                         std::span<const uint64_t> ends,
                                         uint32_t offset_bits) {
  ChunkedValues plain = EncodeVariableChunks(data, ends, offset_bits);
  uint64_t longest = 0;
  for (size_t i = 0; i < ends.size(); ++i) {
    longest = std::max(longest, ends[i] - (i == 0 ? 0 : ends[i - 1]));
  }
  const auto bits = static_cast<unsigned>(std::bit_width(longest));
  if (bits == 0 || bits >= 32) return plain;
  ChunkedValues packed = offset_bits == 32
                             ? PackedVariableChunks<uint32_t>(data, ends, bits)
                             : PackedVariableChunks<uint64_t>(data, ends, bits);
  return ChunkBytes(packed) < ChunkBytes(plain) ? std::move(packed)
                                                : std::move(plain);
}

}  // namespace rowfs
