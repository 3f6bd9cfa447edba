// Chunk decoders: the value buffers of one mini-block chunk.
#include <array>
#include <cstring>
#include <string>
#include <utility>

#include "storage/lance/codec.h"
#include "storage/lance/encoding.h"

namespace rowfs {
namespace {

using lance::pb::CompressiveEncoding;
using BlockPtr = std::unique_ptr<const BlockDecoder>;
using ChunkPtr = std::unique_ptr<const ChunkDecoder>;

Status Corrupt(std::string message) {
  return {Code::kCorruption, std::move(message)};
}

// Encodings whose chunk is one buffer, framed as a block.
class SingleBufferChunk final : public ChunkDecoder {
 public:
  explicit SingleBufferChunk(BlockPtr block) : block_(std::move(block)) {}

  size_t buffer_count() const override { return 1; }
  ValueBlock NewBlock() const override { return block_->NewBlock(); }
  Status Decode(std::span<const ByteSpan> buffers, uint64_t count,
                ValueBlock* out) const override {
    return block_->Decode(buffers[0], count, out);
  }

 private:
  const BlockPtr block_;
};

class RleChunk final : public ChunkDecoder {
 public:
  RleChunk(BlockPtr values, BlockPtr lengths)
      : runs_{std::move(values), std::move(lengths)} {}

  size_t buffer_count() const override { return 2; }
  ValueBlock NewBlock() const override {
    return ValueBlock::Fixed(runs_.values->bits());
  }
  Status Decode(std::span<const ByteSpan> buffers, uint64_t count,
                ValueBlock* out) const override {
    if (count == 0) return {};
    return runs_.Decode(buffers[0], buffers[1], {}, count, out);
  }

 private:
  const RunDecoder runs_;
};

// Offsets measured from the start of the buffer, then the bytes.
class VariableChunk final : public ChunkDecoder {
 public:
  explicit VariableChunk(size_t offset_bytes) : offset_bytes_(offset_bytes) {}

  size_t buffer_count() const override { return 1; }
  ValueBlock NewBlock() const override { return ValueBlock::Variable(); }
  Status Decode(std::span<const ByteSpan> buffers, uint64_t count,
                ValueBlock* out) const override {
    const ByteSpan buffer = buffers[0];
    if (buffer.size() / offset_bytes_ < count + 1) {
      return Corrupt(std::to_string(buffer.size()) + " bytes for " +
                     std::to_string(count) + " strings");
    }
    return offset_bytes_ == 4 ? Append<uint32_t>(buffer, count, out)
                              : Append<uint64_t>(buffer, count, out);
  }

 private:
  template <typename T>
  static Status Append(ByteSpan buffer, uint64_t count, ValueBlock* out) {
    const uint64_t first = LoadUint(buffer, sizeof(T));
    if (first < (count + 1) * sizeof(T) || first > buffer.size()) {
      return Corrupt("string bytes start at " + std::to_string(first) +
                     ", among their offsets");
    }
    const size_t at = out->data.size();
    const size_t base = out->offsets.size();
    out->offsets.resize(base + count);
    uint64_t before = first;
    bool ordered = true;
    for (uint64_t i = 1; i <= count; ++i) {
      T offset;
      std::memcpy(&offset, buffer.data() + i * sizeof(T), sizeof(T));
      ordered = ordered && offset >= before;
      before = offset;
      out->offsets[base + i - 1] = at + (offset - first);
    }
    if (!ordered || before > buffer.size()) {
      return Corrupt("string offsets are out of order");
    }
    AppendBytes(&out->data, buffer.subspan(first, before - first));
    out->count += count;
    return {};
  }

  const size_t offset_bytes_;
};

// 2.3: offsets from 0 as an encoded block of their own, if it has a payload,
// then the bytes.
class SplitVariableChunk final : public ChunkDecoder {
 public:
  explicit SplitVariableChunk(BlockPtr offsets)
      : offsets_(std::move(offsets)) {}

