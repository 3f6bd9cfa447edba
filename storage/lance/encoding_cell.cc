// Cell decoders: one value of a full-zip page.
#include <string>
#include <utility>
#include <vector>

#include "storage/lance/codec.h"
#include "storage/lance/encoding.h"

namespace rowfs {
namespace {

using lance::pb::CompressiveEncoding;
using CellPtr = std::unique_ptr<const CellDecoder>;

Status Corrupt(std::string message) {
  return {Code::kCorruption, std::move(message)};
}

class FlatCell final : public CellDecoder {
 public:
  explicit FlatCell(uint64_t bits) : bits_(bits) {}

  std::optional<uint64_t> cell_bytes() const override {
    return (bits_ + 7) / 8;
  }
  ValueBlock NewBlock() const override { return ValueBlock::Fixed(bits_); }
  Status Decode(ByteSpan cell, ValueBlock* out) const override {
    if (bits_ == 1) {
      AppendBits(cell, 0, 1, &out->data, out->count);
    } else {
      AppendBytes(&out->data, cell);
    }
    ++out->count;
    return {};
  }

 private:
  const uint64_t bits_;
};

class FixedSizeListCell final : public CellDecoder {
 public:
  explicit FixedSizeListCell(FixedSizeListShape shape)
      : shape_(std::move(shape)), bytes_(shape_.CellBytes()) {}

  std::optional<uint64_t> cell_bytes() const override { return bytes_; }
  ValueBlock NewBlock() const override { return shape_.NewBlock(); }
  Status Decode(ByteSpan cell, ValueBlock* out) const override {
    return shape_.AppendCell(cell, out);
  }

 private:
  const FixedSizeListShape shape_;
  const uint64_t bytes_;
};

class BytesCell final : public CellDecoder {
 public:
  std::optional<uint64_t> cell_bytes() const override { return {}; }
  ValueBlock NewBlock() const override { return ValueBlock::Variable(); }
  Status Decode(ByteSpan cell, ValueBlock* out) const override {
    AppendBytes(&out->data, cell);
    out->offsets.push_back(out->data.size());
    ++out->count;
    return {};
  }
};

class FsstCell final : public CellDecoder {
 public:
  explicit FsstCell(SymbolTable symbols) : symbols_(symbols) {}

  std::optional<uint64_t> cell_bytes() const override { return {}; }
  ValueBlock NewBlock() const override { return ValueBlock::Variable(); }
  Status Decode(ByteSpan cell, ValueBlock* out) const override {
    ROWFS_RETURN_IF_ERROR(
        symbols_.Expand(cell, DecodeLimit::Bytes(), &out->data));
    out->offsets.push_back(out->data.size());
    ++out->count;
    return {};
  }

 private:
  const SymbolTable symbols_;
};

// Each cell compressed for itself.
class GeneralCell final : public CellDecoder {
 public:
  GeneralCell(lance::pb::BufferCompression compression, CellPtr values)
      : compression_(std::move(compression)),
        values_(std::move(values)),
        plain_(dynamic_cast<const BytesCell*>(values_.get()) != nullptr) {}

  std::optional<uint64_t> cell_bytes() const override { return {}; }
  ValueBlock NewBlock() const override { return values_->NewBlock(); }
  Status Decode(ByteSpan cell, ValueBlock* out) const override {
    if (plain_) {
      ROWFS_RETURN_IF_ERROR(DecompressGeneral(
          compression_, cell, DecodeLimit::Bytes(), &out->data));
      out->offsets.push_back(out->data.size());
      ++out->count;
      return {};
    }
    Bytes raw;
    ROWFS_RETURN_IF_ERROR(
        DecompressGeneral(compression_, cell, DecodeLimit::Bytes(), &raw));
    if (out->data.size() + raw.size() > DecodeLimit::Bytes()) {
      return {Code::kResourceExhausted,
              "cells decompress to more than may be decoded at once"};
    }
    const auto wanted = values_->cell_bytes();
    if (wanted && raw.size() != *wanted) {
      return Corrupt("a cell decompresses to " + std::to_string(raw.size()) +
                     " of " + std::to_string(*wanted) + " bytes");
    }
    return values_->Decode(raw, out);
  }

 private:
  const lance::pb::BufferCompression compression_;
  const CellPtr values_;
  const bool plain_;  // what comes out is the value
};

// The children of one row, one behind the other; variable ones with a length.
class StructCell final : public CellDecoder {
 public:
  struct Child {
    CellPtr cell;
    size_t length_bytes = 0;  // 0: of fixed size
  };
  explicit StructCell(std::vector<Child> children)
      : children_(std::move(children)) {}

