// Block decoders: one buffer, a whole sequence.
#include <algorithm>
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

constexpr uint64_t kFrameBytes = 8;

Status Corrupt(std::string message) {
  return {Code::kCorruption, std::move(message)};
}

bool IsWordWidth(uint64_t bits) {
  return bits == 8 || bits == 16 || bits == 32 || bits == 64;
}

void AppendInteger(uint64_t value, uint64_t bits, Bytes* out) {
  AppendUint(out, value, bits / 8);
}

// The payloads of two children.
struct TwoPayloads {
  ByteSpan first;
  ByteSpan second;
};

// Behind a u64 with the size of the first.
Result<TwoPayloads> SplitRuns(ByteSpan payload) {
  if (payload.size() < kFrameBytes ||
      LoadU64(payload) > payload.size() - kFrameBytes) {
    return Corrupt("a block of runs is cut short");
  }
  const uint64_t size = LoadU64(payload);
  return TwoPayloads{payload.subspan(kFrameBytes, size),
                     payload.subspan(kFrameBytes + size)};
}

// Behind two u64 with the sizes of both.
Result<TwoPayloads> SplitDictionary(ByteSpan payload) {
  if (payload.size() < 2 * kFrameBytes) {
    return Corrupt("a dictionary block is cut short");
  }
  const uint64_t left = payload.size() - 2 * kFrameBytes;
  const uint64_t indices = LoadU64(payload);
  const uint64_t items = LoadU64(payload.subspan(kFrameBytes));
  if (indices > left || items != left - indices) {
    return Corrupt("a dictionary block of odd size");
  }
  return TwoPayloads{payload.subspan(2 * kFrameBytes, indices),
                     payload.subspan(2 * kFrameBytes + indices)};
}

class FlatBlock final : public BlockDecoder {
 public:
  explicit FlatBlock(uint64_t bits) : bits_(bits) {}

  uint64_t bits() const override { return bits_; }
  Status Decode(ByteSpan payload, uint64_t count,
                ValueBlock* out) const override {
    ROWFS_ASSIGN_OR_RETURN(const uint64_t bytes,
                           DecodedBytes(count, bits_, "flat values"));
    if (payload.size() < bytes) {
      return Corrupt(std::to_string(payload.size()) + " bytes for " +
                     std::to_string(count) + " flat values of " +
                     std::to_string(bits_) + " bits");
    }
    if (bits_ == 1) {
      AppendBits(payload, 0, count, &out->data, out->count);
    } else {
      AppendBytes(&out->data, payload.first(bytes));
    }
    out->count += count;
    return {};
  }
  std::optional<uint64_t> CountOf(ByteSpan payload) const override {
    if (bits_ % 8 != 0 || payload.size() % (bits_ / 8) != 0) return {};
    return payload.size() / (bits_ / 8);
  }

 private:
  const uint64_t bits_;
};

class ConstantBlock final : public BlockDecoder {
 public:
  explicit ConstantBlock(const std::string& value) : value_(ToBytes(value)) {}

  bool has_payload() const override { return false; }
  uint64_t bits() const override { return value_.size() * 8; }
  Status Decode(ByteSpan, uint64_t count, ValueBlock* out) const override {
    if (value_.empty() && count > 0) {
      return Corrupt("a constant without a value");
    }
    ROWFS_ASSIGN_OR_RETURN([[maybe_unused]] const uint64_t bytes,
                           DecodedBytes(count, bits(), "constant values"));
    for (uint64_t i = 0; i < count; ++i) AppendBytes(&out->data, value_);
    out->count += count;
    return {};
  }
  std::optional<uint64_t> CountOf(ByteSpan) const override { return {}; }

 private:
  const Bytes value_;
};

class RangeBlock final : public BlockDecoder {
 public:
  RangeBlock(uint64_t bits, uint64_t start, uint64_t step)
      : bits_(bits), start_(start), step_(step) {}

  bool has_payload() const override { return false; }
  uint64_t bits() const override { return bits_; }
  Status Decode(ByteSpan, uint64_t count, ValueBlock* out) const override {
    ROWFS_ASSIGN_OR_RETURN([[maybe_unused]] const uint64_t bytes,
                           DecodedBytes(count, bits_, "range values"));
    if (count > 0) {
      const auto span = CheckedMul(step_, count - 1);
      const auto last = span ? CheckedAdd(start_, *span) : std::nullopt;
      if (!last || (bits_ == 32 && *last > UINT32_MAX)) {
        return Corrupt("a range leaves its type");
      }
    }
    for (uint64_t i = 0; i < count; ++i) {
      AppendInteger(start_ + i * step_, bits_, &out->data);
    }
    out->count += count;
    return {};
  }
  std::optional<uint64_t> CountOf(ByteSpan) const override { return {}; }

