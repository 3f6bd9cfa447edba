#include "storage/lance/page_encoder.h"

#include <algorithm>
#include <string>
#include <utility>

#include "storage/lance/chunk_encoder.h"
#include "storage/lance/dictionary_encoder.h"
#include "storage/lance/fsst_encoder.h"
#include "storage/lance/full_zip_encoder.h"
#include "storage/lance/mini_block_encoder.h"

namespace rowfs {
namespace {

// Values this long and longer are zipped: a chunk would hold too few.
constexpr uint64_t kNarrowBytesMax = 256;
constexpr size_t kInlineConstantMax = 32;
// Below these a symbol table costs more than it saves.
constexpr uint64_t kFsstLengthMin = 5;
constexpr uint64_t kFsstBytesMin = 32 << 10;

uint64_t LongestValue(const LeafPage& page, const LeafLayout& layout) {
  if (layout.shape == LeafShape::kBits) return layout.elements() / 8;
  if (layout.shape == LeafShape::kFixed) {
    return layout.elements() * layout.width;
  }
  uint64_t longest = 0;
  for (uint64_t i = 0; i < page.slots; ++i) {
    longest = std::max(longest, uint64_t{page.BytesAt(i).size()});
  }
  return longest;
}

// Whether slots have a value, in order; all of them without definition levels.
class ValidSlots {
 public:
  explicit ValidSlots(const LeafPage& page) : page_(page) {}

  // The next slot that is not null; absent after the last one.
  std::optional<uint64_t> Next() {
    if (page_.def.empty()) {
      return slot_ < page_.slots ? std::optional(slot_++) : std::nullopt;
    }
    while (level_ < page_.levels) {
      const uint16_t def = page_.def[level_++];
      if (def > page_.max_visible) continue;
      const uint64_t slot = slot_++;
      if (def == 0) return slot;
    }
    return std::nullopt;
  }

