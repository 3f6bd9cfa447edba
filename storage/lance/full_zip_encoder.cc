#include "storage/lance/full_zip_encoder.h"

#include <algorithm>
#include <bit>
#include <string_view>

#include "storage/lance/block_encoder.h"
#include "storage/lance/chunk_encoder.h"
#include "storage/lance/fsst_encoder.h"

namespace rowfs {
namespace {

using lance::pb::CompressiveEncoding;

// Values longer than this are compressed one by one, when they hold at least
// that much together.
constexpr uint64_t kCompressLengthMin = 32 << 10;
constexpr uint64_t kCompressBytesMin = 32 << 10;
// Enough to see whether compressing helps.
constexpr uint64_t kCompressSampleBytes = 1 << 20;
constexpr uint64_t kFsstLengthMin = 5;

// The five fields of a blob descriptor, and blob_info where the page has one.
CompressiveEncoding BlobEncoding(bool info) {
  CompressiveEncoding encoding;
  auto* row = encoding.mutable_variable_packed_struct();
  for (const uint64_t bits : {8U, 64U, 64U, 32U}) {
    auto* child = row->add_fields();
    *child->mutable_value() = FlatEncoding(bits);
    child->set_bits_per_value(bits);
  }
  auto* uri = row->add_fields();
  *uri->mutable_value() = VariableEncoding(32);
  uri->set_bits_per_length(32);
  if (!info) return encoding;
  auto* sixth = row->add_fields();
  sixth->set_bits_per_length(32);
  auto* parts = sixth->mutable_value()->mutable_variable_packed_struct();
  auto* type = parts->add_fields();
  *type->mutable_value() = FlatEncoding(8);
  type->set_bits_per_value(8);
  for (int i = 0; i < 2; ++i) {
    auto* bytes = parts->add_fields();
    *bytes->mutable_value() = VariableEncoding(32);
    bytes->set_bits_per_length(32);
  }
  return encoding;
}

// The bytes of each slot as they go into the page.
class SlotBytes {
 public:
  SlotBytes(const LeafPage& page, const LeafColumn& leaf, uint64_t longest)
      : page_(page), layout_(leaf.layout) {
    if (layout_.shape != LeafShape::kVariable) {
      fixed_ = true;
      encoding_ = layout_.shape == LeafShape::kBits
                      ? FlatEncoding(8)
                      : ListEncoding(page, layout_);
      if (leaf.packed) encoding_ = *leaf.packed;
      return;
    }
    data_ = page.data;
    ends_ = page.ends;
    if (layout_.blob) {
      encoding_ = BlobEncoding(page.blob_info);
      return;
    }
    if (leaf.packed) {
      encoding_ = *leaf.packed;
      return;
    }
    Field field;
    field.metadata = leaf.metadata;
    const auto wanted = field.FindMetadata("lance-encoding:compression");
    encoding_ = VariableEncoding(layout_.offset_bits);
    if (wanted == "none") return;
    const bool asked = wanted == "zstd" || wanted == "lz4";
    if ((longest > kCompressLengthMin || asked) &&
        page.data.size() >= kCompressBytesMin) {
      CompressEach(asked);
    } else if (layout_.text && longest >= kFsstLengthMin &&
               page.data.size() >= kCompressBytesMin) {
      CompressWithTable();
    }
  }

  bool fixed() const { return fixed_; }
  CompressiveEncoding TakeEncoding() { return std::move(encoding_); }

  // Bytes of every slot, of a fixed page.
  uint64_t width() const {
    if (layout_.shape == LeafShape::kBits) return 1;
    uint64_t width = layout_.elements() * layout_.width;
    uint64_t items = 1;
    for (size_t i = 0; i < layout_.dimensions.size(); ++i) {
      items *= layout_.dimensions[i];
      if (page_.item_validity[i].size() > 0) width += (items + 7) / 8;
    }
    return width;
  }

  void AppendFixedSlot(uint64_t slot, Bytes* out) const {
    if (layout_.shape == LeafShape::kBits) {
      out->push_back(page_.bits.At(slot) ? std::byte{1} : std::byte{0});
      return;
    }
    uint64_t items = 1;
    for (size_t i = 0; i < layout_.dimensions.size(); ++i) {
      items *= layout_.dimensions[i];
      const BitBuffer& valid = page_.item_validity[i];
      if (valid.size() > 0) {
        AppendBytes(out, valid.Extract(slot * items, items));
      }
    }
    const uint64_t width = items * layout_.width;
    AppendBytes(out, ByteSpan(page_.data).subspan(slot * width, width));
  }

  ByteSpan VariableSlot(uint64_t slot) const {
    const uint64_t begin = slot == 0 ? 0 : ends_[slot - 1];
    ByteSpan bytes = data_.subspan(begin, ends_[slot] - begin);
    // Rows are kept with the length of an absent blob_info at the end.
    if (layout_.blob && !page_.blob_info) bytes = bytes.first(bytes.size() - 4);
    return bytes;
  }