 private:
  const uint64_t bits_;
  const uint64_t start_;
  const uint64_t step_;
};

class DeltaBlock final : public BlockDecoder {
 public:
  DeltaBlock(uint64_t base, BlockPtr deltas)
      : base_(base), deltas_(std::move(deltas)) {}

  bool has_payload() const override { return deltas_->has_payload(); }
  uint64_t bits() const override { return deltas_->bits(); }
  Status Decode(ByteSpan payload, uint64_t count,
                ValueBlock* out) const override {
    if (count == 0) return {};
    ValueBlock deltas = deltas_->NewBlock();
    ROWFS_RETURN_IF_ERROR(deltas_->Decode(payload, count - 1, &deltas));
    uint64_t value = base_;
    AppendInteger(value, bits(), &out->data);
    for (const uint64_t delta : ToIntegers(deltas)) {
      const auto next = CheckedAdd(value, delta);
      if (!next || (bits() == 32 && *next > UINT32_MAX)) {
        return Corrupt("deltas leave their type");
      }
      value = *next;
      AppendInteger(value, bits(), &out->data);
    }
    out->count += count;
    return {};
  }
  std::optional<uint64_t> CountOf(ByteSpan) const override { return {}; }

 private:
  const uint64_t base_;
  const BlockPtr deltas_;
};

// One block of up to 1,024 values whose first word is the packed width.
class InlineBitpackingBlock final : public BlockDecoder {
 public:
  explicit InlineBitpackingBlock(uint64_t bits) : bits_(bits) {}

  uint64_t bits() const override { return bits_; }
  Status Decode(ByteSpan payload, uint64_t count,
                ValueBlock* out) const override {
    if (count == 0) return {};
    const size_t word = bits_ / 8;
    if (payload.size() < word || count > kPackedBlockValues) {
      return Corrupt("a bit-packed block of " + std::to_string(payload.size()) +
                     " bytes for " + std::to_string(count) + " values");
    }
    const uint64_t width = LoadUint(payload, word);
    if (width > bits_ ||
        payload.size() - word < PackedBlockBytes(width, bits_)) {
      return Corrupt("a block bit-packed to " + std::to_string(width) + " of " +
                     std::to_string(bits_) + " bits is cut short");
    }
    const size_t at = out->data.size();
    out->data.resize(at + kPackedBlockValues * word);
    UnpackBlock(payload.subspan(word), width, bits_, out->data.data() + at);
    out->data.resize(at + count * word);
    out->count += count;
    return {};
  }
  std::optional<uint64_t> CountOf(ByteSpan) const override { return {}; }

 private:
  const uint64_t bits_;
};

// Whole blocks of 1,024 of one width; the rest is one more block or, when that
// is shorter, the values as they are. The length tells which.
class OutOfLineBitpackingBlock final : public BlockDecoder {
 public:
  OutOfLineBitpackingBlock(uint64_t bits, uint64_t packed_bits)
      : bits_(bits), packed_bits_(packed_bits) {}

  uint64_t bits() const override { return bits_; }
  Status Decode(ByteSpan payload, uint64_t count,
                ValueBlock* out) const override {
    ROWFS_ASSIGN_OR_RETURN(const uint64_t bytes,
                           DecodedBytes(count, bits_, "bit-packed values"));
    const uint64_t block_bytes = PackedBlockBytes(packed_bits_, bits_);
    const uint64_t whole = count / kPackedBlockValues;
    const uint64_t tail = count % kPackedBlockValues;
    const uint64_t whole_bytes = whole * block_bytes;
    const uint64_t raw_bytes = tail * bits_ / 8;
    const bool raw = tail > 0 && payload.size() == whole_bytes + raw_bytes;
    const uint64_t wanted = whole_bytes + (tail == 0 ? 0
                                           : raw     ? raw_bytes
                                                     : block_bytes);
    if (payload.size() < wanted) {
      return Corrupt(std::to_string(payload.size()) + " bytes for " +
                     std::to_string(count) + " values bit-packed to " +
                     std::to_string(packed_bits_) + " bits");
    }
    const size_t at = out->data.size();
    const uint64_t blocks = whole + (tail > 0 && !raw ? 1 : 0);
    const size_t out_bytes = kPackedBlockValues * bits_ / 8;
    out->data.resize(at + blocks * out_bytes);
    for (uint64_t i = 0; i < blocks; ++i) {
      UnpackBlock(payload.subspan(i * block_bytes), packed_bits_, bits_,
                  out->data.data() + at + i * out_bytes);
    }
    if (raw) AppendBytes(&out->data, payload.subspan(whole_bytes, raw_bytes));
    out->data.resize(at + bytes);
    out->count += count;
    return {};
  }
  std::optional<uint64_t> CountOf(ByteSpan) const override { return {}; }

