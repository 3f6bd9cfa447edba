// Full-zip pages: large values, each an item of control word and bytes. Where
// items vary in length, an index of row offsets says where each row is.
#include <algorithm>
#include <bit>
#include <string>
#include <utility>

#include "storage/lance/blob_cell.h"
#include "storage/lance/encoding.h"
#include "storage/lance/page.h"

namespace rowfs {
namespace {

using lance::pb::FullZipLayout;

// Of a longer index only the offsets at both ends of a range are read, when
// those in between are not needed.
constexpr uint64_t kIndexBytesMax = 4 << 10;
// A blob cell up to this is read whole; of a longer one only what the detail
// asked for needs.
constexpr uint64_t kWholeCellBytes = 4 << 10;
constexpr uint64_t kUriGuessBytes = 103;  // head + this = 128

Status Corrupt(std::string message) {
  return {Code::kCorruption, std::move(message)};
}

// What the layout says, checked.
struct FullZipForm {
  Layers layers = Layers::Leaf(false);
  uint32_t def_bits = 0;
  size_t control_bytes = 0;
  size_t length_bytes = 0;                   // 0: fixed-width
  std::shared_ptr<const CellDecoder> cells;  // null: blob descriptors
  DescriptorForm descriptor;
  uint64_t row_count = 0;
  size_t index_width = 0;  // 0: rows are where arithmetic says

  uint64_t item_bytes() const { return control_bytes + *cells->cell_bytes(); }

  static Result<FullZipForm> Make(const FullZipLayout& layout,
                                  const PageContext& context);

 private:
  Status SetCells(const FullZipLayout& layout, const PageContext& context);
  Status SetIndex(const PageMetadata& page);
};

Status FullZipForm::SetCells(const FullZipLayout& layout,
                             const PageContext& context) {
  const auto& encoding = layout.value_compression();
  const LanceFieldKind kind = context.path->leaf().kind;
  if (layout.details_case() == FullZipLayout::kBitsPerOffset) {
    if (layout.bits_per_offset() != 32 && layout.bits_per_offset() != 64) {
      return Corrupt("value lengths of " +
                     std::to_string(layout.bits_per_offset()) + " bits");
    }
    length_bytes = layout.bits_per_offset() / 8;
    if (kind == LanceFieldKind::kBlobV2) {
      ROWFS_ASSIGN_OR_RETURN(descriptor, DescriptorForm::Make(encoding));
      if (descriptor.has_info && context.version < LanceFileVersion{2, 3}) {
        return Corrupt("blob_info in a file before 2.3");
      }
      return {};
    }
    ROWFS_ASSIGN_OR_RETURN(cells, CellDecoder::MakeVariable(encoding));
    return {};
  }
  ROWFS_ASSIGN_OR_RETURN(cells, CellDecoder::MakeFixed(encoding));
  const uint64_t bits = layout.bits_per_value();
  if (!cells->cell_bytes() || *cells->cell_bytes() != (bits + 7) / 8) {
    return Corrupt("values of " + std::to_string(bits) + " bits encoded as " +
                   std::string(EncodingName(encoding)));
  }
  return {};
}

Status FullZipForm::SetIndex(const PageMetadata& page) {
  if (length_bytes == 0 && layers.rep_max() == 0) {
    const auto size = CheckedMul(item_bytes(), row_count);
    if (!size || *size > page.buffers[0].size()) {
      return Corrupt("fewer values than rows");
    }
    return {};
  }
  if (page.buffers.size() < 2) return Corrupt("no index of row offsets");
  const uint64_t size = page.buffers[1].size();
  index_width = size / (row_count + 1);
  if (index_width * (row_count + 1) != size || index_width > 8 ||
      !std::has_single_bit(index_width)) {
    return Corrupt("an index of " + std::to_string(size) + " bytes for " +
                   std::to_string(row_count) + " rows");
  }
  return {};
}

Result<FullZipForm> FullZipForm::Make(const FullZipLayout& layout,
                                      const PageContext& context) {
  FullZipForm form;
  form.row_count = context.page->row_count;
  ROWFS_ASSIGN_OR_RETURN(form.layers,
                         Layers::Make(layout.layers(), *context.path));
  const uint32_t bits = layout.bits_rep() + layout.bits_def();
  if (layout.bits_rep() > 16 || layout.bits_def() > 16) {
    return Corrupt("levels of " + std::to_string(bits) + " bits");
  }
  form.def_bits = layout.bits_def();
  form.control_bytes = bits == 0 ? 0 : bits <= 8 ? 1 : bits <= 16 ? 2 : 4;
  if (form.layers.rep_max() > 0 && layout.bits_rep() == 0) {
    return Corrupt("a page of lists without repetition");
  }
  if (context.page->buffers.empty()) return Corrupt("a page without buffers");
  ROWFS_RETURN_IF_ERROR(form.SetCells(layout, context));
  ROWFS_RETURN_IF_ERROR(form.SetIndex(*context.page));
  return form;
}

// Bytes of the page that hold `rows`; the offset of each of the rows and of
// their end, where a reader needs them.
struct Piece {
  RowRange rows;
  ByteRange bytes;                // in buffer 0
  std::vector<uint64_t> offsets;  // in buffer 0; empty: not known
};

class FullZipRead final : public PageRead {
 public:
  FullZipRead(const PageContext& context, FullZipForm form, RowRanges rows)
      : context_(context), form_(std::move(form)) {
    // Blob cells may be read in part, which takes the offset of each.
    partial_ = form_.cells == nullptr && form_.layers.rep_max() == 0 &&
               form_.descriptor.has_info && context.detail != BlobDetail::kFull;
    for (const RowRange& range : rows) pieces_.push_back({range, {}, {}});
  }