  size_t buffer_count() const override {
    return offsets_->has_payload() ? 2 : 1;
  }
  ValueBlock NewBlock() const override { return ValueBlock::Variable(); }
  Status Decode(std::span<const ByteSpan> buffers, uint64_t count,
                ValueBlock* out) const override {
    const ByteSpan bytes = buffers.back();
    ValueBlock block = offsets_->NewBlock();
    ROWFS_RETURN_IF_ERROR(offsets_->Decode(
        offsets_->has_payload() ? buffers[0] : ByteSpan(), count + 1, &block));
    const std::vector<uint64_t> offsets = ToIntegers(block);
    const size_t at = out->data.size();
    uint64_t before = 0;
    for (size_t i = 0; i < offsets.size(); ++i) {
      if (offsets[i] < before || (i == 0 && offsets[i] != 0)) {
        return Corrupt("string offsets are out of order");
      }
      before = offsets[i];
      if (i > 0) out->offsets.push_back(at + before);
    }
    if (before != bytes.size()) {
      return Corrupt("string offsets end at " + std::to_string(before) +
                     " of " + std::to_string(bytes.size()) + " bytes");
    }
    AppendBytes(&out->data, bytes);
    out->count += count;
    return {};
  }

 private:
  const BlockPtr offsets_;
};

class FsstChunk final : public ChunkDecoder {
 public:
  FsstChunk(SymbolTable symbols, ChunkPtr codes)
      : symbols_(symbols), codes_(std::move(codes)) {}

  size_t buffer_count() const override { return codes_->buffer_count(); }
  ValueBlock NewBlock() const override { return ValueBlock::Variable(); }
  Status Decode(std::span<const ByteSpan> buffers, uint64_t count,
                ValueBlock* out) const override {
    ValueBlock codes = ValueBlock::Variable();
    ROWFS_RETURN_IF_ERROR(codes_->Decode(buffers, count, &codes));
    const uint64_t limit = DecodeLimit::Bytes();
    for (uint64_t i = 0; i < count; ++i) {
      const uint64_t begin = codes.offsets[i];
      ROWFS_RETURN_IF_ERROR(symbols_.Expand(
          ByteSpan(codes.data).subspan(begin, codes.offsets[i + 1] - begin),
          limit, &out->data));
      out->offsets.push_back(out->data.size());
    }
    out->count += count;
    return {};
  }

 private:
  const SymbolTable symbols_;
  const ChunkPtr codes_;
};

// Only the first value buffer is compressed.
class GeneralChunk final : public ChunkDecoder {
 public:
  GeneralChunk(lance::pb::BufferCompression compression, ChunkPtr values)
      : compression_(std::move(compression)), values_(std::move(values)) {}

  size_t buffer_count() const override { return values_->buffer_count(); }
  ValueBlock NewBlock() const override { return values_->NewBlock(); }
  Status Decode(std::span<const ByteSpan> buffers, uint64_t count,
                ValueBlock* out) const override {
    Bytes first;
    ROWFS_RETURN_IF_ERROR(DecompressGeneral(compression_, buffers[0],
                                            DecodeLimit::Bytes(), &first));
    std::vector<ByteSpan> raw(buffers.begin(), buffers.end());
    raw[0] = first;
    return values_->Decode(raw, count, out);
  }

 private:
  const lance::pb::BufferCompression compression_;
  const ChunkPtr values_;
};

// All first bytes, then all second bytes, and so on.
class ByteStreamSplitChunk final : public ChunkDecoder {
 public:
  explicit ByteStreamSplitChunk(uint64_t bits) : bits_(bits) {}

