#include "storage/lance/mini_block_encoder.h"

#include <bit>
#include <span>

#include "storage/lance/block_encoder.h"

namespace rowfs {
namespace {

// The sizes of a chunk's levels are 16 bits wide, raw levels take two bytes.
constexpr uint64_t kChunkLevelsMax = 32000;

struct LevelRange {
  uint64_t begin = 0;
  uint64_t end = 0;
};

// Which levels go with each chunk: up to its last value; the last chunk takes
// what follows.
std::vector<LevelRange> SplitLevels(const PageLevels& levels,
                                    const ChunkedValues& values) {
  const uint64_t count =
      levels.rep.empty() ? levels.def.size() : levels.rep.size();
  std::vector<LevelRange> out;
  if (count == 0) {
    out.resize(values.chunks.size());
    return out;
  }
  uint64_t at = 0;
  for (size_t i = 0; i < values.chunks.size(); ++i) {
    LevelRange range{at, at};
    if (i + 1 == values.chunks.size()) {
      range.end = count;
    } else if (levels.rep.empty()) {
      range.end = at + values.chunks[i].count;
    } else {
      for (uint64_t left = values.chunks[i].count; left > 0; ++range.end) {
        const bool visible =
            levels.def.empty() || levels.def[range.end] <= levels.max_visible;
        if (visible) --left;
      }
    }
    at = range.end;
    out.push_back(range);
  }
  return out;
}

std::optional<LevelBlocks> EncodeStream(const std::vector<uint16_t>& stream,
                                        const std::vector<LevelRange>& ranges) {
  if (stream.empty()) return std::nullopt;
  std::vector<std::span<const uint16_t>> chunks;
  for (const LevelRange& range : ranges) {
    chunks.push_back(
        std::span(stream).subspan(range.begin, range.end - range.begin));
  }
  return EncodeLevels(chunks);
}

// Per chunk: rows that end in it, and levels of the row that goes on.
Bytes RepetitionIndex(const PageLevels& levels,
                      const std::vector<LevelRange>& ranges) {
  Bytes out;
  for (const LevelRange& range : ranges) {
    uint64_t rows = 0;
    uint64_t open = range.begin;  // where the unfinished row's levels begin
    for (uint64_t i = range.begin; i < range.end; ++i) {
      const bool ends =
          i + 1 == levels.rep.size() || levels.rep[i + 1] == levels.max_rep;
      if (!ends) continue;
      ++rows;
      open = i + 1;
    }
    AppendU64(&out, rows);
    AppendU64(&out, range.end - open);
  }
  return out;
}

void Pad(Bytes* out) {
  out->resize((out->size() + 7) / 8 * 8, std::byte{0xFE});
}

// The chunk words and the chunks.
void Serialize(const ChunkedValues& values,
               const std::vector<LevelRange>& ranges,
               const std::optional<LevelBlocks>& rep,
               const std::optional<LevelBlocks>& def, EncodedPage* page) {
  Bytes words;
  Bytes chunks;
  std::vector<uint64_t> offsets(values.buffers.size());
  for (size_t i = 0; i < values.chunks.size(); ++i) {
    const ValueChunk& chunk = values.chunks[i];
    const uint64_t start = chunks.size();
    AppendU16(&chunks, static_cast<uint16_t>(ranges[i].end - ranges[i].begin));
    for (const auto* blocks : {&rep, &def}) {
      if (!blocks->has_value()) continue;
      AppendU16(&chunks, static_cast<uint16_t>((*blocks)->blocks[i].size()));
    }
    for (const uint32_t size : chunk.sizes) AppendU32(&chunks, size);
    Pad(&chunks);
    for (const auto* blocks : {&rep, &def}) {
      if (!blocks->has_value()) continue;
      AppendBytes(&chunks, (*blocks)->blocks[i]);
      Pad(&chunks);
    }
    for (size_t j = 0; j < chunk.sizes.size(); ++j) {
      AppendBytes(
          &chunks,
          ByteSpan(values.buffers[j]).subspan(offsets[j], chunk.sizes[j]));
      offsets[j] += chunk.sizes[j];
      Pad(&chunks);
    }
    const bool last = i + 1 == values.chunks.size();
    const uint64_t log =
        last ? 0 : static_cast<uint64_t>(std::countr_zero(chunk.count));
    const uint64_t eights = (chunks.size() - start) / 8;
    AppendU32(&words, static_cast<uint32_t>((eights - 1) << 4 | log));
  }
  page->buffers.push_back(std::move(words));
  page->buffers.push_back(std::move(chunks));
}

}  // namespace

std::optional<EncodedPage> EncodeMiniBlock(const PageLevels& levels,
                                           const ChunkedValues& values,
                                           const DictionaryItems* dictionary,
                                           bool planar) {
  const std::vector<LevelRange> ranges = SplitLevels(levels, values);
  for (const LevelRange& range : ranges) {
    if (range.end - range.begin > kChunkLevelsMax) return std::nullopt;
  }
  EncodedPage page;
  MiniBlockParts parts;
  const auto rep = EncodeStream(levels.rep, ranges);
  const auto def = EncodeStream(levels.def, ranges);
  if (rep) parts.rep = rep->encoding;
  if (def) parts.def = def->encoding;
  parts.value = values.encoding;
  parts.value_buffers = values.buffers.size();
  for (const ValueChunk& chunk : values.chunks) parts.items += chunk.count;
  Serialize(values, ranges, rep, def, &page);
  if (dictionary != nullptr) {
    parts.dictionary = dictionary->block.encoding;
    parts.dictionary_items = dictionary->count;
    page.buffers.push_back(dictionary->block.bytes);
  }
  if (rep) page.buffers.push_back(RepetitionIndex(levels, ranges));
  SetMiniBlock(levels, parts, planar, &page);
  return page;
}

}  // namespace rowfs