  Result<std::vector<ByteRange>> Next(std::vector<Bytes> got) override {
    if (stage_ == Stage::kStart) {
      stage_ = Stage::kIndex;
      if (form_.index_width != 0) return WantIndex();
      for (Piece& piece : pieces_) {
        piece.bytes = {piece.rows.begin * form_.item_bytes(),
                       piece.rows.end * form_.item_bytes()};
      }
    }
    if (stage_ == Stage::kIndex) {
      stage_ = Stage::kItems;
      if (form_.index_width != 0) ROWFS_RETURN_IF_ERROR(TakeIndex(got));
      return partial_ ? WantCells() : WantItems();
    }
    if (stage_ == Stage::kItems) {
      stage_ = Stage::kCells;
      got_ = std::move(got);
      if (partial_) return WantRests();
    } else {
      ROWFS_RETURN_IF_ERROR(TakeRests(std::move(got)));
      return WantRests();
    }
    return std::vector<ByteRange>();
  }

  Result<Array> Finish() override {
    if (form_.cells == nullptr) {
      ROWFS_RETURN_IF_ERROR(partial_ ? DecodeCells() : DecodeBlobs());
      Array values{.type = context_.path->types.back(),
                   .length = blobs_.size()};
      values.blobs = std::move(blobs_);
      return Rebuild(std::move(values));
    }
    ValueBlock values = form_.cells->NewBlock();
    uint64_t rows = 0;
    uint64_t bytes = 0;
    for (size_t i = 0; i < pieces_.size(); ++i) {
      rows += pieces_[i].rows.size();
      bytes += got_[i].size();
    }
    Reserve(rows, bytes, &values);
    for (size_t i = 0; i < pieces_.size(); ++i) {
      ROWFS_RETURN_IF_ERROR(DecodeItems(
          pieces_[i], got_[i],
          [&](ByteSpan cell) { return form_.cells->Decode(cell, &values); },
          [&] { AppendBlank(1, &values); }));
    }
    ROWFS_ASSIGN_OR_RETURN(
        Array array, ToArray(std::move(values), context_.path->types.back()));
    return Rebuild(std::move(array));
  }

