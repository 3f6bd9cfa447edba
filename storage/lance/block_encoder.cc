#include "storage/lance/block_encoder.h"

#include <lz4.h>
#include <zstd.h>

#include <algorithm>
#include <string>

#include "storage/lance/chunk_encoder.h"
#include "storage/lance/pack_bits.h"

namespace rowfs {
namespace {

using lance::pb::CompressiveEncoding;
using Levels = std::span<const uint16_t>;

Bytes RawBlock(Levels levels) {
  const ByteSpan bytes = std::as_bytes(levels);
  return {bytes.begin(), bytes.end()};
}

// u64 size of the values, the values, the u8 run lengths.
Bytes RunBlock(Levels levels) {
  Bytes values;
  Bytes lengths;
  for (size_t i = 0; i < levels.size();) {
    size_t end = i + 1;
    while (end < levels.size() && levels[end] == levels[i] && end - i < 255) {
      ++end;
    }
    AppendU16(&values, levels[i]);
    AppendU8(&lengths, static_cast<uint8_t>(end - i));
    i = end;
  }
  Bytes out;
  AppendU64(&out, values.size());
  AppendBytes(&out, values);
  AppendBytes(&out, lengths);
  return out;
}

uint64_t TotalBytes(const std::vector<Bytes>& blocks) {
  uint64_t total = 0;
  for (const Bytes& block : blocks) total += (block.size() + 7) / 8 * 8;
  return total;
}

EncodedBlock Lz4Block(CompressiveEncoding inner, ByteSpan raw) {
  EncodedBlock out;
  auto* general = out.encoding.mutable_general();
  general->mutable_compression()->set_scheme(lance::pb::SCHEME_LZ4);
  *general->mutable_values() = std::move(inner);
  AppendU32(&out.bytes, static_cast<uint32_t>(raw.size()));
  const auto raw_size = static_cast<int>(raw.size());
  const int bound = LZ4_compressBound(raw_size);
  std::string packed(static_cast<size_t>(bound), '\0');
  const int size =
      LZ4_compress_default(AsText(raw).data(), packed.data(), raw_size, bound);
  AppendText(&out.bytes,
             std::string_view(packed).substr(0, static_cast<size_t>(size)));
  return out;
}

}  // namespace

CompressiveEncoding PackedEncoding(uint32_t word_bits, unsigned bits) {
  CompressiveEncoding encoding;
  auto* packing = encoding.mutable_out_of_line_bitpacking();
  packing->set_uncompressed_bits_per_value(word_bits);
  *packing->mutable_values() = FlatEncoding(bits);
  return encoding;
}

EncodedBlock EncodeNumbers(std::span<const uint64_t> values) {
  EncodedBlock out;
  const unsigned bits = BitWidth(values);
  if (bits > 0 && bits < 64 &&
      PackedSize<uint64_t>(values.size(), bits) < values.size() * 8) {
    out.encoding = PackedEncoding(64, bits);
    AppendPacked(values, bits, &out.bytes);
    return out;
  }
  out.encoding = FlatEncoding(64);
  AppendBytes(&out.bytes, std::as_bytes(values));
  return out;
}

EncodedBlock EncodeIncreasing(std::span<const uint64_t> values) {
  std::vector<uint64_t> steps;
  for (size_t i = 1; i < values.size(); ++i) {
    steps.push_back(values[i] - values[i - 1]);
  }
  EncodedBlock out = EncodeNumbers(steps);
  CompressiveEncoding encoding;
  auto* delta = encoding.mutable_delta();
  delta->set_uncompressed_bits_per_value(64);
  delta->set_base(values[0]);
  *delta->mutable_deltas() = std::move(out.encoding);
  out.encoding = std::move(encoding);
  return out;
}

LevelBlocks EncodeLevels(std::span<const std::span<const uint16_t>> chunks) {
  unsigned bits = 0;
  LevelBlocks raw;
  LevelBlocks runs;
  for (const Levels levels : chunks) {
    bits = std::max(bits, BitWidth(levels));
    raw.blocks.push_back(RawBlock(levels));
    runs.blocks.push_back(RunBlock(levels));
  }
  raw.encoding = FlatEncoding(16);
  auto* rle = runs.encoding.mutable_rle();
  *rle->mutable_values() = FlatEncoding(16);
  *rle->mutable_run_lengths() = FlatEncoding(8);
  LevelBlocks* best = &raw;
  if (TotalBytes(runs.blocks) < TotalBytes(best->blocks)) best = &runs;
  LevelBlocks packed;
  if (bits > 0 && bits < 16) {
    for (const Levels levels : chunks) {
      AppendPacked(levels, bits, &packed.blocks.emplace_back());
    }
    packed.encoding = PackedEncoding(16, bits);
    if (TotalBytes(packed.blocks) < TotalBytes(best->blocks)) best = &packed;
  }
  return std::move(*best);
}

EncodedBlock EncodeVariableBlock(ByteSpan data, std::span<const uint64_t> ends,
                                 uint32_t offset_bits) {
  const uint32_t width = offset_bits / 8;
  Bytes raw;
  AppendUint(&raw, offset_bits, width);
  AppendUint(&raw, 2 * width + (ends.size() + 1) * width, width);
  AppendUint(&raw, 0, width);
  for (const uint64_t end : ends) AppendUint(&raw, end, width);
  AppendBytes(&raw, data);
  return Lz4Block(VariableEncoding(offset_bits), raw);
}

EncodedBlock EncodeFixedBlock(ByteSpan data, uint64_t bits) {
  return Lz4Block(FlatEncoding(bits), data);
}

Bytes CompressValue(ByteSpan value) {
  Bytes out;
  AppendU64(&out, value.size());
  Bytes packed(ZSTD_compressBound(value.size()));
  const size_t size = ZSTD_compress(packed.data(), packed.size(), value.data(),
                                    value.size(), ZSTD_CLEVEL_DEFAULT);
  packed.resize(ZSTD_isError(size) != 0 ? 0 : size);
  AppendBytes(&out, packed);
  return out;
}

}  // namespace rowfs
