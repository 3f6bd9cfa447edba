// Constant pages: nothing but levels, or one value for every slot that is not
// null. What the page means follows from the inline value and the number of
// buffers: none and rep + def hold no value, one more in front is the value.
#include <algorithm>
#include <string>
#include <utility>

#include "storage/lance/encoding.h"
#include "storage/lance/page.h"

namespace rowfs {
namespace {

using lance::pb::ConstantLayout;

constexpr uint64_t kScalarBytesMax = 16 << 20;

Status Corrupt(std::string message) {
  return {Code::kCorruption, std::move(message)};
}

// The value behind a header of u32 lengths of its Arrow buffers.
Result<ByteSpan> DecodeScalar(ByteSpan buffer, const DataType& type) {
  Cursor cursor(buffer, "a constant value");
  ROWFS_ASSIGN_OR_RETURN(const uint32_t count, cursor.U32());
  const bool variable = !FixedWidth(type).has_value();
  if (count != (variable ? 2 : 1)) {
    return cursor.Error(std::to_string(count) + " buffers");
  }
  std::vector<uint32_t> sizes;
  for (uint32_t i = 0; i < count; ++i) {
    ROWFS_ASSIGN_OR_RETURN(const uint32_t size, cursor.U32());
    sizes.push_back(size);
  }
  std::vector<ByteSpan> parts;
  for (const uint32_t size : sizes) {
    ROWFS_ASSIGN_OR_RETURN(const ByteSpan part, cursor.Take(size));
    parts.push_back(part);
  }
  if (!variable) return parts[0];
  const size_t width = parts[0].size() / 2;
  if (width != 4 && width != 8) return cursor.Error("offsets of odd size");
  const uint64_t begin = LoadUint(parts[0], width);
  const uint64_t end = LoadUint(parts[0].subspan(width), width);
  if (begin > end || end > parts[1].size()) {
    return cursor.Error("offsets past its bytes");
  }
  return parts[1].subspan(begin, end - begin);
}

class ConstantRead final : public PageRead {
 public:
  ConstantRead(const PageContext& context, const ConstantLayout& layout,
               Layers layers, RowRanges rows)
      : context_(context),
        layout_(layout),
        layers_(std::move(layers)),
        rows_(std::move(rows)) {}

  // Levels without repetition lie where arithmetic says, if they are raw.
  bool RawDefinition() const {
    return layers_.rep_max() == 0 && !layout_.has_def_compression();
  }

  Result<std::vector<ByteRange>> Next(std::vector<Bytes> got) override {
    const auto& buffers = context_.page->buffers;
    if (asked_) {
      got_ = std::move(got);
      return std::vector<ByteRange>();
    }
    asked_ = true;
    has_scalar_ = buffers.size() == 1 || buffers.size() == 3;
    std::vector<ByteRange> wanted;
    if (has_scalar_) {
      if (buffers[0].size() > kScalarBytesMax) {
        return Corrupt("a constant of " + std::to_string(buffers[0].size()) +
                       " bytes");
      }
      wanted.push_back(buffers[0]);
    }
    if (buffers.size() < 2) return wanted;
    const ByteRange rep = buffers[buffers.size() - 2];
    const ByteRange def = buffers[buffers.size() - 1];
    if (rep.size() + def.size() > DecodeLimit::Bytes()) {
      return Status(
          Code::kResourceExhausted,
          "levels of " + std::to_string(rep.size() + def.size()) + " bytes");
    }
    wanted.push_back(rep);
    raw_slice_ = RawDefinition() && !def.empty();
    if (!raw_slice_) {
      wanted.push_back(def);
      return wanted;
    }
    if (def.size() / 2 < context_.page->row_count) {
      return Corrupt("fewer levels than rows");
    }
    for (const RowRange& range : rows_) {
      wanted.push_back(
          {def.begin + range.begin * 2, def.begin + range.end * 2});
    }
    return wanted;
  }

  Result<Array> Finish() override {
    size_t next = has_scalar_ ? 1 : 0;
    if (context_.page->buffers.size() < 2) return WithoutLevels();
    const ByteSpan rep = got_[next++];
    if (raw_slice_) return FromSlices(next);
    Levels levels;
    ROWFS_RETURN_IF_ERROR(DecodeStreams(rep, got_[next], &levels));
    ROWFS_ASSIGN_OR_RETURN(Array rows, Rebuild(levels));
    if (rows.length * RowWidth() != context_.page->row_count) {
      return Corrupt(std::to_string(rows.length) + " rows in a page of " +
                     std::to_string(context_.page->row_count));
    }
    return SelectRows(std::move(rows), 0, Scaled());
  }

 private:
  uint64_t RowWidth() const { return context_.path->entries_per_row(); }
  RowRanges Scaled() const {
    RowRanges rows = rows_;
    for (RowRange& range : rows) {
      range.begin /= RowWidth();
      range.end /= RowWidth();
    }
    return rows;
  }

  bool HasValue() const { return has_scalar_ || layout_.has_inline_value(); }

  Result<Array> WithoutLevels() {
    Levels levels{.count = CountRows(rows_)};
    ROWFS_ASSIGN_OR_RETURN([[maybe_unused]] const uint64_t bytes,
                           DecodedBytes(levels.count, 16, "a constant page"));
    if (!HasValue()) {
      if (layers_.size() != 1) {
        return Corrupt("a page of nested nulls without levels");
      }
      // What a null of the leaf looks like.
      return NullArray(context_.path->types[0], levels.count);
    }
    return Rebuild(levels);
  }

