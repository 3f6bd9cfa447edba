#include "storage/lance/column_reader.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "storage/lance/value_block.h"
#include "storage/table/array_bytes.h"

namespace rowfs {
namespace {

// A page asks for tables, offsets, values, and for blob cells twice more.
constexpr int kRoundsMax = 16;

// One leaf column and the reads of its pages.
struct LeafRead {
  ColumnPath path;
  uint32_t column = 0;
  std::vector<PageContext> contexts;  // stable: reads point into it
  std::vector<std::unique_ptr<PageRead>> pages;
};

Status Corrupt(std::string message) {
  return {Code::kCorruption, std::move(message)};
}

class FieldReader {
 public:
  FieldReader(const FileContext& file,
              const std::map<int32_t, uint32_t>& columns, const RowRanges& rows,
              BlobDetail detail)
      : file_(file), columns_(columns), rows_(rows), detail_(detail) {}

  Result<Array> Read(const LanceField& field) {
    std::vector<const LanceField*> path;
    ROWFS_RETURN_IF_ERROR(FindLeaves(field, &path));
    if (leaves_.empty()) {
      return Status(Code::kInvalidArgument,
                    "field \"" + field.field.name + "\" has no column in it");
    }
    ROWFS_RETURN_IF_ERROR(RunReads());
    return Assemble(field);
  }

 private:
  Status FindLeaves(const LanceField& field,
                    std::vector<const LanceField*>* path) {
    path->push_back(&field);
    if (IsLeaf(field)) {
      const auto found = columns_.find(field.id);
      if (found != columns_.end()) {
        ROWFS_RETURN_IF_ERROR(AddLeaf(*path, found->second));
      }
    } else {
      for (const LanceField& child : field.children) {
        ROWFS_RETURN_IF_ERROR(FindLeaves(child, path));
      }
    }
    path->pop_back();
    return {};
  }

  Status AddLeaf(const std::vector<const LanceField*>& fields,
                 uint32_t column) {
    const auto& all = file_.metadata->columns;
    const std::string what = "column " + std::to_string(column);
    if (column >= all.size()) {
      return Corrupt(what + " of " + std::to_string(all.size()));
    }
    auto leaf = std::make_unique<LeafRead>();
    leaf->path = MakePath(fields, StoredLeafType(*fields.back()));
    leaf->column = column;
    const uint64_t width = leaf->path.entries_per_row();
    const auto entries = CheckedMul(file_.metadata->row_count, width);
    if (!entries || all[column].row_count != *entries) {
      return Corrupt(what + " holds " + std::to_string(all[column].row_count) +
                     " rows of " + std::to_string(file_.metadata->row_count));
    }
    ROWFS_RETURN_IF_ERROR(AddPages(all[column], width, leaf.get()));
    leaves_.push_back(std::move(leaf));
    return {};
  }

  Status AddPages(const ColumnPages& column, uint64_t width, LeafRead* leaf) {
    std::vector<RowRanges> wanted(column.pages.size());
    size_t at = 0;
    size_t touched = 0;
    for (const RowRange& range : rows_) {
      uint64_t begin = range.begin * width;
      const uint64_t end = range.end * width;
      while (begin < end) {
        const PageMetadata& page = column.pages[at];
        const uint64_t page_end = page.first_row + page.row_count;
        if (page_end <= begin) {
          ++at;
          continue;
        }
        const uint64_t here = std::min(end, page_end);
        touched += wanted[at].empty() ? 1 : 0;
        wanted[at].push_back({begin - page.first_row, here - page.first_row});
        begin = here;
      }
    }
    leaf->contexts.reserve(touched);
    for (size_t i = 0; i < wanted.size(); ++i) {
      if (wanted[i].empty()) continue;
      leaf->contexts.push_back(
          {.page = &column.pages[i],
           .path = &leaf->path,
           .version = file_.metadata->version,
           .file_path = file_.path,
           .detail = detail_,
           .cache = file_.cache,
           .key = {leaf->column, static_cast<uint32_t>(i)}});
      auto read = StartPageRead(leaf->contexts.back(), std::move(wanted[i]));
      if (!read.ok()) return read.status().With(Where(*leaf, i));
      leaf->pages.push_back(std::move(read).value());
    }
    return {};
  }