  size_t buffer_count() const override { return 1; }
  ValueBlock NewBlock() const override { return ValueBlock::Fixed(bits_); }
  Status Decode(std::span<const ByteSpan> buffers, uint64_t count,
                ValueBlock* out) const override {
    const size_t width = bits_ / 8;
    if (buffers[0].size() != count * width) {
      return Corrupt(std::to_string(buffers[0].size()) + " bytes for " +
                     std::to_string(count) + " byte-split values of " +
                     std::to_string(bits_) + " bits");
    }
    const size_t at = out->data.size();
    out->data.resize(at + count * width);
    for (size_t plane = 0; plane < width; ++plane) {
      const ByteSpan from = buffers[0].subspan(plane * count, count);
      std::byte* to = out->data.data() + at + plane;
      for (uint64_t i = 0; i < count; ++i) to[i * width] = from[i];
    }
    out->count += count;
    return {};
  }

 private:
  const uint64_t bits_;
};

class FixedSizeListChunk final : public ChunkDecoder {
 public:
  explicit FixedSizeListChunk(FixedSizeListShape shape)
      : shape_(std::move(shape)) {}

  size_t buffer_count() const override { return shape_.buffer_count(); }
  ValueBlock NewBlock() const override { return shape_.NewBlock(); }
  Status Decode(std::span<const ByteSpan> buffers, uint64_t count,
                ValueBlock* out) const override {
    return shape_.Append(buffers, count, out);
  }

 private:
  const FixedSizeListShape shape_;
};

// Rows of adjacent fixed-width children.
class PackedStructChunk final : public ChunkDecoder {
 public:
  PackedStructChunk(std::vector<uint64_t> bits, ChunkPtr rows)
      : bits_(std::move(bits)), rows_(std::move(rows)) {}

  size_t buffer_count() const override { return rows_->buffer_count(); }
  ValueBlock NewBlock() const override {
    ValueBlock block{.shape = ValueBlock::Shape::kStruct};
    for (const uint64_t bits : bits_) {
      block.children.push_back(ValueBlock::Fixed(bits));
    }
    return block;
  }
  Status Decode(std::span<const ByteSpan> buffers, uint64_t count,
                ValueBlock* out) const override {
    ValueBlock rows = rows_->NewBlock();
    ROWFS_RETURN_IF_ERROR(rows_->Decode(buffers, count, &rows));
    const size_t row_bytes = rows.bits / 8;
    size_t begin = 0;
    for (size_t k = 0; k < bits_.size(); ++k) {
      const size_t width = bits_[k] / 8;
      ValueBlock& child = out->children[k];
      const size_t at = child.data.size();
      child.data.resize(at + count * width);
      for (uint64_t i = 0; i < count && width != 0; ++i) {
        std::memcpy(child.data.data() + at + i * width,
                    rows.data.data() + i * row_bytes + begin, width);
      }
      child.count += count;
      begin += width;
    }
    out->count += count;
    return {};
  }

