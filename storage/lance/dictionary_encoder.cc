#include "storage/lance/dictionary_encoder.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

namespace rowfs {
namespace {

constexpr uint64_t kDictionaryValuesMin = 100;
constexpr uint64_t kDictionaryItemsMax = 100'000;
constexpr uint64_t kDictionaryBytesMax = 8 << 20;
// More than LZ4 takes in one block cannot be stored.
constexpr uint64_t kIndexDictionaryBytesMax = 1 << 30;
constexpr uint32_t kIndexBits = 32;
// Before building: a sample that is nearly all distinct is not worth trying.
constexpr uint64_t kSampleBlocks = 32;
constexpr uint64_t kSampleValues = 4096;
constexpr uint64_t kSampleValuesMin = 1024;
constexpr double kSampleDistinctMax = 0.98;

std::string_view ValueAt(const LeafPage& page, const LeafLayout& layout,
                         uint64_t slot) {
  if (layout.shape == LeafShape::kVariable) return AsText(page.BytesAt(slot));
  const uint64_t width = layout.elements() * layout.width;
  return AsText(ByteSpan(page.data).subspan(slot * width, width));
}

struct Limits {
  uint64_t items_max = kDictionaryItemsMax;
  uint64_t dictionary_bytes_max = std::numeric_limits<uint64_t>::max();
  uint64_t encoded_bytes_max = std::numeric_limits<uint64_t>::max();
};

std::optional<PageDictionary> Build(const LeafPage& page,
                                    const LeafLayout& layout,
                                    uint32_t index_bits, const Limits& limits) {
  std::unordered_map<std::string_view, uint64_t> known;
  Bytes data;
  std::vector<uint64_t> ends;
  Bytes indices;
  const uint64_t item_bytes =
      layout.shape == LeafShape::kVariable ? layout.offset_bits / 8 : 0;
  for (uint64_t i = 0; i < page.slots; ++i) {
    const std::string_view value = ValueAt(page, layout, i);
    const auto [at, added] = known.try_emplace(value, known.size());
    if (added) {
      AppendText(&data, value);
      ends.push_back(data.size());
      if (ends.size() > limits.items_max ||
          data.size() > limits.dictionary_bytes_max) {
        return std::nullopt;
      }
    }
    AppendUint(&indices, at->second, index_bits / 8);
    if (data.size() + indices.size() + (ends.size() + 1) * item_bytes >
        limits.encoded_bytes_max) {
      return std::nullopt;
    }
  }
  PageDictionary out;
  out.items.count = ends.size();
  out.items.block = layout.shape == LeafShape::kVariable
                        ? EncodeVariableBlock(data, ends, layout.offset_bits)
                        : EncodeFixedBlock(data, uint64_t{layout.width} * 8);
  if (!layout.dimensions.empty()) {
    *out.items.block.encoding.mutable_general()->mutable_values() =
        ListEncoding(page, layout);
  }
  out.indices = EncodeFixedChunks(indices, index_bits / 8, page.slots);
  return out;
}

// The share of distinct values among blocks spread over the page.
double SampleDistinct(const LeafPage& page, const LeafLayout& layout) {
  const uint64_t per_block =
      std::min(page.slots, kSampleValues) / kSampleBlocks;
  if (per_block * kSampleBlocks < kSampleValuesMin) return 0;
  std::unordered_set<std::string_view> distinct;
  for (uint64_t block = 0; block < kSampleBlocks; ++block) {
    const uint64_t begin = block * page.slots / kSampleBlocks;
    for (uint64_t i = begin; i < begin + per_block; ++i) {
      distinct.insert(ValueAt(page, layout, i));
    }
  }
  return static_cast<double>(distinct.size()) /
         static_cast<double>(per_block * kSampleBlocks);
}

double HintNumber(const LeafColumn& leaf, std::string_view key,
                  double otherwise) {
  Field field;
  field.metadata = leaf.metadata;
  const auto text = field.FindMetadata(key);
  double value = 0;
  if (!text) return otherwise;
  const auto [end, error] =
      std::from_chars(text->data(), text->data() + text->size(), value);
  return error == std::errc() && value > 0 ? value : otherwise;
}

}  // namespace

std::optional<PageDictionary> TryDictionary(const LeafPage& page,
                                            const LeafColumn& leaf,
                                            bool planar) {
  const LeafLayout& layout = leaf.layout;
  const bool list = !layout.dimensions.empty();
  const bool fixed = layout.shape == LeafShape::kFixed &&
                     (list || layout.width == 8 || layout.width == 16);
  // Items of a list that are null would have to be told apart from zeros.
  const bool null_items =
      std::any_of(page.item_validity.begin(), page.item_validity.end(),
                  [](const BitBuffer& valid) { return valid.size() > 0; });
  if ((layout.shape != LeafShape::kVariable && !fixed) ||
      (list && (!planar || null_items)) || page.slots < kDictionaryValuesMin) {
    return std::nullopt;
  }
  const double divisor = HintNumber(leaf, "lance-encoding:dict-divisor", 2);
  const double ratio = HintNumber(leaf, "lance-encoding:dict-size-ratio", 0.8);
  const uint64_t raw =
      page.data.size() +
      (fixed ? 0 : (page.slots + 1) * (layout.offset_bits / 8));
  Limits limits;
  limits.items_max =
      std::min(kDictionaryItemsMax,
               static_cast<uint64_t>(static_cast<double>(page.slots) /
                                     std::max(divisor, 1.0)));
  limits.dictionary_bytes_max = kDictionaryBytesMax;
  limits.encoded_bytes_max =
      static_cast<uint64_t>(static_cast<double>(raw) * std::min(ratio, 1.0));
  const double distinct = SampleDistinct(page, layout);
  if (distinct >= kSampleDistinctMax ||
      distinct * static_cast<double>(page.slots) >
          static_cast<double>(limits.items_max)) {
    return std::nullopt;
  }
  return Build(page, layout, kIndexBits, limits);
}

std::optional<PageDictionary> BuildIndexDictionary(const LeafPage& page,
                                                   const LeafLayout& layout) {
  Limits limits;
  limits.items_max = uint64_t{1} << std::min(layout.index_bits - 1, 31U);
  limits.dictionary_bytes_max = kIndexDictionaryBytesMax;
  return Build(page, layout, layout.index_bits, limits);
}

}  // namespace rowfs