  static std::string Where(const LeafRead& leaf, size_t page) {
    return "column " + std::to_string(leaf.column) + " (" +
           leaf.path.leaf().field.name + ") page " + std::to_string(page);
  }

  // Rounds of reads, all pages together, until none wants more.
  Status RunReads() {
    struct Pending {
      const LeafRead* leaf;
      size_t page;
      std::vector<Bytes> got;
    };
    std::vector<Pending> pending;
    for (const auto& leaf : leaves_) {
      for (size_t i = 0; i < leaf->pages.size(); ++i) {
        pending.push_back({leaf.get(), i, {}});
      }
    }
    uint64_t bytes = 0;
    for (int round = 0; !pending.empty(); ++round) {
      if (round == kRoundsMax) return Corrupt("a page that is never read");
      std::vector<Pending> next;
      std::vector<ByteRange> wanted;
      std::vector<size_t> counts;
      for (Pending& one : pending) {
        auto ranges = one.leaf->pages[one.page]->Next(std::move(one.got));
        if (!ranges.ok()) {
          return ranges.status().With(WhereRead(*one.leaf, one.page));
        }
        if (ranges.value().empty()) continue;
        for (const ByteRange& range : ranges.value()) bytes += range.size();
        bytes -= one.leaf->pages[one.page]->table_bytes();
        ROWFS_RETURN_IF_ERROR(CheckLimit(bytes));
        counts.push_back(ranges.value().size());
        wanted.insert(wanted.end(), ranges.value().begin(),
                      ranges.value().end());
        next.push_back({one.leaf, one.page, {}});
      }
      ROWFS_ASSIGN_OR_RETURN(
          std::vector<Bytes> got,
          file_.object->ReadMany(wanted, ReadKind::kMetadata));
      auto from = got.begin();
      for (size_t i = 0; i < next.size(); ++i) {
        const auto to = from + static_cast<std::ptrdiff_t>(counts[i]);
        next[i].got.assign(std::make_move_iterator(from),
                           std::make_move_iterator(to));
        from = to;
      }
      pending = std::move(next);
    }
    return {};
  }

  // A limit that somebody set is one on all pages together.
  static Status CheckLimit(uint64_t bytes) {
    const uint64_t limit = DecodeLimit::Bytes();
    if (limit == kDecodedBytesMax || bytes <= limit) return {};
    return {Code::kResourceExhausted,
            "rows of " + std::to_string(bytes) + " bytes at once; read fewer"};
  }

  static std::string WhereRead(const LeafRead& leaf, size_t read) {
    return Where(leaf, leaf.contexts[read].key.second);
  }

  // ---- From chains of one leaf each to the field ----

  Result<Array> FinishLeafRead(LeafRead* leaf) {
    std::vector<Array> parts;
    uint64_t bytes = 0;
    for (size_t i = 0; i < leaf->pages.size(); ++i) {
      auto part = leaf->pages[i]->Finish();
      if (!part.ok()) return part.status().With(WhereRead(*leaf, i));
      parts.push_back(std::move(part).value());
      leaf->pages[i].reset();
      bytes += RowBytes(parts.back());
      ROWFS_RETURN_IF_ERROR(CheckLimit(bytes));
    }
    Array chain;
    if (parts.empty()) {
      chain = NullArray(leaf->path.types[0], 0);
    } else if (parts.size() == 1) {
      chain = std::move(parts[0]);
    } else {
      ROWFS_ASSIGN_OR_RETURN(chain, ConcatArrays(parts));
    }
    Array* at = &chain;
    for (size_t i = 1; i < leaf->path.fields.size(); ++i) {
      at = &at->children[0];
    }
    ROWFS_ASSIGN_OR_RETURN(*at, FinishLeaf(leaf->path.leaf(), std::move(*at)));
    return chain;
  }

