// Mini-block pages: small values in chunks of a few KiB. A chunk is what is
// read and decoded at a time; chunk words say how long each is and how many
// values it holds, the repetition index how many rows.
#include <algorithm>
#include <string>
#include <utility>

#include "storage/lance/encoding.h"
#include "storage/lance/mini_block_state.h"
#include "storage/lance/page.h"

namespace rowfs {
namespace {

using lance::pb::MiniBlockLayout;

// Below this, tables and chunks of a page come in one request.
constexpr uint64_t kSmallPageBytes = 64 << 10;

Status Corrupt(std::string message) {
  return {Code::kCorruption, std::move(message)};
}

uint64_t Padded(uint64_t size) {
  return (size + kMiniBlockAlignment - 1) / kMiniBlockAlignment *
         kMiniBlockAlignment;
}

// Finds the entries at which rows start, one after the other.
class RowFinder {
 public:
  RowFinder(const std::vector<uint16_t>& rep, uint16_t rep_max)
      : rep_(rep), rep_max_(rep_max) {}

  // The entry at which row `row` starts; behind the last one where no such row
  // does. Requires: rows asked for do not go back.
  uint64_t Find(uint64_t row) {
    // Stretches in which it cannot be are only counted.
    while (at_ + kStretch <= rep_.size()) {
      uint64_t starts = 0;
      for (uint64_t i = at_; i < at_ + kStretch; ++i) {
        starts += rep_[i] >= rep_max_ ? 1 : 0;
      }
      if (rows_ + starts > row) break;
      rows_ += starts;
      at_ += kStretch;
    }
    for (; at_ < rep_.size(); ++at_) {
      if (rep_[at_] < rep_max_) continue;
      if (rows_ == row) return at_;
      ++rows_;
    }
    return at_;
  }
  // Rows that start before where the last search ended.
  uint64_t rows() const { return rows_; }

 private:
  static constexpr uint64_t kStretch = 128;

  const std::vector<uint16_t>& rep_;
  const uint16_t rep_max_;
  uint64_t at_ = 0;
  uint64_t rows_ = 0;
};

// Adjacent chunks and the rows wanted of them.
struct ChunkRun {
  uint64_t begin = 0;
  uint64_t end = 0;
  RowRanges rows;
  ByteSpan bytes;  // from the start of chunk `begin`
};

class MiniBlockRead final : public PageRead {
 public:
  MiniBlockRead(const PageContext& context, const MiniBlockLayout& layout,
                const MiniBlockBuffers& plan, RowRanges rows)
      : context_(context), plan_(plan), rows_(std::move(rows)) {
    state_ = std::dynamic_pointer_cast<const MiniBlockState>(
        context.cache->Find(context.key));
    if (state_ == nullptr) layout_ = layout;
  }

  uint64_t table_bytes() const override { return table_bytes_; }

  Result<std::vector<ByteRange>> Next(std::vector<Bytes> got) override {
    table_bytes_ = 0;
    got_.insert(got_.end(), std::make_move_iterator(got.begin()),
                std::make_move_iterator(got.end()));
    if (stage_ == Stage::kStart) {
      stage_ = Stage::kTables;
      if (state_ == nullptr) return WantTables();
    }
    if (stage_ == Stage::kTables) {
      stage_ = Stage::kChunks;
      if (state_ == nullptr) ROWFS_RETURN_IF_ERROR(TakeTables());
      ROWFS_RETURN_IF_ERROR(PlanRuns());
      if (!whole_) return WantChunks();
    }
    TakeChunks();
    return std::vector<ByteRange>();
  }

  Result<Array> Finish() override {
    std::vector<Array> parts;
    for (const ChunkRun& run : runs_) {
      ROWFS_ASSIGN_OR_RETURN(Array part, DecodeRun(run));
      parts.push_back(std::move(part));
    }
    if (parts.size() == 1) return std::move(parts[0]);
    return ConcatArrays(parts);
  }

 private:
  enum class Stage { kStart, kTables, kChunks };

  const PageMetadata& page() const { return *context_.page; }

  std::vector<ByteRange> WantTables() {
    std::vector<ByteRange> wanted = {page().buffers[0]};
    if (plan_.dictionary != 0) {
      wanted.push_back(page().buffers[plan_.dictionary]);
    }
    if (plan_.row_index != 0) wanted.push_back(page().buffers[plan_.row_index]);
    for (const ByteRange& table : wanted) table_bytes_ += table.size();
    whole_ = page().buffers[1].size() <= kSmallPageBytes ||
             CountRows(rows_) == page().row_count;
    if (whole_) wanted.push_back(page().buffers[1]);
    return wanted;
  }

  Status TakeTables() {
    size_t next = 0;
    const ByteSpan words = got_[next++];
    const ByteSpan dictionary =
        plan_.dictionary == 0 ? ByteSpan() : ByteSpan(got_[next++]);
    const ByteSpan row_index =
        plan_.row_index == 0 ? ByteSpan() : ByteSpan(got_[next++]);
    ROWFS_ASSIGN_OR_RETURN(
        state_,
        MiniBlockState::Build(layout_, context_, words, dictionary, row_index));
    context_.cache->Put(context_.key, state_);
    if (!whole_) got_.clear();
    return {};
  }