  Result<Array> FromSlices(size_t next) {
    Levels levels;
    for (; next < got_.size(); ++next) {
      const uint64_t count = got_[next].size() / 2;
      ROWFS_ASSIGN_OR_RETURN(std::vector<uint16_t> def,
                             DecodeLevels(nullptr, got_[next], count));
      levels.def.insert(levels.def.end(), def.begin(), def.end());
      levels.count += count;
    }
    return Rebuild(levels);
  }

  Status DecodeStreams(ByteSpan rep, ByteSpan def, Levels* levels) {
    ROWFS_RETURN_IF_ERROR(DecodeStream(
        rep,
        layout_.has_rep_compression() ? &layout_.rep_compression() : nullptr,
        layout_.num_rep_values(), &levels->rep));
    ROWFS_RETURN_IF_ERROR(DecodeStream(
        def,
        layout_.has_def_compression() ? &layout_.def_compression() : nullptr,
        layout_.num_def_values(), &levels->def));
    levels->count = std::max(levels->rep.size(), levels->def.size());
    if ((!levels->rep.empty() && levels->rep.size() != levels->count) ||
        (!levels->def.empty() && levels->def.size() != levels->count)) {
      return Corrupt("levels of different number");
    }
    if (levels->count == 0) levels->count = context_.page->row_count;
    return {};
  }

  static Status DecodeStream(ByteSpan bytes,
                             const lance::pb::CompressiveEncoding* encoding,
                             uint64_t count, std::vector<uint16_t>* levels) {
    if (encoding == nullptr) {
      ROWFS_ASSIGN_OR_RETURN(*levels,
                             DecodeLevels(nullptr, bytes, bytes.size() / 2));
      return {};
    }
    ROWFS_ASSIGN_OR_RETURN(const auto decoder, BlockDecoder::Make(*encoding));
    ROWFS_ASSIGN_OR_RETURN(*levels, DecodeLevels(decoder.get(), bytes, count));
    return {};
  }

  Result<Array> Rebuild(const Levels& levels) {
    const uint64_t slots = levels.CountVisible(layers_, 0, levels.count);
    ROWFS_ASSIGN_OR_RETURN(Array values, Values(slots));
    return Unravel(*context_.path, layers_, levels, std::move(values));
  }

  // The value `slots` times; nulls where there is none.
  Result<Array> Values(uint64_t slots) {
    const TypePtr& type = context_.path->types.back();
    if (!HasValue()) return NullArray(type, slots);
    ByteSpan value = AsBytes(layout_.inline_value());
    if (has_scalar_) {
      ROWFS_ASSIGN_OR_RETURN(value, DecodeScalar(got_[0], *type));
    }
    ROWFS_ASSIGN_OR_RETURN(
        [[maybe_unused]] const uint64_t bytes,
        DecodedBytes(slots, (value.size() + 1) * 8, "a constant page"));
    ValueBlock block;
    if (type->id == TypeId::kBool) {
      if (value.size() != 1) return Corrupt("a bool of odd size");
      block = ValueBlock::Fixed(1);
      if (value[0] != std::byte{0}) {
        AppendOnes(slots, &block.data, 0);
      } else {
        block.data.resize((slots + 7) / 8);
      }
    } else {
      block = FixedWidth(*type) ? ValueBlock::Fixed(value.size() * 8)
                                : ValueBlock::Variable();
      block.data.reserve(slots * value.size());
      for (uint64_t i = 0; i < slots; ++i) {
        AppendBytes(&block.data, value);
        if (!block.offsets.empty()) block.offsets.push_back(block.data.size());
      }
    }
    block.count = slots;
    return ToArray(std::move(block), type);
  }

  const PageContext context_;
  const ConstantLayout layout_;
  const Layers layers_;
  const RowRanges rows_;
  bool asked_ = false;
  bool has_scalar_ = false;
  bool raw_slice_ = false;
  std::vector<Bytes> got_;
};

// A struct without members: writers give it one layer of nulls wherever it is,
// and mean values.
class EmptyStructRead final : public PageRead {
 public:
  EmptyStructRead(const ColumnPath& path, uint64_t count)
      : path_(path), count_(count) {}

  static bool Fits(const PageContext& context, const ConstantLayout& layout) {
    const std::vector<TypePtr>& types = context.path->types;
    return layout.layers_size() == 1 && context.page->buffers.empty() &&
           context.path->leaf().children.empty() &&
           std::all_of(types.begin(), types.end(), [](const TypePtr& type) {
             return type->id == TypeId::kStruct;
           });
  }

  Result<std::vector<ByteRange>> Next(std::vector<Bytes> /*got*/) override {
    return std::vector<ByteRange>();
  }
  Result<Array> Finish() override {
    Array chain{.type = path_.types.back(), .length = count_};
    for (size_t i = path_.types.size() - 1; i > 0; --i) {
      Array outer{.type = path_.types[i - 1], .length = count_};
      outer.children.push_back(std::move(chain));
      chain = std::move(outer);
    }
    return chain;
  }

 private:
  const ColumnPath& path_;
  const uint64_t count_;
};

}  // namespace

Result<std::unique_ptr<PageRead>> StartConstantRead(
    const PageContext& context, const ConstantLayout& layout, RowRanges rows) {
  if (EmptyStructRead::Fits(context, layout)) {
    return std::unique_ptr<PageRead>(
        new EmptyStructRead(*context.path, CountRows(rows)));
  }
  ROWFS_ASSIGN_OR_RETURN(Layers layers,
                         Layers::Make(layout.layers(), *context.path));
  const size_t buffers = context.page->buffers.size();
  if (buffers > 3 || (layout.has_inline_value() && buffers % 2 != 0)) {
    return Corrupt("a constant page of " + std::to_string(buffers) +
                   " buffers");
  }
  return std::unique_ptr<PageRead>(
      new ConstantRead(context, layout, std::move(layers), std::move(rows)));
}

}  // namespace rowfs
