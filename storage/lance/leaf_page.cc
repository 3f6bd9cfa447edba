#include "storage/lance/leaf_page.h"

#include <algorithm>
#include <cstring>

namespace rowfs {

bool BitBuffer::At(uint64_t i) const {
  return (std::to_integer<unsigned>(bytes_[i / 8]) >> (i % 8) & 1U) != 0;
}

void BitBuffer::Append(bool bit) {
  if (size_ % 8 == 0) bytes_.push_back(std::byte{0});
  if (bit) bytes_.back() |= std::byte{1} << (size_ % 8);
  ++size_;
}

void BitBuffer::AppendRun(bool bit, uint64_t count) {
  while (count > 0 && size_ % 8 != 0) {
    Append(bit);
    --count;
  }
  const uint64_t whole = count / 8;
  bytes_.resize(bytes_.size() + whole, bit ? std::byte{0xFF} : std::byte{0});
  size_ += whole * 8;
  for (uint64_t i = 0; i < count % 8; ++i) Append(bit);
}

void BitBuffer::AppendFrom(ByteSpan source, uint64_t begin, uint64_t count) {
  if (size_ % 8 == 0 && begin % 8 == 0) {
    const uint64_t whole = count / 8;
    AppendBytes(&bytes_, source.subspan(begin / 8, whole));
    size_ += whole * 8;
    begin += whole * 8;
    count -= whole * 8;
  }
  for (uint64_t i = begin; i < begin + count; ++i) {
    Append((std::to_integer<unsigned>(source[i / 8]) >> (i % 8) & 1U) != 0);
  }
}

Bytes BitBuffer::Extract(uint64_t begin, uint64_t count) const {
  BitBuffer out;
  out.AppendFrom(bytes_, begin, count);
  return std::move(out.bytes_);
}

uint64_t LeafLayout::elements() const {
  uint64_t product = 1;
  for (const uint32_t dimension : dimensions) product *= dimension;
  return product;
}

namespace {

Status FillLayout(const DataType& type, LeafLayout* layout) {
  if (type.id == TypeId::kFixedSizeList) {
    if (type.width == 0) {
      return {Code::kUnsupported, "fixed-size lists of 0 items"};
    }
    layout->dimensions.push_back(type.width);
    return FillLayout(*type.children[0].type, layout);
  }
  if (type.id == TypeId::kBool) {
    layout->shape = LeafShape::kBits;
    return {};
  }
  if (const auto width = FixedWidth(type); width.has_value() && *width > 0) {
    layout->shape = LeafShape::kFixed;
    layout->width = *width;
    return {};
  }
  const bool variable =
      type.id == TypeId::kString || type.id == TypeId::kLargeString ||
      type.id == TypeId::kBinary || type.id == TypeId::kLargeBinary;
  if (!variable || !layout->dimensions.empty()) {
    return {Code::kUnsupported, "cannot be stored: " + type.ToString()};
  }
  layout->shape = LeafShape::kVariable;
  layout->text = type.id == TypeId::kString || type.id == TypeId::kLargeString;
  layout->offset_bits =
      type.id == TypeId::kLargeString || type.id == TypeId::kLargeBinary ? 64
                                                                         : 32;
  return {};
}

}  // namespace

Result<LeafLayout> MakeLeafLayout(const DataType& type) {
  LeafLayout layout;
  if (type.id == TypeId::kNull) {
    layout.shape = LeafShape::kNull;
    return layout;
  }
  if (type.id == TypeId::kBlob) {
    layout.shape = LeafShape::kVariable;
    layout.offset_bits = 32;
    layout.blob = true;
    return layout;
  }
  if (type.id == TypeId::kDictionary) {
    const auto width = FixedWidth(*type.children[0].type);
    if (!width.has_value() || *width == 0) {
      return Status(Code::kUnsupported, "cannot be stored: " + type.ToString());
    }
    layout.index_bits = *width * 8;
    ROWFS_RETURN_IF_ERROR(FillLayout(*type.children[1].type, &layout));
    if (layout.shape == LeafShape::kBits || !layout.dimensions.empty()) {
      return Status(Code::kUnsupported, "cannot be stored: " + type.ToString());
    }
    return layout;
  }
  ROWFS_RETURN_IF_ERROR(FillLayout(type, &layout));
  return layout;
}

uint64_t LeafPage::byte_size() const {
  uint64_t size = data.size() + bits.bytes().size() + ends.size() * 4 +
                  (rep.size() + def.size()) / 2;
  for (const BitBuffer& items : item_validity) size += items.bytes().size();
  return size;
}

ByteSpan LeafPage::BytesAt(uint64_t slot) const {
  const uint64_t begin = slot == 0 ? 0 : ends[slot - 1];
  return ByteSpan(data).subspan(begin, ends[slot] - begin);
}

void LeafPage::AppendDef(uint16_t value, uint64_t count) {
  if (value != 0 && def.empty()) def.resize(levels);
  levels += count;
  if (value != 0 || !def.empty()) def.resize(levels, value);
}

namespace {

void SliceValues(const LeafPage& page, const LeafLayout& layout, uint64_t begin,
                 LeafPage* out) {
  const uint64_t elements = layout.elements();
  switch (layout.shape) {
    case LeafShape::kNull:
      break;
    case LeafShape::kBits:
      out->bits.AppendFrom(page.bits.bytes(), begin * elements,
                           out->slots * elements);
      break;
    case LeafShape::kFixed: {
      const uint64_t width = elements * layout.width;
      AppendBytes(&out->data, ByteSpan(page.data).subspan(begin * width,
                                                          out->slots * width));
      break;
    }
    case LeafShape::kVariable: {
      const uint64_t first = begin == 0 ? 0 : page.ends[begin - 1];
      for (uint64_t i = 0; i < out->slots; ++i) {
        out->ends.push_back(page.ends[begin + i] - first);
      }
      const uint64_t size = out->ends.empty() ? 0 : out->ends.back();
      AppendBytes(&out->data, ByteSpan(page.data).subspan(first, size));
      break;
    }
  }
  uint64_t items = 1;
  for (size_t i = 0; i < page.item_validity.size(); ++i) {
    items *= layout.dimensions[i];
    BitBuffer& to = out->item_validity.emplace_back();
    if (page.item_validity[i].size() == 0) continue;
    to.AppendFrom(page.item_validity[i].bytes(), begin * items,
                  out->slots * items);
  }
}

}  // namespace

LeafPage SlicePage(const LeafPage& page, const LeafLayout& layout,
                   uint16_t lists, uint64_t begin, uint64_t end) {
  LeafPage out;
  out.rows = end - begin;
  out.max_visible = page.max_visible;
  out.blob_info = page.blob_info;
  if (page.rep.empty()) {
    out.slots = out.levels = end - begin;
    if (!page.def.empty()) {
      out.def.assign(page.def.begin() + static_cast<ptrdiff_t>(begin),
                     page.def.begin() + static_cast<ptrdiff_t>(end));
    }
    SliceValues(page, layout, begin, &out);
    return out;
  }
  // Where the levels and the values of the rows start.
  uint64_t row = 0;
  uint64_t slot = 0;
  uint64_t first_slot = 0;
  for (uint64_t i = 0; i < page.levels; ++i) {
    if (page.rep[i] == lists && i > 0) ++row;
    if (row >= end) break;
    const bool visible = page.def.empty() || page.def[i] <= page.max_visible;
    if (row >= begin) {
      if (out.levels == 0) first_slot = slot;
      ++out.levels;
      out.rep.push_back(page.rep[i]);
      if (!page.def.empty()) out.def.push_back(page.def[i]);
      if (visible) ++out.slots;
    }
    if (visible) ++slot;
  }
  SliceValues(page, layout, first_slot, &out);
  return out;
}

uint16_t MaxVisibleLevel(const std::vector<LayerKind>& layers) {
  uint16_t level = 0;
  for (const LayerKind kind : layers) {
    if (kind == LayerKind::kList) break;
    ++level;
  }
  return level;
}

}  // namespace rowfs