  // Which chunks hold the rows, those that touch or overlap together.
  Status PlanRuns() {
    for (const RowRange& range : rows_) {
      const std::vector<uint64_t>& starts =
          state_->has_rows() ? state_->rows_done : state_->item_begin;
      uint64_t first = 0;
      if (state_->has_rows()) {
        // The last chunk in which a row up to `begin` starts.
        uint64_t low = 0;
        uint64_t high = state_->chunk_count();
        while (high - low > 1) {
          const uint64_t middle = (low + high) / 2;
          (state_->first_row(middle) <= range.begin ? low : high) = middle;
        }
        first = low;
      } else {
        first = static_cast<uint64_t>(
            std::upper_bound(starts.begin(), starts.end(), range.begin) -
            starts.begin() - 1);
      }
      // The first chunk at whose end `end` rows are complete.
      const auto end = static_cast<uint64_t>(
          std::lower_bound(starts.begin(), starts.end(), range.end) -
          starts.begin());
      if (first >= end || end > state_->chunk_count()) {
        return Corrupt("rows that no chunk holds");
      }
      if (!runs_.empty() && first <= runs_.back().end) {
        runs_.back().end = std::max(runs_.back().end, end);
        runs_.back().rows.push_back(range);
      } else {
        runs_.push_back({first, end, {range}, {}});
      }
    }
    return {};
  }

  std::vector<ByteRange> WantChunks() const {
    std::vector<ByteRange> wanted;
    const uint64_t base = page().buffers[1].begin;
    for (const ChunkRun& run : runs_) {
      wanted.push_back({base + state_->byte_begin[run.begin],
                        base + state_->byte_begin[run.end]});
    }
    return wanted;
  }

  void TakeChunks() {
    for (size_t i = 0; i < runs_.size(); ++i) {
      ChunkRun& run = runs_[i];
      const uint64_t begin = state_->byte_begin[run.begin];
      const uint64_t size = state_->byte_begin[run.end] - begin;
      run.bytes = whole_ ? ByteSpan(got_.back()).subspan(begin, size)
                         : ByteSpan(got_[i]);
    }
  }

  Result<Array> DecodeRun(const ChunkRun& run) const {
    Levels levels;
    ValueBlock values = state_->values->NewBlock();
    const uint64_t base = state_->byte_begin[run.begin];
    Reserve(state_->item_begin[run.end] - state_->item_begin[run.begin],
            run.bytes.size(), &values);
    for (uint64_t i = run.begin; i < run.end; ++i) {
      const ByteSpan chunk =
          run.bytes.subspan(state_->byte_begin[i] - base,
                            state_->byte_begin[i + 1] - state_->byte_begin[i]);
      const Status status = DecodeChunk(i, chunk, &levels, &values);
      if (!status.ok()) return status.With("chunk " + std::to_string(i));
    }
    if (state_->has_dictionary) {
      ROWFS_ASSIGN_OR_RETURN(values, LookUp(values));
    }
    ROWFS_ASSIGN_OR_RETURN(
        Array array, ToArray(std::move(values), context_.path->types.back()));
    // Entries and values of the rows from the first wanted to the last.
    const uint64_t first = run.rows.front().begin;
    const uint64_t last = run.rows.back().end;
    uint64_t begin =
        first - (state_->has_rows() ? 0 : state_->item_begin[run.begin]);
    uint64_t end = begin + (last - first);
    if (state_->has_rows()) {
      ROWFS_ASSIGN_OR_RETURN(
          const RowRange entries,
          FindRows(levels, first - state_->first_row(run.begin), last - first));
      begin = entries.begin;
      end = entries.end;
    }
    const uint64_t skip = levels.CountVisible(state_->layers, 0, begin);
    const uint64_t take = levels.CountVisible(state_->layers, begin, end);
    if (skip > array.length || take > array.length - skip) {
      return Corrupt("more slots than values");
    }
    if (take != array.length) array = SliceArray(array, skip, take);
    levels.Trim(begin, end);
    ROWFS_ASSIGN_OR_RETURN(Array rows, Unravel(*context_.path, state_->layers,
                                               levels, std::move(array)));
    if (rows.length * RowWidth() != last - first) {
      return Corrupt(std::to_string(rows.length) + " rows where " +
                     std::to_string(last - first) + " were expected");
    }
    return SelectRows(std::move(rows), first / RowWidth(), Scaled(run.rows));
  }

  // Level entries that make one row of the chain.
  uint64_t RowWidth() const { return context_.path->entries_per_row(); }
  RowRanges Scaled(RowRanges rows) const {
    for (RowRange& range : rows) {
      range.begin /= RowWidth();
      range.end /= RowWidth();
    }
    return rows;
  }