 private:
  enum class Stage { kStart, kIndex, kItems, kCells };

  const ByteRange& buffer() const { return context_.page->buffers[0]; }

  ByteRange InFile(ByteRange range) const {
    return {buffer().begin + range.begin, buffer().begin + range.end};
  }

  bool NeedsEachOffset(const Piece& piece) const {
    return partial_ ||
           (piece.rows.size() + 1) * form_.index_width <= kIndexBytesMax;
  }

  std::vector<ByteRange> WantIndex() const {
    std::vector<ByteRange> wanted;
    const uint64_t begin = context_.page->buffers[1].begin;
    const uint64_t width = form_.index_width;
    for (const Piece& piece : pieces_) {
      const uint64_t first = begin + piece.rows.begin * width;
      const uint64_t last = begin + piece.rows.end * width;
      if (NeedsEachOffset(piece)) {
        wanted.push_back({first, last + width});
      } else {
        wanted.push_back({first, first + width});
        wanted.push_back({last, last + width});
      }
    }
    return wanted;
  }

  Status TakeIndex(const std::vector<Bytes>& got) {
    const size_t width = form_.index_width;
    size_t next = 0;
    for (Piece& piece : pieces_) {
      const Bytes& first = got[next++];
      const Bytes& last = NeedsEachOffset(piece) ? first : got[next++];
      piece.bytes = {LoadUint(first, width),
                     LoadUint(ByteSpan(last).last(width), width)};
      if (piece.bytes.begin > piece.bytes.end ||
          piece.bytes.end > buffer().size()) {
        return Corrupt("row offsets " + std::to_string(piece.bytes.begin) +
                       " to " + std::to_string(piece.bytes.end) +
                       " are not in the page");
      }
      if (!partial_) continue;
      for (size_t at = 0; at < first.size(); at += width) {
        const uint64_t offset = LoadUint(ByteSpan(first).subspan(at), width);
        if (offset > piece.bytes.end ||
            (!piece.offsets.empty() && offset < piece.offsets.back())) {
          return Corrupt("row offsets are out of order");
        }
        piece.offsets.push_back(offset);
      }
    }
    return {};
  }

  Result<std::vector<ByteRange>> WantItems() const {
    std::vector<ByteRange> wanted;
    uint64_t total = 0;
    for (const Piece& piece : pieces_) {
      total += piece.bytes.size();
      wanted.push_back(InFile(piece.bytes));
    }
    if (total > DecodeLimit::Bytes()) {
      return Status(
          Code::kResourceExhausted,
          "rows of " + std::to_string(total) + " bytes at once; read fewer");
    }
    return wanted;
  }

  Result<Array> Rebuild(Array values) {
    const uint64_t width = context_.path->entries_per_row();
    ROWFS_ASSIGN_OR_RETURN(Array rows, Unravel(*context_.path, form_.layers,
                                               levels_, std::move(values)));
    uint64_t wanted = 0;
    for (const Piece& piece : pieces_) wanted += piece.rows.size();
    if (rows.length * width != wanted) {
      return Corrupt(std::to_string(rows.length) + " rows where " +
                     std::to_string(wanted) + " were expected");
    }
    return rows;
  }

  // Take the control word off `cursor`; whether a value slot follows it.
  Result<bool> TakeLevels(Cursor* cursor, uint16_t* def) {
    *def = 0;
    ++levels_.count;
    if (form_.control_bytes == 0) return true;
    ROWFS_ASSIGN_OR_RETURN(const ByteSpan word,
                           cursor->Take(form_.control_bytes));
    const uint64_t control = LoadUint(word, form_.control_bytes);
    *def = static_cast<uint16_t>(control & ((1u << form_.def_bits) - 1));
    const uint64_t rep = control >> form_.def_bits;
    if (form_.layers.rep_max() > 0) {
      if (rep > form_.layers.rep_max()) {
        return cursor->Error("a repetition level above the lists' depth");
      }
      levels_.rep.push_back(static_cast<uint16_t>(rep));
    }
    if (form_.def_bits > 0) levels_.def.push_back(*def);
    return *def <= form_.layers.visible_max();
  }