 private:
  const uint64_t bits_;
  const uint64_t packed_bits_;
};

class GeneralBlock final : public BlockDecoder {
 public:
  GeneralBlock(lance::pb::BufferCompression compression, BlockPtr values)
      : compression_(std::move(compression)), values_(std::move(values)) {}

  uint64_t bits() const override { return values_->bits(); }
  ValueBlock NewBlock() const override { return values_->NewBlock(); }
  Status Decode(ByteSpan payload, uint64_t count,
                ValueBlock* out) const override {
    Bytes raw;
    ROWFS_RETURN_IF_ERROR(
        DecompressGeneral(compression_, payload, DecodeLimit::Bytes(), &raw));
    return values_->Decode(raw, count, out);
  }
  std::optional<uint64_t> CountOf(ByteSpan payload) const override {
    Bytes raw;
    if (!DecompressGeneral(compression_, payload, DecodeLimit::Bytes(), &raw)
             .ok()) {
      return {};
    }
    return values_->CountOf(raw);
  }

 private:
  const lance::pb::BufferCompression compression_;
  const BlockPtr values_;
};

class DictionaryBlock final : public BlockDecoder {
 public:
  DictionaryBlock(uint64_t item_count, BlockPtr indices, BlockPtr items)
      : item_count_(item_count),
        indices_(std::move(indices)),
        items_(std::move(items)) {}

  bool has_payload() const override {
    return indices_->has_payload() || items_->has_payload();
  }
  uint64_t bits() const override { return items_->bits(); }
  ValueBlock NewBlock() const override { return items_->NewBlock(); }
  Status Decode(ByteSpan payload, uint64_t count,
                ValueBlock* out) const override {
    TwoPayloads parts;
    if (has_payload()) {
      ROWFS_ASSIGN_OR_RETURN(parts, SplitDictionary(payload));
    }
    ValueBlock indices = indices_->NewBlock();
    ROWFS_RETURN_IF_ERROR(indices_->Decode(parts.first, count, &indices));
    ValueBlock items = items_->NewBlock();
    ROWFS_RETURN_IF_ERROR(items_->Decode(parts.second, item_count_, &items));
    return GatherValues(items, ToIntegers(indices), out);
  }
  std::optional<uint64_t> CountOf(ByteSpan) const override { return {}; }

 private:
  const uint64_t item_count_;
  const BlockPtr indices_;
  const BlockPtr items_;
};

class RleBlock final : public BlockDecoder {
 public:
  RleBlock(const CompressiveEncoding::Rle& rle, BlockPtr values,
           BlockPtr lengths)
      : range_lengths_(rle.run_lengths().has_range()
                           ? std::optional(rle.run_lengths().range())
                           : std::nullopt),
        runs_{std::move(values), std::move(lengths)} {}

  bool has_payload() const override {
    return runs_.values->has_payload() || runs_.lengths->has_payload();
  }
  uint64_t bits() const override { return runs_.values->bits(); }
  Status Decode(ByteSpan payload, uint64_t count,
                ValueBlock* out) const override {
    if (count == 0) return {};
    TwoPayloads parts;
    if (has_payload()) {
      ROWFS_ASSIGN_OR_RETURN(parts, SplitRuns(payload));
    }
    std::optional<uint64_t> run_count = MetadataRunCount(count);
    return runs_.Decode(parts.first, parts.second, run_count, count, out);
  }
  std::optional<uint64_t> CountOf(ByteSpan) const override { return {}; }