 private:
  const std::vector<uint64_t> bits_;
  const ChunkPtr rows_;
};

Result<ChunkPtr> MakeVariable(const CompressiveEncoding::Variable& variable) {
  if (variable.has_values()) {
    return Status(Code::kUnsupported, "compressed bytes of a string chunk");
  }
  const auto& offsets = variable.offsets();
  if (offsets.has_flat() && !offsets.flat().has_data()) {
    const uint64_t bits = offsets.flat().bits_per_value();
    if (bits != 32 && bits != 64) {
      return Corrupt("string offsets of " + std::to_string(bits) + " bits");
    }
    return ChunkPtr(new VariableChunk(bits / 8));
  }
  ROWFS_ASSIGN_OR_RETURN(BlockPtr block, BlockDecoder::Make(offsets));
  if (block->bits() != 32 && block->bits() != 64) {
    return Corrupt("string offsets of " + std::to_string(block->bits()) +
                   " bits");
  }
  return ChunkPtr(new SplitVariableChunk(std::move(block)));
}

Result<ChunkPtr> MakeFsst(const CompressiveEncoding::Fsst& fsst) {
  if (!fsst.values().has_variable()) {
    return Corrupt("fsst over " + std::string(EncodingName(fsst.values())));
  }
  ROWFS_ASSIGN_OR_RETURN(const SymbolTable symbols,
                         SymbolTable::Decode(AsBytes(fsst.symbol_table())));
  ROWFS_ASSIGN_OR_RETURN(ChunkPtr codes, ChunkDecoder::Make(fsst.values()));
  return ChunkPtr(new FsstChunk(symbols, std::move(codes)));
}

Result<ChunkPtr> MakePackedStruct(
    const CompressiveEncoding::PackedStruct& packed) {
  const uint64_t total = packed.values().flat().bits_per_value();
  uint64_t sum = 0;
  for (const uint64_t bits : packed.bits_per_value()) {
    if (bits == 0 || bits % 8 != 0 || bits > total || sum > total - bits) {
      return Corrupt("a packed struct with a child of " + std::to_string(bits) +
                     " bits");
    }
    sum += bits;
  }
  if (!packed.values().has_flat() || sum != total || total == 0) {
    return Corrupt("children of " + std::to_string(sum) +
                   " bits in a packed struct of " + std::to_string(total));
  }
  ROWFS_ASSIGN_OR_RETURN(ChunkPtr rows, ChunkDecoder::Make(packed.values()));
  return ChunkPtr(new PackedStructChunk(
      {packed.bits_per_value().begin(), packed.bits_per_value().end()},
      std::move(rows)));
}

}  // namespace

Result<std::unique_ptr<const ChunkDecoder>> ChunkDecoder::Make(
    const CompressiveEncoding& encoding) {
  if (encoding.has_flat() || encoding.has_inline_bitpacking() ||
      encoding.has_out_of_line_bitpacking()) {
    ROWFS_ASSIGN_OR_RETURN(BlockPtr block, BlockDecoder::Make(encoding));
    return ChunkPtr(new SingleBufferChunk(std::move(block)));
  }
  if (encoding.has_variable()) return MakeVariable(encoding.variable());
  if (encoding.has_fsst()) return MakeFsst(encoding.fsst());
  if (encoding.has_packed_struct()) {
    return MakePackedStruct(encoding.packed_struct());
  }
  if (encoding.has_rle()) {
    ROWFS_ASSIGN_OR_RETURN(BlockPtr values,
                           BlockDecoder::Make(encoding.rle().values()));
    ROWFS_ASSIGN_OR_RETURN(BlockPtr lengths,
                           BlockDecoder::Make(encoding.rle().run_lengths()));
    ROWFS_RETURN_IF_ERROR(RunDecoder::Check(*values, *lengths));
    return ChunkPtr(new RleChunk(std::move(values), std::move(lengths)));
  }
  if (encoding.has_fixed_size_list()) {
    ROWFS_ASSIGN_OR_RETURN(FixedSizeListShape shape,
                           FixedSizeListShape::Make(encoding));
    return ChunkPtr(new FixedSizeListChunk(std::move(shape)));
  }
  if (encoding.has_byte_stream_split()) {
    const auto& values = encoding.byte_stream_split().values();
    const uint64_t bits = values.flat().bits_per_value();
    if (!values.has_flat() || bits % 8 != 0 || bits == 0 || bits > 64) {
      return Corrupt("byte stream split of " + std::to_string(bits) +
                     "-bit values");
    }
    return ChunkPtr(new ByteStreamSplitChunk(bits));
  }
  if (encoding.has_general()) {
    ROWFS_ASSIGN_OR_RETURN(ChunkPtr values, Make(encoding.general().values()));
    return ChunkPtr(
        new GeneralChunk(encoding.general().compression(), std::move(values)));
  }
  return Status(Code::kUnsupported, "a mini-block chunk encoded as " +
                                        std::string(EncodingName(encoding)));
}

}  // namespace rowfs