 private:
  const LeafPage& page_;
  uint64_t level_ = 0;
  uint64_t slot_ = 0;
};

// The value that all slots have that are not null, if they do.
std::optional<Bytes> FindConstant(const LeafPage& page,
                                  const LeafLayout& layout) {
  const auto value_at = [&](uint64_t slot) {
    if (layout.shape == LeafShape::kVariable) return page.BytesAt(slot);
    return ByteSpan(page.data).subspan(slot * layout.width, layout.width);
  };
  ValidSlots slots(page);
  const auto first = slots.Next();
  if (!first) return std::nullopt;
  if (layout.shape == LeafShape::kBits) {
    const bool bit = page.bits.At(*first);
    while (const auto slot = slots.Next()) {
      if (page.bits.At(*slot) != bit) return std::nullopt;
    }
    return Bytes(1, bit ? std::byte{1} : std::byte{0});
  }
  const ByteSpan value = value_at(*first);
  while (const auto slot = slots.Next()) {
    if (!std::ranges::equal(value, value_at(*slot))) return std::nullopt;
  }
  return Bytes(value.begin(), value.end());
}

// A one-element Arrow array's buffers behind their number and lengths: how a
// page keeps a constant that is too long for its description.
Bytes ScalarBuffer(ByteSpan value, const LeafLayout& layout) {
  Bytes out;
  if (layout.shape == LeafShape::kFixed) {
    AppendU32(&out, 1);
    AppendU32(&out, layout.width);
  } else {
    const size_t width = layout.offset_bits / 8;
    AppendU32(&out, 2);
    AppendU32(&out, static_cast<uint32_t>(2 * width));
    AppendU32(&out, static_cast<uint32_t>(value.size()));
    AppendUint(&out, 0, width);
    AppendUint(&out, value.size(), width);
  }
  AppendBytes(&out, value);
  return out;
}

// Absent when the values differ or the version has no form for the constant.
std::optional<EncodedPage> TryConstant(const LeafPage& page,
                                       const LeafColumn& leaf,
                                       const PageLevels& levels, bool planar) {
  const LeafLayout& layout = leaf.layout;
  if (layout.blob || leaf.packed || layout.index_bits > 0 ||
      !layout.dimensions.empty()) {
    return std::nullopt;
  }
  const bool inlined =
      layout.shape == LeafShape::kBits ||
      (layout.shape == LeafShape::kFixed && layout.width <= kInlineConstantMax);
  if (!inlined && planar) return std::nullopt;
  const auto value = FindConstant(page, layout);
  if (!value) return std::nullopt;
  EncodedPage out;
  if (inlined) {
    SetConstant(page, leaf, levels, std::string(AsText(*value)), planar, &out);
  } else {
    out.buffers.push_back(ScalarBuffer(*value, layout));
    SetConstant(page, leaf, levels, std::nullopt, planar, &out);
  }
  return out;
}

uint64_t PageBytes(const EncodedPage& page) {
  uint64_t size = page.layout.size();
  for (const Bytes& buffer : page.buffers) size += buffer.size();
  return size;
}

ChunkedValues ChunkValues(const LeafPage& page, const LeafColumn& leaf,
                          uint64_t longest, bool planar) {
  const LeafLayout& layout = leaf.layout;
  if (leaf.packed) {
    ChunkedValues out =
        EncodePlainChunks(page.data, uint64_t{layout.width} * 8, page.slots);
    out.encoding = *leaf.packed;
    return out;
  }
  if (!layout.dimensions.empty()) return EncodeListChunks(page, layout);
  if (layout.shape == LeafShape::kBits) return EncodeBitChunks(page.bits);
  if (layout.shape == LeafShape::kFixed) {
    return EncodeFixedChunks(page.data, layout.width, page.slots);
  }
  const bool compress = layout.text && longest >= kFsstLengthMin &&
                        page.data.size() >= kFsstBytesMin;
  if (compress) {
    FsstStrings strings = EncodeFsst(page.data, page.ends);
    if (strings.data.size() + strings.table.size() < page.data.size()) {
      ChunkedValues out =
          EncodeVariableChunks(strings.data, strings.ends, layout.offset_bits);
      lance::pb::CompressiveEncoding encoding;
      encoding.mutable_fsst()->set_symbol_table(std::move(strings.table));
      *encoding.mutable_fsst()->mutable_values() = std::move(out.encoding);
      out.encoding = std::move(encoding);
      return out;
    }
  }
  return planar
             ? EncodePackedVariableChunks(page.data, page.ends,
                                          layout.offset_bits)
             : EncodeVariableChunks(page.data, page.ends, layout.offset_bits);
}

std::optional<std::string> Hint(const LeafColumn& leaf, std::string_view key) {
  Field field;
  field.metadata = leaf.metadata;
  return field.FindMetadata("lance-encoding:" + std::string(key));
}

// The page as it is when no constant describes it, or absent when the rows do
// not fit one page.
std::optional<EncodedPage> EncodeValues(const LeafPage& page,
                                        const LeafColumn& leaf,
                                        const PageLevels& levels, bool planar) {
  const LeafLayout& layout = leaf.layout;
  if (layout.index_bits > 0) {
    const auto dictionary = BuildIndexDictionary(page, layout);
    if (!dictionary) return std::nullopt;
    return EncodeMiniBlock(levels, dictionary->indices, &dictionary->items,
                           planar);
  }
  const auto structural = Hint(leaf, "structural-encoding");
  const uint64_t longest = LongestValue(page, layout);
  const bool bit_lists =
      layout.shape == LeafShape::kBits && !layout.dimensions.empty();
  const bool rows = layout.blob || (leaf.packed && layout.width == 0);
  if (rows || (structural == "fullzip" && !bit_lists)) {
    return EncodeFullZip(page, leaf, levels, longest, planar);
  }
  auto dictionary =
      leaf.packed ? std::nullopt : TryDictionary(page, leaf, planar);
  if (dictionary) {
    return EncodeMiniBlock(levels, dictionary->indices, &dictionary->items,
                           planar);
  }
  if (longest >= kNarrowBytesMax && structural != "miniblock" &&
      layout.shape != LeafShape::kBits) {
    return EncodeFullZip(page, leaf, levels, longest, planar);
  }
  return EncodeMiniBlock(levels, ChunkValues(page, leaf, longest, planar),
                         nullptr, planar);
}

std::optional<EncodedPage> EncodeWhole(const LeafPage& page,
                                       const LeafColumn& leaf, bool planar) {
  const PageLevels levels = NumberLevels(page, leaf);
  if (levels.all_null) {
    EncodedPage out;
    SetNoValues(page, leaf, levels, planar, &out);
    return out;
  }
  auto constant = TryConstant(page, leaf, levels, planar);
  const bool plain = levels.rep.empty() && levels.def.empty();
  if (constant && plain) return constant;
  auto values = EncodeValues(page, leaf, levels, planar);
  // Levels beside a constant are not compressed.
  if (constant && (!values || PageBytes(*constant) < PageBytes(*values))) {
    return constant;
  }
  return values;
}

}  // namespace

Result<std::vector<EncodedPage>> EncodePages(const LeafPage& page,
                                             const LeafColumn& leaf,
                                             bool planar) {
  std::optional<EncodedPage> whole = EncodeWhole(page, leaf, planar);
  std::vector<EncodedPage> out;
  if (whole.has_value()) {
    whole->rows = page.rows;
    out.push_back(std::move(*whole));
    return out;
  }
  if (page.rows == leaf.entries_per_row) {
    if (leaf.layout.index_bits > 0 || (leaf.layout.shape == LeafShape::kBits &&
                                       !leaf.layout.dimensions.empty())) {
      return Status(Code::kUnsupported,
                    leaf.name + ": one row holds too many items for a page");
    }
    whole = EncodeFullZip(page, leaf, NumberLevels(page, leaf),
                          LongestValue(page, leaf.layout), planar);
    whole->rows = page.rows;
    out.push_back(std::move(*whole));
    return out;
  }
  const uint64_t half =
      page.rows / leaf.entries_per_row / 2 * leaf.entries_per_row;
  for (const auto& [begin, end] :
       {std::pair{uint64_t{0}, half}, std::pair{half, page.rows}}) {
    ROWFS_ASSIGN_OR_RETURN(
        auto pages,
        EncodePages(SlicePage(page, leaf.layout, leaf.lists, begin, end), leaf,
                    planar));
    std::move(pages.begin(), pages.end(), std::back_inserter(out));
  }
  return out;
}

}  // namespace rowfs
