// Fields of 2.0 files. A struct's column is empty, a list's holds the ends of
// its lists, and the items are the next column, in item numbers of their own.
#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "storage/lance/array_encoding.h"
#include "storage/lance/column_reader.h"

namespace rowfs {
namespace {

constexpr std::string_view kArrayEncodingUrl = "/lance.encodings.ArrayEncoding";

Status Corrupt(std::string message) {
  return {Code::kCorruption, std::move(message)};
}

TypePtr DescriptorType() {
  const auto number = MakeType(TypeId::kUint64);
  return MakeType(DataType{
      .id = TypeId::kStruct,
      .children = {{"position", number, false}, {"size", number, false}}});
}

// A page and the rows of it that are wanted, in its own numbers.
struct PagePart {
  const PageMetadata* page;
  RowRanges rows;
  lance::pb::ArrayEncoding encoding;
};

class ArrayFieldReader {
 public:
  ArrayFieldReader(const FileContext& file,
                   const std::map<int32_t, uint32_t>& columns)
      : file_(file), columns_(columns) {}

  Result<Array> Read(const LanceField& field, const RowRanges& rows,
                     bool top_level) {
    if (!columns_.contains(field.id)) {
      // Files written before a struct got this member do not have it.
      if (!top_level) return NullArray(field.field.type, CountRows(rows));
      return Status(Code::kInvalidArgument,
                    "field \"" + field.field.name + "\" has no column in it");
    }
    const TypeId id = field.field.type->id;
    auto array = id == TypeId::kStruct && !IsLeaf(field)
                     ? ReadStruct(field, rows)
                 : id == TypeId::kList || id == TypeId::kLargeList
                     ? ReadList(field, rows)
                     : ReadLeaf(field, rows);
    if (array.ok()) return array;
    return array.status().With("column " +
                               std::to_string(columns_.at(field.id)) + " (" +
                               field.field.name + ")");
  }

 private:
  Result<const ColumnPages*> Column(const LanceField& field) const {
    const uint32_t index = columns_.at(field.id);
    if (index >= file_.metadata->columns.size()) {
      return Corrupt("one of " +
                     std::to_string(file_.metadata->columns.size()));
    }
    return &file_.metadata->columns[index];
  }

  // The pages that hold `rows`.
  Result<std::vector<PagePart>> Parts(const ColumnPages& column,
                                      const RowRanges& rows) const {
    std::vector<PagePart> parts;
    size_t at = 0;
    for (const RowRange& range : rows) {
      uint64_t begin = range.begin;
      while (begin < range.end) {
        if (at == column.pages.size()) {
          return Corrupt("row " + std::to_string(begin) + " of " +
                         std::to_string(column.row_count));
        }
        const PageMetadata& page = column.pages[at];
        const uint64_t page_end = page.first_row + page.row_count;
        if (page_end <= begin) {
          ++at;
          continue;
        }
        if (parts.empty() || parts.back().page != &page) {
          PagePart part{.page = &page};
          ROWFS_RETURN_IF_ERROR(Parse(page, &part.encoding));
          parts.push_back(std::move(part));
        }
        const uint64_t end = std::min(range.end, page_end);
        parts.back().rows.push_back(
            {begin - page.first_row, end - page.first_row});
        begin = end;
      }
    }
    return parts;
  }

  static Status Parse(const PageMetadata& page,
                      lance::pb::ArrayEncoding* encoding) {
    if (page.type_url != kArrayEncodingUrl) {
      return {Code::kUnsupported, "pages of type \"" + page.type_url +
                                      "\" are not supported in format 2.0"};
    }
    if (!encoding->ParseFromString(page.encoding)) {
      return Corrupt("the page's encoding is not a message");
    }
    return {};
  }

  ArrayPage Open(const LanceField& field, const ColumnPages& column,
                 const PagePart& part) const {
    return {*file_.object, *file_.metadata, column, *part.page,
            *field.field.type};
  }

  Result<Array> ReadStruct(const LanceField& field, const RowRanges& rows) {
    Array array{.type = field.field.type, .length = CountRows(rows)};
    for (const LanceField& child : field.children) {
      ROWFS_ASSIGN_OR_RETURN(Array values, Read(child, rows, false));
      array.children.push_back(std::move(values));
    }
    return array;
  }

  Result<Array> ReadList(const LanceField& field, const RowRanges& rows) {
    ROWFS_ASSIGN_OR_RETURN(const ColumnPages* column, Column(field));
    ROWFS_ASSIGN_OR_RETURN(const std::vector<PagePart> parts,
                           Parts(*column, rows));
    std::vector<ArrayPage::Extent> lists;
    for (const PagePart& part : parts) {
      if (!part.encoding.has_list()) return Corrupt("a page without lists");
      const auto& list = part.encoding.list();
      ROWFS_ASSIGN_OR_RETURN(const uint64_t base,
                             ItemsBefore(*column, *part.page));
      ROWFS_ASSIGN_OR_RETURN(
          std::vector<ArrayPage::Extent> extents,
          Open(field, *column, part)
              .Extents(list.offsets(), list.null_offset_adjustment(),
                       part.rows));
      for (ArrayPage::Extent& extent : extents) {
        if (extent.end > list.num_items()) {
          return Corrupt("a list past the page's items");
        }
        extent.begin += base;
        extent.end += base;
        lists.push_back(extent);
      }
    }
    return BuildList(field, lists);
  }