  // Entries of `count` rows behind the first `skip` that start in `levels`.
  Result<RowRange> FindRows(const Levels& levels, uint64_t skip,
                            uint64_t count) const {
    RowFinder finder(levels.rep, state_->layers.rep_max());
    const RowRange entries{finder.Find(skip), finder.Find(skip + count)};
    if (finder.rows() < skip + count) {
      return Corrupt("chunks hold fewer rows than the repetition index says");
    }
    return entries;
  }

  Result<ValueBlock> LookUp(const ValueBlock& indices) const {
    if (indices.shape != ValueBlock::Shape::kFixed || indices.bits % 8 != 0 ||
        indices.bits > 64) {
      return Corrupt("dictionary indices that are no integers");
    }
    // Slots under a null may point anywhere; so may all of them when the
    // dictionary is empty.
    ValueBlock values = EmptyLike(state_->dictionary);
    if (state_->dictionary.count == 0) {
      AppendBlank(indices.count, &values);
      return values;
    }
    ROWFS_RETURN_IF_ERROR(GatherAt(state_->dictionary, indices, &values));
    return values;
  }

  static ValueBlock EmptyLike(const ValueBlock& block) {
    ValueBlock empty{.shape = block.shape,
                     .bits = block.bits,
                     .dimension = block.dimension,
                     .has_item_validity = block.has_item_validity};
    if (block.shape == ValueBlock::Shape::kVariable) empty.offsets = {0};
    for (const ValueBlock& child : block.children) {
      empty.children.push_back(EmptyLike(child));
    }
    return empty;
  }

  Status DecodeChunk(uint64_t i, ByteSpan chunk, Levels* levels,
                     ValueBlock* values) const {
    Cursor cursor(chunk, "its header");
    ROWFS_ASSIGN_OR_RETURN(const uint16_t level_count, cursor.U16());
    uint16_t rep_size = 0;
    uint16_t def_size = 0;
    if (state_->rep != nullptr) {
      ROWFS_ASSIGN_OR_RETURN(rep_size, cursor.U16());
    }
    if (state_->def != nullptr) {
      ROWFS_ASSIGN_OR_RETURN(def_size, cursor.U16());
    }
    std::vector<uint64_t> sizes;
    for (uint64_t k = 0; k < state_->value_buffers; ++k) {
      const size_t width = state_->large ? 4 : 2;
      ROWFS_ASSIGN_OR_RETURN(const ByteSpan size, cursor.Take(width));
      sizes.push_back(LoadUint(size, width));
    }
    const uint64_t count = state_->item_begin[i + 1] - state_->item_begin[i];
    const bool has_levels = state_->rep != nullptr || state_->def != nullptr;
    Levels here{.count = has_levels ? level_count : count};
    if (has_levels && state_->rep == nullptr && level_count != count) {
      return Corrupt(std::to_string(level_count) + " levels for " +
                     std::to_string(count) + " values");
    }
    if (state_->rep != nullptr) {
      ROWFS_ASSIGN_OR_RETURN(const ByteSpan bytes, Part(&cursor, rep_size));
      ROWFS_ASSIGN_OR_RETURN(
          here.rep, DecodeLevels(state_->rep.get(), bytes, level_count));
    }
    if (state_->def != nullptr) {
      ROWFS_ASSIGN_OR_RETURN(const ByteSpan bytes, Part(&cursor, def_size));
      ROWFS_ASSIGN_OR_RETURN(
          here.def, DecodeLevels(state_->def.get(), bytes, level_count));
    }
    if (here.CountVisible(state_->layers, 0, here.count) != count) {
      return Corrupt("levels with other slots than its " +
                     std::to_string(count) + " values");
    }
    std::vector<ByteSpan> buffers;
    for (const uint64_t size : sizes) {
      ROWFS_ASSIGN_OR_RETURN(const ByteSpan bytes, Part(&cursor, size));
      buffers.push_back(bytes);
    }
    if (levels->count == 0) {
      *levels = std::move(here);
    } else {
      levels->Append(here);
    }
    return state_->values->Decode(buffers, count, values);
  }

  // The next part of a chunk; parts start at multiples of 8.
  static Result<ByteSpan> Part(Cursor* cursor, uint64_t size) {
    ROWFS_RETURN_IF_ERROR(
        cursor->Skip(Padded(cursor->position()) - cursor->position()));
    return cursor->Take(size);
  }

  const PageContext context_;
  MiniBlockLayout layout_;  // until the state is there
  const MiniBlockBuffers plan_;
  const RowRanges rows_;
  Stage stage_ = Stage::kStart;
  uint64_t table_bytes_ = 0;
  bool whole_ = false;  // the chunk buffer came with the tables
  std::vector<Bytes> got_;
  std::shared_ptr<const MiniBlockState> state_;
  std::vector<ChunkRun> runs_;
};

}  // namespace

Result<std::unique_ptr<PageRead>> StartMiniBlockRead(
    const PageContext& context, const MiniBlockLayout& layout, RowRanges rows) {
  ROWFS_ASSIGN_OR_RETURN(const MiniBlockBuffers plan,
                         MiniBlockBuffers::Make(layout, *context.page));
  return std::unique_ptr<PageRead>(
      new MiniBlockRead(context, layout, plan, std::move(rows)));
}

}  // namespace rowfs