  Result<Array> Assemble(const LanceField& field) {
    std::optional<Array> merged;
    for (const auto& leaf : leaves_) {
      ROWFS_ASSIGN_OR_RETURN(Array chain, FinishLeafRead(leaf.get()));
      if (!merged) {
        ROWFS_ASSIGN_OR_RETURN(merged,
                               Widen(field, leaf->path, 0, std::move(chain)));
      } else {
        ROWFS_RETURN_IF_ERROR(
            Merge(field, leaf->path, 0, std::move(chain), &*merged));
      }
    }
    return std::move(*merged);
  }

  // The child of fields[depth] that the path goes down to.
  static size_t ChildIndex(const ColumnPath& path, size_t depth) {
    const LanceField* parent = path.fields[depth];
    return static_cast<size_t>(path.fields[depth + 1] -
                               parent->children.data());
  }

  // A chain as an array of the whole field: siblings are null until merged.
  Result<Array> Widen(const LanceField& field, const ColumnPath& path,
                      size_t depth, Array chain) {
    chain.type = field.field.type;
    if (depth + 1 == path.fields.size()) return chain;
    const size_t wanted = ChildIndex(path, depth);
    Array child = std::move(chain.children[0]);
    const uint64_t length = child.length;
    chain.children.clear();
    for (size_t i = 0; i < field.children.size(); ++i) {
      if (i == wanted) {
        ROWFS_ASSIGN_OR_RETURN(
            Array widened,
            Widen(field.children[i], path, depth + 1, std::move(child)));
        chain.children.push_back(std::move(widened));
      } else if (HasColumn(field.children[i])) {
        // Its place: Merge puts the values there.
        chain.children.push_back(
            {.type = field.children[i].field.type, .length = length});
      } else {
        chain.children.push_back(
            NullArray(field.children[i].field.type, length));
      }
    }
    return chain;
  }

  // Put a chain's leaf into `into`, whose structure it must share.
  Status Merge(const LanceField& field, const ColumnPath& path, size_t depth,
               Array chain, Array* into) {
    const bool same =
        chain.length == into->length &&
        (chain.offsets == nullptr) == (into->offsets == nullptr) &&
        (chain.offsets == nullptr || *chain.offsets == *into->offsets);
    if (!same) {
      return Corrupt("the columns of \"" + field.field.name +
                     "\" do not agree on its structure");
    }
    if (depth + 1 == path.fields.size()) {
      return Corrupt("two columns for \"" + field.field.name + "\"");
    }
    const size_t index = ChildIndex(path, depth);
    const LanceField& child = field.children[index];
    Array& place = into->children[index];
    Array below = std::move(chain.children[0]);
    if (Has(child, path.leaf())) {
      return Merge(child, path, depth + 1, std::move(below), &place);
    }
    if (below.length != place.length) {
      return Corrupt("the columns of \"" + field.field.name +
                     "\" differ in length");
    }
    ROWFS_ASSIGN_OR_RETURN(place,
                           Widen(child, path, depth + 1, std::move(below)));
    return {};
  }

  // Whether some leaf that is read lies below `field`.
  bool HasColumn(const LanceField& field) const {
    return std::any_of(leaves_.begin(), leaves_.end(), [&](const auto& leaf) {
      const auto& fields = leaf->path.fields;
      return std::find(fields.begin(), fields.end(), &field) != fields.end();
    });
  }

  // Whether an earlier leaf than `leaf` lies below `field`.
  bool Has(const LanceField& field, const LanceField& leaf) const {
    for (const auto& other : leaves_) {
      if (&other->path.leaf() == &leaf) return false;
      for (const LanceField* on_path : other->path.fields) {
        if (on_path == &field) return true;
      }
    }
    return false;
  }

  const FileContext& file_;
  const std::map<int32_t, uint32_t>& columns_;
  const RowRanges& rows_;
  const BlobDetail detail_;
  std::vector<std::unique_ptr<LeafRead>> leaves_;
};

}  // namespace

bool IsLeaf(const LanceField& field) {
  return field.kind != LanceFieldKind::kPlain || field.children.empty();
}

Result<Array> ReadField(const FileContext& file, const LanceField& field,
                        const std::map<int32_t, uint32_t>& columns,
                        const RowRanges& rows, BlobDetail detail) {
  return FieldReader(file, columns, rows, detail).Read(field);
}

}  // namespace rowfs
