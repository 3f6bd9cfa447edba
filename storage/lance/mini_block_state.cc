#include "storage/lance/mini_block_state.h"

#include <string>
#include <utility>

namespace rowfs {
namespace {

using lance::pb::MiniBlockLayout;

constexpr uint64_t kChunkValuesMax = 1u << 16;
constexpr uint64_t kValueBuffersMax = 64;

Status Corrupt(std::string message) {
  return {Code::kCorruption, std::move(message)};
}

// Makes a state from the layout and the table buffers.
class StateBuilder {
 public:
  StateBuilder(const MiniBlockLayout& layout, const PageContext& context)
      : layout_(layout), context_(context) {}

  Result<std::shared_ptr<const MiniBlockState>> Build(ByteSpan words,
                                                      ByteSpan dictionary,
                                                      ByteSpan row_index) {
    ROWFS_RETURN_IF_ERROR(MakeDecoders());
    ROWFS_RETURN_IF_ERROR(ReadWords(words));
    if (state_->has_rows()) ROWFS_RETURN_IF_ERROR(ReadRowIndex(row_index));
    if (layout_.has_dictionary()) {
      ROWFS_RETURN_IF_ERROR(ReadDictionary(dictionary));
    }
    return std::shared_ptr<const MiniBlockState>(std::move(state_));
  }

 private:
  Status MakeDecoders() {
    ROWFS_ASSIGN_OR_RETURN(state_->layers,
                           Layers::Make(layout_.layers(), *context_.path));
    if (layout_.has_rep_compression()) {
      ROWFS_ASSIGN_OR_RETURN(state_->rep,
                             BlockDecoder::Make(layout_.rep_compression()));
    }
    if (layout_.has_def_compression()) {
      ROWFS_ASSIGN_OR_RETURN(state_->def,
                             BlockDecoder::Make(layout_.def_compression()));
    }
    ROWFS_ASSIGN_OR_RETURN(state_->values,
                           ChunkDecoder::Make(layout_.value_compression()));
    if (state_->has_rows() &&
        (state_->rep == nullptr || layout_.repetition_index_depth() == 0)) {
      return Corrupt("a page of lists without repetition");
    }
    state_->value_buffers = layout_.num_buffers();
    if (state_->value_buffers > kValueBuffersMax ||
        state_->values->buffer_count() != state_->value_buffers) {
      return Corrupt(std::to_string(layout_.num_buffers()) +
                     " value buffers a chunk, encoded as " +
                     std::string(EncodingName(layout_.value_compression())));
    }
    state_->large = layout_.has_large_chunk();
    // Files written before 2.2 was final have short words there.
    if (state_->large != (context_.version > LanceFileVersion{2, 1})) {
      return {Code::kUnsupported,
              "chunk words of the wrong width for the file's version (a "
              "pre-release wrote it)"};
    }
    return {};
  }

  Status ReadWords(ByteSpan words) {
    const size_t width = state_->large ? 4 : 2;
    const uint64_t count = words.size() / width;
    const uint64_t chunk_bytes = context_.page->buffers[1].size();
    if (words.size() % width != 0) return Corrupt("half a chunk word");
    uint64_t bytes = 0;
    uint64_t items = 0;
    for (uint64_t i = 0; i < count; ++i) {
      const uint64_t word = LoadUint(words.subspan(i * width), width);
      const uint64_t log = word & 0xf;
      state_->byte_begin.push_back(bytes);
      state_->item_begin.push_back(items);
      bytes += ((word >> 4) + 1) * kMiniBlockAlignment;
      // The last chunk holds what is left and may not say how many.
      const bool last = i + 1 == count;
      const uint64_t left = layout_.num_items() - items;
      if (last && log != 0 && (uint64_t{1} << log) != left) {
        return Corrupt("the last chunk's count is not what is left");
      }
      const uint64_t here = last ? left : uint64_t{1} << log;
      if (bytes > chunk_bytes || here > left || here > kChunkValuesMax) {
        return Corrupt("chunk " + std::to_string(i) + " of " +
                       std::to_string(here) + " values reaches past the page");
      }
      items += here;
    }
    if (items != layout_.num_items()) {
      return Corrupt("chunks of " + std::to_string(items) + " values, " +
                     std::to_string(layout_.num_items()) + " declared");
    }
    state_->byte_begin.push_back(bytes);
    state_->item_begin.push_back(items);
    if (!state_->has_rows() && items != context_.page->row_count) {
      return Corrupt(std::to_string(items) + " values for " +
                     std::to_string(context_.page->row_count) + " rows");
    }
    return {};
  }

  Status ReadRowIndex(ByteSpan index) {
    const uint64_t stride =
        (uint64_t{layout_.repetition_index_depth()} + 1) * 8;
    const uint64_t count = state_->chunk_count();
    if (index.size() / stride < count) {
      return Corrupt("the repetition index is cut short");
    }
    uint64_t rows = 0;
    bool continues = false;
    for (uint64_t i = 0; i < count; ++i) {
      state_->rows_done.push_back(rows);
      state_->continues.push_back(continues);
      const auto next = CheckedAdd(rows, LoadU64(index.subspan(i * stride)));
      if (!next || *next > context_.page->row_count) {
        return Corrupt("the repetition index counts too many rows");
      }
      rows = *next;
      continues = LoadU64(index.subspan((i + 1) * stride - 8)) != 0;
    }
    state_->rows_done.push_back(rows);
    state_->continues.push_back(continues);
    if (rows != context_.page->row_count || continues) {
      return Corrupt("the repetition index counts " + std::to_string(rows) +
                     " rows of " + std::to_string(context_.page->row_count));
    }
    return {};
  }

  Status ReadDictionary(ByteSpan bytes) {
    ROWFS_ASSIGN_OR_RETURN(const auto decoder,
                           BlockDecoder::Make(layout_.dictionary()));
    state_->has_dictionary = true;
    state_->dictionary = decoder->NewBlock();
    const Status status = decoder->Decode(bytes, layout_.num_dictionary_items(),
                                          &state_->dictionary);
    return status.With("dictionary");
  }

  const MiniBlockLayout& layout_;
  const PageContext& context_;
  std::shared_ptr<MiniBlockState> state_ = std::make_shared<MiniBlockState>();
};

}  // namespace

Result<std::shared_ptr<const MiniBlockState>> MiniBlockState::Build(
    const MiniBlockLayout& layout, const PageContext& context, ByteSpan words,
    ByteSpan dictionary, ByteSpan row_index) {
  // Kept for all rows of the page, however few are read now.
  const DecodeLimit whole_page(kDecodedBytesMax);
  return StateBuilder(layout, context).Build(words, dictionary, row_index);
}

Result<MiniBlockBuffers> MiniBlockBuffers::Make(const MiniBlockLayout& layout,
                                                const PageMetadata& page) {
  MiniBlockBuffers plan;
  size_t next = 2;
  if (layout.has_dictionary()) plan.dictionary = next++;
  if (layout.repetition_index_depth() > 0) plan.row_index = next++;
  if (page.buffers.size() < next) {
    return Corrupt(std::to_string(page.buffers.size()) +
                   " buffers in a mini-block page that needs " +
                   std::to_string(next));
  }
  return plan;
}

}  // namespace rowfs