 private:
  // Run lengths that no buffer holds do not tell how many there are, but how
  // many it takes to make `count` values.
  std::optional<uint64_t> MetadataRunCount(uint64_t count) const {
    if (runs_.lengths->has_payload()) return {};
    if (range_lengths_) {
      uint64_t sum = 0;
      uint64_t runs = 0;
      uint64_t length = range_lengths_->start();
      while (sum < count && length > 0) {
        const auto next = CheckedAdd(sum, length);
        const auto longer = CheckedAdd(length, range_lengths_->step());
        if (!next || !longer) return {};
        sum = *next;
        length = *longer;
        ++runs;
      }
      return runs;
    }
    ValueBlock one = runs_.lengths->NewBlock();
    if (!runs_.lengths->Decode({}, 1, &one).ok()) return {};
    const uint64_t length = ToIntegers(one)[0];
    if (length == 0) return {};
    return (count + length - 1) / length;
  }

  const std::optional<CompressiveEncoding::Range> range_lengths_;
  const RunDecoder runs_;
};

// Strings, as dictionaries hold them: u32 offset width, u32 position of the
// bytes, offsets from 0, bytes; all of them u64 in the 64-bit form.
class VariableBlock final : public BlockDecoder {
 public:
  uint64_t bits() const override { return 0; }
  ValueBlock NewBlock() const override { return ValueBlock::Variable(); }
  Status Decode(ByteSpan payload, uint64_t count,
                ValueBlock* out) const override {
    if (payload.size() < 8) return Corrupt("a string block is cut short");
    const uint64_t width_bits = LoadU32(payload);
    if (width_bits != 32 && width_bits != 64) {
      return Corrupt("a string block with offsets of " +
                     std::to_string(width_bits) + " bits");
    }
    const size_t width = width_bits / 8;
    if (payload.size() < 2 * width) {
      return Corrupt("a string block is cut short");
    }
    const uint64_t begin = LoadUint(payload.subspan(width), width);
    const auto end_of_count = CheckedAdd(count, 1);
    const auto size =
        end_of_count ? CheckedMul(*end_of_count, width) : std::nullopt;
    if (!size || begin < 2 * width || begin > payload.size() ||
        begin - 2 * width != *size) {
      return Corrupt("a string block without room for " +
                     std::to_string(count) + " offsets");
    }
    const ByteSpan bytes = payload.subspan(begin);
    const size_t at = out->data.size();
    uint64_t before = 0;
    for (uint64_t i = 0; i <= count; ++i) {
      const uint64_t offset = LoadUint(payload.subspan((2 + i) * width), width);
      if (offset < before || offset > bytes.size() || (i == 0 && offset != 0)) {
        return Corrupt("string offset " + std::to_string(offset) +
                       " is out of order");
      }
      if (i > 0) out->offsets.push_back(at + offset);
      before = offset;
    }
    AppendBytes(&out->data, bytes.first(before));
    out->count += count;
    return {};
  }
  std::optional<uint64_t> CountOf(ByteSpan) const override { return {}; }
};

class FixedSizeListBlock final : public BlockDecoder {
 public:
  explicit FixedSizeListBlock(FixedSizeListShape shape)
      : shape_(std::move(shape)) {}

  uint64_t bits() const override { return 0; }
  ValueBlock NewBlock() const override { return shape_.NewBlock(); }
  Status Decode(ByteSpan payload, uint64_t count,
                ValueBlock* out) const override {
    if (shape_.buffer_count() == 1) {
      return shape_.Append(std::array{payload}, count, out);
    }
    // With validity the values lie one behind the other as cells.
    const uint64_t cell_bytes = shape_.CellBytes();
    const auto size = CheckedMul(cell_bytes, count);
    if (!size || payload.size() != *size) {
      return Corrupt(std::to_string(payload.size()) + " bytes for " +
                     std::to_string(count) + " fixed-size lists");
    }
    for (uint64_t i = 0; i < count; ++i) {
      ROWFS_RETURN_IF_ERROR(
          shape_.AppendCell(payload.subspan(i * cell_bytes, cell_bytes), out));
    }
    return {};
  }
  std::optional<uint64_t> CountOf(ByteSpan) const override { return {}; }

 private:
  const FixedSizeListShape shape_;
};

Result<BlockPtr> MakeBitpacking(
    const CompressiveEncoding::OutOfLineBitpacking& packing) {
  const uint64_t bits = packing.uncompressed_bits_per_value();
  const auto& values = packing.values();
  if (!IsWordWidth(bits) || !values.has_flat() ||
      values.flat().bits_per_value() > bits) {
    return Corrupt("out-of-line bitpacking of " + std::to_string(bits) +
                   "-bit values to " +
                   std::to_string(values.flat().bits_per_value()) + " bits");
  }
  return BlockPtr(
      new OutOfLineBitpackingBlock(bits, values.flat().bits_per_value()));
}