 private:
  void CompressEach(bool asked) {
    if (!asked && !CompressingHelps()) return;
    Bytes packed;
    std::vector<uint64_t> ends;
    for (uint64_t i = 0; i < page_.slots; ++i) {
      AppendBytes(&packed, CompressValue(page_.BytesAt(i)));
      ends.push_back(packed.size());
    }
    CompressiveEncoding outer;
    outer.mutable_general()->mutable_compression()->set_scheme(
        lance::pb::SCHEME_ZSTD);
    *outer.mutable_general()->mutable_values() = std::move(encoding_);
    Replace(std::move(packed), std::move(ends), std::move(outer));
  }

  // Media do not shrink, and a value that is stored as it is can be read in
  // part.
  bool CompressingHelps() const {
    uint64_t raw = 0;
    uint64_t packed = 0;
    for (uint64_t i = 0; i < page_.slots && raw < kCompressSampleBytes; ++i) {
      const ByteSpan value = page_.BytesAt(i);
      const ByteSpan part =
          value.first(std::min<size_t>(value.size(), kCompressSampleBytes));
      raw += part.size();
      packed += CompressValue(part).size();
    }
    return packed < raw / 10 * 9;
  }

  void CompressWithTable() {
    FsstStrings strings = EncodeFsst(page_.data, page_.ends);
    if (strings.data.size() + strings.table.size() >= page_.data.size()) return;
    CompressiveEncoding outer;
    outer.mutable_fsst()->set_symbol_table(std::move(strings.table));
    *outer.mutable_fsst()->mutable_values() = std::move(encoding_);
    Replace(std::move(strings.data), std::move(strings.ends), std::move(outer));
  }

  void Replace(Bytes data, std::vector<uint64_t> ends,
               CompressiveEncoding encoding) {
    own_data_ = std::move(data);
    own_ends_ = std::move(ends);
    data_ = own_data_;
    ends_ = own_ends_;
    encoding_ = std::move(encoding);
  }

  const LeafPage& page_;
  const LeafLayout& layout_;
  bool fixed_ = false;
  CompressiveEncoding encoding_;
  ByteSpan data_;
  std::span<const uint64_t> ends_;
  Bytes own_data_;
  std::vector<uint64_t> own_ends_;
};

uint32_t ControlBytes(uint32_t bits) {
  if (bits == 0) return 0;
  if (bits <= 8) return 1;
  return bits <= 16 ? 2 : 4;
}

Bytes EncodeOffsets(const std::vector<uint64_t>& offsets) {
  size_t width = 1;
  while (width < 8 && offsets.back() >> (8 * width) != 0) width *= 2;
  Bytes out;
  for (const uint64_t offset : offsets) AppendUint(&out, offset, width);
  return out;
}

}  // namespace

EncodedPage EncodeFullZip(const LeafPage& page, const LeafColumn& leaf,
                          const PageLevels& levels, uint64_t longest,
                          bool planar) {
  SlotBytes slots(page, leaf, longest);
  FullZipParts parts;
  parts.bits_rep = static_cast<uint32_t>(std::bit_width(levels.max_rep));
  parts.bits_def = static_cast<uint32_t>(std::bit_width(levels.max_def));
  parts.items = page.levels;
  parts.visible_items = page.slots;
  if (slots.fixed()) {
    parts.bits_per_value = static_cast<uint32_t>(slots.width() * 8);
  } else {
    parts.bits_per_offset = leaf.layout.offset_bits;
  }
  const uint32_t control_bytes = ControlBytes(parts.bits_rep + parts.bits_def);
  Bytes zipped;
  std::vector<uint64_t> offsets;
  uint64_t slot = 0;
  for (uint64_t i = 0; i < page.levels; ++i) {
    const uint32_t rep = levels.rep.empty() ? 0 : levels.rep[i];
    const uint32_t def = levels.def.empty() ? 0 : levels.def[i];
    if (rep == levels.max_rep) offsets.push_back(zipped.size());
    if (control_bytes > 0) {
      AppendUint(&zipped, rep << parts.bits_def | def, control_bytes);
    }
    if (def > levels.max_visible) continue;
    if (slots.fixed()) {
      slots.AppendFixedSlot(slot, &zipped);
    } else if (def == 0) {
      const ByteSpan value = slots.VariableSlot(slot);
      AppendUint(&zipped, value.size(), leaf.layout.offset_bits / 8);
      AppendBytes(&zipped, value);
    }
    ++slot;
  }
  offsets.push_back(zipped.size());
  EncodedPage out;
  out.buffers.push_back(std::move(zipped));
  if (!slots.fixed() || levels.max_rep > 0) {
    out.buffers.push_back(EncodeOffsets(offsets));
  }
  parts.value = slots.TakeEncoding();
  SetFullZip(levels, parts, planar, &out);
  return out;
}

}  // namespace rowfs
