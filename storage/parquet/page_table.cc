#include "storage/parquet/page_table.h"

#include <algorithm>
#include <string>
#include <utility>

#include "storage/parquet/page_header.h"

namespace rowfs {
namespace {

constexpr uint64_t kWholeChunkBytes = 1 << 20;
constexpr uint64_t kWindowBytes = 512;
// Statistics of long values make long headers.
constexpr uint64_t kHeaderBytesMax = 16 << 20;

Status Bad(std::string_view message) {
  return {Code::kCorruption, "column chunk: " + std::string(message)};
}

// Reads headers inside one chunk, as few bytes as will do.
class HeaderReader {
 public:
  HeaderReader(const ObjectReader& reader, ByteRange chunk)
      : reader_(reader), chunk_(chunk) {}

  Result<PageHeader> At(uint64_t offset) {
    uint64_t window =
        chunk_.size() <= kWholeChunkBytes ? chunk_.size() : kWindowBytes;
    for (;;) {
      const uint64_t end = offset + std::min(window, chunk_.end - offset);
      ROWFS_RETURN_IF_ERROR(Load({offset, end}));
      Result<PageHeader> header = ParsePageHeader(
          ByteSpan(bytes_).subspan(offset - loaded_.begin, end - offset));
      if (header.ok() || header.status().code() != Code::kOutOfRange) {
        return header;
      }
      if (end == chunk_.end || window >= kHeaderBytesMax) {
        return Bad("it ends inside a page header");
      }
      window *= 8;
    }
  }

 private:
  Status Load(ByteRange range) {
    if (loaded_.Contains(range)) return {};
    if (chunk_.size() <= kWholeChunkBytes) range = chunk_;
    ROWFS_ASSIGN_OR_RETURN(bytes_, reader_.Read(range, ReadKind::kMetadata));
    loaded_ = range;
    return {};
  }

  const ObjectReader& reader_;
  const ByteRange chunk_;
  ByteRange loaded_;
  Bytes bytes_;
};

}  // namespace

size_t PageTable::Find(uint64_t row) const {
  const auto after = std::upper_bound(
      pages.begin(), pages.end(), row,
      [](uint64_t r, const PageSpan& page) { return r < page.first_row; });
  return static_cast<size_t>(after - pages.begin()) - 1;
}

PageTable OpaqueTable(uint64_t row_count, uint64_t rows_each) {
  PageTable table;
  table.opaque = true;
  for (uint64_t row = 0; row < row_count; row += rows_each) {
    table.pages.push_back({row, std::min(rows_each, row_count - row), {}});
  }
  return table;
}

Result<PageTable> TableFromIndex(const ChunkPlace& chunk,
                                 std::span<const PageStart> starts) {
  PageTable table;
  uint64_t at = chunk.bytes.begin;
  for (size_t i = 0; i < starts.size(); ++i) {
    const PageStart& start = starts[i];
    const uint64_t next =
        i + 1 < starts.size() ? starts[i + 1].first_row : chunk.row_count;
    const bool inside = start.offset >= at && start.offset < chunk.bytes.end &&
                        start.size > 0 &&
                        start.size <= chunk.bytes.end - start.offset;
    const bool in_order = (i > 0 || start.first_row == 0) &&
                          start.first_row <= next && next <= chunk.row_count;
    if (!inside || !in_order) {
      return Bad("its offset index contradicts it");
    }
    if (i == 0) table.dictionary = {chunk.bytes.begin, start.offset};
    at = start.offset + start.size;
    if (next == start.first_row) continue;  // a page without rows
    table.pages.push_back(
        {start.first_row, next - start.first_row, {start.offset, at}});
  }
  if (table.pages.empty() && chunk.row_count > 0) {
    return Bad("its offset index has no pages");
  }
  return table;
}

Result<PageTable> StepOverPages(const ObjectReader& reader,
                                const ChunkPlace& chunk) {
  HeaderReader headers(reader, chunk.bytes);
  PageTable table;
  uint64_t row = 0;
  uint64_t at = chunk.bytes.begin;
  while (row < chunk.row_count) {
    if (at >= chunk.bytes.end) return Bad("it ends before its last row");
    ROWFS_ASSIGN_OR_RETURN(const PageHeader header, headers.At(at));
    if (header.size() > chunk.bytes.end - at) return Bad("a page leaves it");
    const ByteRange bytes{at, at + header.size()};
    at = bytes.end;
    if (header.kind == PageHeader::Kind::kDictionary) {
      table.dictionary = bytes;
    }
    if (!header.is_data()) continue;
    std::optional<uint64_t> rows = header.row_count;
    if (!chunk.repeated) rows = header.value_count;
    if (!rows) {
      table.opaque = true;
      return table;
    }
    if (*rows > chunk.row_count - row) return Bad("it has too many rows");
    if (*rows == 0) continue;
    table.pages.push_back({row, *rows, bytes});
    row += *rows;
  }
  return table;
}

}  // namespace rowfs