  // Walk the items of a piece: `value` gets each cell, `blank` stands for a
  // null that has none.
  template <typename Value, typename Blank>
  Status DecodeItems(const Piece& piece, ByteSpan bytes, Value value,
                     Blank blank) {
    const std::string what = "row " + std::to_string(piece.rows.begin);
    Cursor cursor(bytes, what);
    while (!cursor.AtEnd()) {
      uint16_t def = 0;
      ROWFS_ASSIGN_OR_RETURN(const bool visible, TakeLevels(&cursor, &def));
      if (!visible) continue;
      if (form_.length_bytes == 0) {
        ROWFS_ASSIGN_OR_RETURN(const ByteSpan cell,
                               cursor.Take(*form_.cells->cell_bytes()));
        ROWFS_RETURN_IF_ERROR(value(cell));
        continue;
      }
      if (def != 0) {
        blank();
        continue;
      }
      ROWFS_ASSIGN_OR_RETURN(const ByteSpan length,
                             cursor.Take(form_.length_bytes));
      ROWFS_ASSIGN_OR_RETURN(const ByteSpan cell,
                             cursor.Take(LoadUint(length, form_.length_bytes)));
      ROWFS_RETURN_IF_ERROR(value(cell));
    }
    return {};
  }

  Status DecodeBlobs() {
    for (size_t i = 0; i < pieces_.size(); ++i) {
      ROWFS_RETURN_IF_ERROR(DecodeItems(
          pieces_[i], got_[i],
          [&](ByteSpan row) -> Status {
            uint64_t missing = 0;
            ROWFS_ASSIGN_OR_RETURN(
                BlobCell cell,
                DecodeDescriptor(row, row.size(), form_.descriptor,
                                 context_.detail, *context_.file_path,
                                 &missing));
            blobs_.push_back(std::move(cell));
            return {};
          },
          [&] { AppendNullBlob(); }));
    }
    return {};
  }

  void AppendNullBlob() {
    BlobCell& cell = blobs_.emplace_back();
    if (!form_.layers.leaf_never_null()) return;
    cell.kind = BlobKind::kInline;
    cell.object = *context_.file_path;
    cell.size = 0;
  }

  // ---- Blob cells in part ----

  // The bytes of one row that were read, from its start.
  struct Cell {
    ByteRange row;  // in buffer 0
    Bytes bytes;
    uint64_t wanted = 0;  // bytes to read next
  };

  uint64_t Overhead() const {
    return form_.control_bytes + form_.length_bytes + kDescriptorHeadBytes;
  }

  Result<std::vector<ByteRange>> WantCells() {
    uint64_t guess = Overhead() + kUriGuessBytes;
    if (context_.detail == BlobDetail::kHead) guess += kBlobInfoHeadBytes;
    std::vector<ByteRange> wanted;
    for (const Piece& piece : pieces_) {
      for (size_t i = 0; i + 1 < piece.offsets.size(); ++i) {
        Cell cell{.row = {piece.offsets[i], piece.offsets[i + 1]}};
        const uint64_t size = cell.row.size();
        if (size == 0) return Corrupt("an empty blob row");
        cell.wanted = size <= kWholeCellBytes ? size : guess;
        wanted.push_back(
            InFile({cell.row.begin, cell.row.begin + cell.wanted}));
        cells_.push_back(std::move(cell));
      }
    }
    return wanted;
  }