  std::optional<uint64_t> cell_bytes() const override {
    uint64_t total = 0;
    for (const Child& child : children_) {
      const auto bytes = child.cell->cell_bytes();
      if (child.length_bytes != 0 || !bytes) return {};
      total += *bytes;
    }
    return total;
  }
  ValueBlock NewBlock() const override {
    ValueBlock block{.shape = ValueBlock::Shape::kStruct};
    for (const Child& child : children_) {
      block.children.push_back(child.cell->NewBlock());
    }
    return block;
  }
  Status Decode(ByteSpan cell, ValueBlock* out) const override {
    Cursor cursor(cell, "a packed row");
    for (size_t i = 0; i < children_.size(); ++i) {
      const Child& child = children_[i];
      uint64_t size = child.cell->cell_bytes().value_or(0);
      if (child.length_bytes != 0) {
        ROWFS_ASSIGN_OR_RETURN(const ByteSpan length,
                               cursor.Take(child.length_bytes));
        size = LoadUint(length, child.length_bytes);
      }
      ROWFS_ASSIGN_OR_RETURN(const ByteSpan value, cursor.Take(size));
      ROWFS_RETURN_IF_ERROR(child.cell->Decode(value, &out->children[i]));
    }
    if (!cursor.AtEnd()) return cursor.Error("bytes are left over");
    ++out->count;
    return {};
  }

 private:
  const std::vector<Child> children_;
};

Result<CellPtr> MakePackedStruct(
    const CompressiveEncoding::PackedStruct& packed) {
  std::vector<StructCell::Child> children;
  for (const uint64_t bits : packed.bits_per_value()) {
    if (bits == 0 || bits % 8 != 0 || bits > 1u << 30) {
      return Corrupt("a packed struct with a child of " + std::to_string(bits) +
                     " bits");
    }
    children.push_back({CellPtr(new FlatCell(bits)), 0});
  }
  return CellPtr(new StructCell(std::move(children)));
}

Result<CellPtr> MakeVariableStruct(
    const CompressiveEncoding::VariablePackedStruct& packed) {
  std::vector<StructCell::Child> children;
  for (const auto& field : packed.fields()) {
    if (field.layout_case() ==
        CompressiveEncoding::VariablePackedStruct::Child::kBitsPerLength) {
      const uint64_t bits = field.bits_per_length();
      if (bits != 8 && bits != 16 && bits != 32 && bits != 64) {
        return Corrupt("lengths of " + std::to_string(bits) + " bits");
      }
      ROWFS_ASSIGN_OR_RETURN(CellPtr cell,
                             CellDecoder::MakeVariable(field.value()));
      children.push_back({std::move(cell), bits / 8});
      continue;
    }
    ROWFS_ASSIGN_OR_RETURN(CellPtr cell, CellDecoder::MakeFixed(field.value()));
    const auto bytes = cell->cell_bytes();
    if (!bytes || *bytes * 8 != field.bits_per_value()) {
      return Corrupt("a packed child of " +
                     std::to_string(field.bits_per_value()) + " bits");
    }
    children.push_back({std::move(cell), 0});
  }
  return CellPtr(new StructCell(std::move(children)));
}

}  // namespace

Result<std::unique_ptr<const CellDecoder>> CellDecoder::MakeFixed(
    const CompressiveEncoding& encoding) {
  if (encoding.has_flat() && !encoding.flat().has_data()) {
    const uint64_t bits = encoding.flat().bits_per_value();
    if (bits == 0 || bits > 1u << 30 || (bits != 1 && bits % 8 != 0)) {
      return Corrupt("flat cells of " + std::to_string(bits) + " bits");
    }
    return CellPtr(new FlatCell(bits));
  }
  if (encoding.has_fixed_size_list()) {
    ROWFS_ASSIGN_OR_RETURN(FixedSizeListShape shape,
                           FixedSizeListShape::Make(encoding));
    return CellPtr(new FixedSizeListCell(std::move(shape)));
  }
  if (encoding.has_packed_struct()) {
    return MakePackedStruct(encoding.packed_struct());
  }
  return Status(Code::kUnsupported, "a fixed-width cell encoded as " +
                                        std::string(EncodingName(encoding)));
}

Result<std::unique_ptr<const CellDecoder>> CellDecoder::MakeVariable(
    const CompressiveEncoding& encoding) {
  if (encoding.has_variable() && !encoding.variable().has_values()) {
    return CellPtr(new BytesCell());
  }
  if (encoding.has_fsst()) {
    ROWFS_ASSIGN_OR_RETURN(
        const SymbolTable symbols,
        SymbolTable::Decode(AsBytes(encoding.fsst().symbol_table())));
    return CellPtr(new FsstCell(symbols));
  }
  if (encoding.has_general()) {
    const auto& inner = encoding.general().values();
    ROWFS_ASSIGN_OR_RETURN(CellPtr values, MakeVariable(inner));
    return CellPtr(
        new GeneralCell(encoding.general().compression(), std::move(values)));
  }
  if (encoding.has_variable_packed_struct()) {
    return MakeVariableStruct(encoding.variable_packed_struct());
  }
  return Status(Code::kUnsupported, "a variable cell encoded as " +
                                        std::string(EncodingName(encoding)));
}

}  // namespace rowfs