Result<BlockPtr> MakeDelta(const CompressiveEncoding::Delta& delta) {
  ROWFS_ASSIGN_OR_RETURN(BlockPtr deltas, BlockDecoder::Make(delta.deltas()));
  const uint64_t bits = delta.uncompressed_bits_per_value();
  // No deltas at all are described as a constant without a value.
  if ((bits != 32 && bits != 64) || deltas->bits() != bits) {
    return Corrupt("deltas of " + std::to_string(bits) + " bits over " +
                   std::to_string(deltas->bits()));
  }
  return BlockPtr(new DeltaBlock(delta.base(), std::move(deltas)));
}

Result<BlockPtr> MakeDictionary(const CompressiveEncoding::Dictionary& from) {
  ROWFS_ASSIGN_OR_RETURN(BlockPtr indices, BlockDecoder::Make(from.indices()));
  ROWFS_ASSIGN_OR_RETURN(BlockPtr items, BlockDecoder::Make(from.items()));
  if (!IsWordWidth(indices->bits())) {
    return Corrupt("dictionary indices of " + std::to_string(indices->bits()) +
                   " bits");
  }
  return BlockPtr(new DictionaryBlock(from.num_dictionary_items(),
                                      std::move(indices), std::move(items)));
}

Result<BlockPtr> MakeRle(const CompressiveEncoding::Rle& rle) {
  ROWFS_ASSIGN_OR_RETURN(BlockPtr values, BlockDecoder::Make(rle.values()));
  ROWFS_ASSIGN_OR_RETURN(BlockPtr lengths,
                         BlockDecoder::Make(rle.run_lengths()));
  ROWFS_RETURN_IF_ERROR(RunDecoder::Check(*values, *lengths));
  return BlockPtr(new RleBlock(rle, std::move(values), std::move(lengths)));
}

}  // namespace

Result<std::unique_ptr<const BlockDecoder>> BlockDecoder::Make(
    const CompressiveEncoding& encoding) {
  if (encoding.has_flat() && !encoding.flat().has_data()) {
    const uint64_t bits = encoding.flat().bits_per_value();
    if (bits == 0 || bits > 1u << 30 || (bits != 1 && bits % 8 != 0)) {
      return Corrupt("flat values of " + std::to_string(bits) + " bits");
    }
    return BlockPtr(new FlatBlock(bits));
  }
  if (encoding.has_inline_bitpacking() &&
      !encoding.inline_bitpacking().has_values()) {
    const uint64_t bits =
        encoding.inline_bitpacking().uncompressed_bits_per_value();
    if (!IsWordWidth(bits)) {
      return Corrupt("bitpacking of " + std::to_string(bits) + "-bit values");
    }
    return BlockPtr(new InlineBitpackingBlock(bits));
  }
  if (encoding.has_out_of_line_bitpacking()) {
    return MakeBitpacking(encoding.out_of_line_bitpacking());
  }
  if (encoding.has_constant()) {
    if (encoding.constant().value().size() > 1u << 20) {
      return Corrupt("a constant of " +
                     std::to_string(encoding.constant().value().size()) +
                     " bytes");
    }
    return BlockPtr(new ConstantBlock(encoding.constant().value()));
  }
  if (encoding.has_range()) {
    const auto& range = encoding.range();
    const uint64_t bits = range.uncompressed_bits_per_value();
    if (bits != 32 && bits != 64) {
      return Corrupt("a range of " + std::to_string(bits) + "-bit values");
    }
    return BlockPtr(new RangeBlock(bits, range.start(), range.step()));
  }
  if (encoding.has_delta()) return MakeDelta(encoding.delta());
  if (encoding.has_rle()) return MakeRle(encoding.rle());
  if (encoding.has_dictionary()) return MakeDictionary(encoding.dictionary());
  if (encoding.has_general()) {
    ROWFS_ASSIGN_OR_RETURN(BlockPtr values, Make(encoding.general().values()));
    return BlockPtr(
        new GeneralBlock(encoding.general().compression(), std::move(values)));
  }
  if (encoding.has_variable() && !encoding.variable().has_values()) {
    return BlockPtr(new VariableBlock());
  }
  if (encoding.has_fixed_size_list()) {
    ROWFS_ASSIGN_OR_RETURN(FixedSizeListShape shape,
                           FixedSizeListShape::Make(encoding));
    return BlockPtr(new FixedSizeListBlock(std::move(shape)));
  }
  return Status(Code::kUnsupported,
                "a block encoded as " + std::string(EncodingName(encoding)));
}

}  // namespace rowfs