  // More of the cells whose URI was longer than guessed.
  Result<std::vector<ByteRange>> WantRests() {
    if (!cells_.empty() && !got_.empty()) {
      ROWFS_RETURN_IF_ERROR(TakeRests(std::exchange(got_, {})));
    }
    std::vector<ByteRange> wanted;
    for (Cell& cell : cells_) {
      ROWFS_ASSIGN_OR_RETURN(cell.wanted, MissingOf(cell));
      if (cell.wanted == 0) continue;
      const uint64_t at = cell.row.begin + cell.bytes.size();
      wanted.push_back(InFile({at, at + cell.wanted}));
    }
    return wanted;
  }

  Status TakeRests(std::vector<Bytes> got) {
    size_t next = 0;
    for (Cell& cell : cells_) {
      if (cell.wanted == 0) continue;
      AppendBytes(&cell.bytes, got[next++]);
      cell.wanted = 0;
    }
    return {};
  }

  Result<uint64_t> MissingOf(const Cell& cell) const {
    uint64_t missing = 0;
    ROWFS_ASSIGN_OR_RETURN(const Opened opened, OpenCell(cell));
    if (opened.null) return missing;
    ROWFS_ASSIGN_OR_RETURN(
        [[maybe_unused]] const BlobCell blob,
        DecodeDescriptor(opened.bytes, opened.size, form_.descriptor,
                         context_.detail, *context_.file_path, &missing));
    return missing;
  }

  struct Opened {
    bool null = false;
    uint16_t def = 0;
    ByteSpan bytes;
    uint64_t size = 0;
  };
  // Take control word and length off a cell.
  Result<Opened> OpenCell(const Cell& cell) const {
    Cursor cursor(cell.bytes, "a blob cell");
    Opened opened;
    if (form_.control_bytes > 0) {
      ROWFS_ASSIGN_OR_RETURN(const ByteSpan word,
                             cursor.Take(form_.control_bytes));
      opened.def = static_cast<uint16_t>(LoadUint(word, form_.control_bytes));
    }
    opened.null = opened.def != 0;
    if (opened.null) return opened;
    ROWFS_ASSIGN_OR_RETURN(const ByteSpan length,
                           cursor.Take(form_.length_bytes));
    opened.size = LoadUint(length, form_.length_bytes);
    if (opened.size != cell.row.size() - cursor.position()) {
      return cursor.Error("its length is not the row's");
    }
    opened.bytes = ByteSpan(cell.bytes).subspan(cursor.position());
    return opened;
  }

  Status DecodeCells() {
    for (const Cell& cell : cells_) {
      ROWFS_ASSIGN_OR_RETURN(const Opened opened, OpenCell(cell));
      ++levels_.count;
      if (form_.def_bits > 0) levels_.def.push_back(opened.def);
      if (opened.def > form_.layers.visible_max()) {
        return Corrupt("a definition level that no layer has");
      }
      if (opened.null) {
        AppendNullBlob();
        continue;
      }
      uint64_t missing = 0;
      ROWFS_ASSIGN_OR_RETURN(
          BlobCell blob,
          DecodeDescriptor(opened.bytes, opened.size, form_.descriptor,
                           context_.detail, *context_.file_path, &missing));
      if (missing > 0) return Corrupt("a blob cell that is never whole");
      blobs_.push_back(std::move(blob));
    }
    return {};
  }

  const PageContext context_;
  const FullZipForm form_;
  bool partial_ = false;
  Stage stage_ = Stage::kStart;
  std::vector<Piece> pieces_;
  std::vector<Bytes> got_;
  std::vector<Cell> cells_;
  Levels levels_;
  std::vector<BlobCell> blobs_;
};

}  // namespace

Result<std::unique_ptr<PageRead>> StartFullZipRead(const PageContext& context,
                                                   const FullZipLayout& layout,
                                                   RowRanges rows) {
  ROWFS_ASSIGN_OR_RETURN(FullZipForm form, FullZipForm::Make(layout, context));
  return std::unique_ptr<PageRead>(
      new FullZipRead(context, std::move(form), std::move(rows)));
}

}  // namespace rowfs