  // Items of the pages before `page`.
  Result<uint64_t> ItemsBefore(const ColumnPages& column,
                               const PageMetadata& page) const {
    uint64_t items = 0;
    for (const PageMetadata& before : column.pages) {
      if (&before == &page) break;
      lance::pb::ArrayEncoding encoding;
      ROWFS_RETURN_IF_ERROR(Parse(before, &encoding));
      const auto next = CheckedAdd(items, encoding.list().num_items());
      if (!next || *next > uint64_t{1} << 48) return Corrupt("too many items");
      items = *next;
    }
    return items;
  }

  Result<Array> BuildList(const LanceField& field,
                          const std::vector<ArrayPage::Extent>& lists) {
    const bool large = field.field.type->id == TypeId::kLargeList;
    const size_t width = large ? 8 : 4;
    Array array{.type = field.field.type, .length = lists.size()};
    RowRanges items;
    Bytes offsets;
    Bytes validity((lists.size() + 7) / 8);
    uint64_t count = 0;
    AppendUint(&offsets, 0, width);
    for (size_t i = 0; i < lists.size(); ++i) {
      const auto& [begin, end, null] = lists[i];
      if (null) {
        ++array.null_count;
      } else {
        validity[i / 8] |= std::byte{1} << (i % 8);
      }
      if (!null && begin < end) {
        if (!items.empty() && items.back().end == begin) {
          items.back().end = end;
        } else {
          items.push_back({begin, end});
        }
        count += end - begin;
      }
      if (!large && count > INT32_MAX) {
        return Status(Code::kResourceExhausted,
                      "more items at once than a list can have");
      }
      AppendUint(&offsets, count, width);
    }
    array.offsets = std::make_shared<const Bytes>(std::move(offsets));
    if (array.null_count > 0) {
      array.validity = std::make_shared<const Bytes>(std::move(validity));
    }
    ROWFS_ASSIGN_OR_RETURN(Array child, Read(field.children[0], items, false));
    array.children.push_back(std::move(child));
    return array;
  }

  Result<Array> ReadLeaf(const LanceField& field, const RowRanges& rows) {
    ROWFS_ASSIGN_OR_RETURN(const ColumnPages* column, Column(field));
    ROWFS_ASSIGN_OR_RETURN(const std::vector<PagePart> parts,
                           Parts(*column, rows));
    const bool blob = field.kind == LanceFieldKind::kBlobV1;
    const TypePtr type = blob ? DescriptorType() : StoredLeafType(field);
    std::vector<Array> arrays;
    for (const PagePart& part : parts) {
      ROWFS_ASSIGN_OR_RETURN(
          Array array,
          Open(field, *column, part).Decode(part.encoding, type, part.rows));
      arrays.push_back(std::move(array));
    }
    if (arrays.empty()) return NullArray(field.field.type, 0);
    Array values = std::move(arrays[0]);
    if (arrays.size() > 1) {
      arrays[0] = std::move(values);
      ROWFS_ASSIGN_OR_RETURN(values, ConcatArrays(arrays));
    }
    if (blob) return Blobs(field, values);
    return FinishLeaf(field, std::move(values));
  }

  // Position and size of bytes in this file; (1, 0) is null.
  Result<Array> Blobs(const LanceField& field, const Array& descriptors) {
    ArrayBuilder blobs(field.field.type);
    for (uint64_t i = 0; i < descriptors.length; ++i) {
      const auto position =
          static_cast<uint64_t>(descriptors.children[0].IntAt(i));
      const auto size = static_cast<uint64_t>(descriptors.children[1].IntAt(i));
      if (size == 0 && position == 1) {
        blobs.AppendNull();
        continue;
      }
      if (!CheckedAdd(position, size)) {
        return Corrupt("a blob that ends past any file");
      }
      blobs.AppendBlob({.kind = BlobKind::kInline,
                        .object = *file_.path,
                        .offset = position,
                        .size = size});
    }
    return blobs.Finish();
  }

  const FileContext& file_;
  const std::map<int32_t, uint32_t>& columns_;
};

}  // namespace

Result<Array> ReadArrayField(const FileContext& file, const LanceField& field,
                             const std::map<int32_t, uint32_t>& columns,
                             const RowRanges& rows) {
  return ArrayFieldReader(file, columns).Read(field, rows, true);
}

}  // namespace rowfs
