// What a mini-block page's tables say: where its chunks are, how many values
// and rows they hold, and the dictionary.
//
// Values; thread-safe to read.
#ifndef ROWFS_STORAGE_LANCE_MINI_BLOCK_STATE_H_
#define ROWFS_STORAGE_LANCE_MINI_BLOCK_STATE_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "storage/lance/encoding.h"
#include "storage/lance/page.h"

namespace rowfs {

// Chunks begin at multiples of it, as do the buffers in them.
inline constexpr uint64_t kMiniBlockAlignment = 8;

struct MiniBlockState final : PageState {
  Layers layers = Layers::Leaf(false);
  std::unique_ptr<const BlockDecoder> rep;
  std::unique_ptr<const BlockDecoder> def;
  std::unique_ptr<const ChunkDecoder> values;
  uint64_t value_buffers = 0;
  bool large = false;  // 32-bit chunk words and sizes
  // Of chunk i, and one past the last: where it starts in the chunk buffer, the
  // values before it, and (with repetition) the rows that end before it.
  std::vector<uint64_t> byte_begin;
  std::vector<uint64_t> item_begin;
  std::vector<uint64_t> rows_done;
  std::vector<bool> continues;  // chunk i starts inside a row
  bool has_dictionary = false;
  ValueBlock dictionary;

  // From the layout and the page's tables; what the layout has none of is
  // empty. kCorruption when they contradict each other or the page.
  static Result<std::shared_ptr<const MiniBlockState>> Build(
      const lance::pb::MiniBlockLayout& layout, const PageContext& context,
      ByteSpan words, ByteSpan dictionary, ByteSpan row_index);

  uint64_t chunk_count() const { return byte_begin.size() - 1; }
  bool has_rows() const { return layers.rep_max() > 0; }
  // The first row that starts in chunk i.
  uint64_t first_row(uint64_t i) const {
    return rows_done[i] + (continues[i] ? 1 : 0);
  }
  uint64_t memory_bytes() const override {
    return sizeof(*this) + dictionary.data.size() +
           8 * (byte_begin.size() + item_begin.size() + rows_done.size() +
                dictionary.offsets.size());
  }
};

// Which of the page's buffers is what; absent ones have no index.
struct MiniBlockBuffers {
  size_t dictionary = 0;
  size_t row_index = 0;

  static Result<MiniBlockBuffers> Make(const lance::pb::MiniBlockLayout& layout,
                                       const PageMetadata& page);
};

}  // namespace rowfs
#endif  // ROWFS_STORAGE_LANCE_MINI_BLOCK_STATE_H_
