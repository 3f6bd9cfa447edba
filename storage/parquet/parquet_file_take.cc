// Rows by number: find their pages, fetch the bytes, decode those pages alone.
#include <parquet/metadata.h>
#include <parquet/page_index.h>
#include <parquet/properties.h>

#include <algorithm>

#include "storage/parquet/arrow_glue.h"
#include "storage/parquet/leaf_merge.h"
#include "storage/parquet/parquet_file.h"

namespace rowfs {
namespace {

// Stretches of an opaque chunk, decoded.
constexpr uint64_t kStretchBytes = 1 << 20;
constexpr uint64_t kStretchRowsMax = 4096;
// Page tables kept; a table takes about 40 bytes a page.
constexpr size_t kTablesMax = 4096;

std::string NameOf(const parquet::FileMetaData& metadata, int leaf) {
  return metadata.schema()->Column(leaf)->path()->ToDotString();
}

template <typename Pages>
bool HasNull(const Pages& pages) {
  return std::any_of(pages.begin(), pages.end(),
                     [](const auto& page) { return page.second == nullptr; });
}

}  // namespace

Result<ChunkPlace> ParquetFile::PlaceOf(int group, int leaf) const {
  const auto about = metadata_->RowGroup(group);
  const auto chunk = about->ColumnChunk(leaf);
  if (chunk->crypto_metadata() != nullptr) {
    return Status(Code::kUnsupported, NameOf(*metadata_, leaf) +
                                          ": an encrypted column; rowfs has "
                                          "no keys");
  }
  int64_t begin = chunk->data_page_offset();
  if (chunk->has_dictionary_page() && chunk->dictionary_page_offset() > 0) {
    begin = std::min(begin, chunk->dictionary_page_offset());
  }
  const int64_t size = chunk->total_compressed_size();
  const auto file_size = static_cast<int64_t>(reader_->size());
  if (begin < 0 || size < 0 || begin > file_size || size > file_size - begin) {
    return Status(Code::kCorruption, NameOf(*metadata_, leaf) +
                                         ": its column chunk leaves the "
                                         "file");
  }
  ChunkPlace place;
  place.bytes = {static_cast<uint64_t>(begin),
                 static_cast<uint64_t>(begin + size)};
  place.row_count = static_cast<uint64_t>(about->num_rows());
  place.repeated =
      metadata_->schema()->Column(leaf)->max_repetition_level() > 0;
  return place;
}

Result<PageTable> ParquetFile::MakeTable(int group, int leaf,
                                         const ChunkPlace& place,
                                         ByteSpan index) const {
  PageTable table;
  bool known = false;
  if (!index.empty()) {
    const auto parsed = parquet::OffsetIndex::Make(
        index.data(), static_cast<uint32_t>(index.size()),
        parquet::default_reader_properties());
    std::vector<PageStart> starts;
    for (const auto& page : parsed->page_locations()) {
      starts.push_back({static_cast<uint64_t>(page.offset),
                        static_cast<uint64_t>(page.compressed_page_size),
                        static_cast<uint64_t>(page.first_row_index)});
    }
    Result<PageTable> made = TableFromIndex(place, starts);
    known = made.ok();  // an index that lies is no use, the pages may be
    if (known) table = std::move(made).value();
  }
  if (!known) {
    Result<PageTable> stepped = StepOverPages(*reader_, place);
    if (!stepped.ok()) {
      return stepped.status().With(NameOf(*metadata_, leaf));
    }
    table = std::move(stepped).value();
  }
  if (!table.opaque) return table;
  return OpaqueTable(place.row_count, std::min(RowsWithin(kStretchBytes, group,
                                                          std::span(&leaf, 1)),
                                               kStretchRowsMax));
}

std::shared_ptr<const PageTable> ParquetFile::TableOf(int group, int leaf) {
  const MutexLock lock(mu_);
  const auto found = tables_.find({group, leaf});
  return found == tables_.end() ? nullptr : found->second;
}

// Make the tables of `leaves` that are not there yet, their indexes read in one
// go.
Status ParquetFile::FindPages(int group, std::span<const int> leaves) {
  std::vector<int> missing;
  std::vector<ByteRange> ranges;
  for (const int leaf : leaves) {
    if (TableOf(group, leaf)) continue;
    const auto at =
        metadata_->RowGroup(group)->ColumnChunk(leaf)->GetOffsetIndexLocation();
    const uint64_t size = reader_->size();
    ByteRange range;
    if (at && at->offset > 0 && at->length > 0 &&
        static_cast<uint64_t>(at->offset) < size &&
        static_cast<uint64_t>(at->length) <=
            size - static_cast<uint64_t>(at->offset)) {
      range.begin = static_cast<uint64_t>(at->offset);
      range.end = range.begin + static_cast<uint64_t>(at->length);
    }
    missing.push_back(leaf);
    ranges.push_back(range);
  }
  if (missing.empty()) return {};
  ROWFS_ASSIGN_OR_RETURN(const std::vector<Bytes> indexes,
                         reader_->ReadMany(ranges, ReadKind::kMetadata));
  for (size_t i = 0; i < missing.size(); ++i) {
    ROWFS_ASSIGN_OR_RETURN(const ChunkPlace place, PlaceOf(group, missing[i]));
    ROWFS_ASSIGN_OR_RETURN(PageTable table,
                           MakeTable(group, missing[i], place, indexes[i]));
    const MutexLock lock(mu_);
    if (tables_.size() >= kTablesMax) tables_.erase(tables_.begin());
    tables_[{group, missing[i]}] =
        std::make_shared<const PageTable>(std::move(table));
  }
  return {};
}

// Decode the stretches of an opaque leaf from the start of its chunk.
Status ParquetFile::DecodeStretches(int group, int leaf, Pages* wanted) {
  const auto table = TableOf(group, leaf);
  const uint64_t rows_each = table->pages[0].row_count;
  ROWFS_ASSIGN_OR_RETURN(const auto reader,
                         ScanGroups({group}, {leaf}, rows_each));
  const size_t last = wanted->rbegin()->first;
  std::vector<Array> parts;
  uint64_t rows = 0;
  for (size_t i = 0; i <= last;) {
    ROWFS_ASSIGN_OR_RETURN(RecordBatch batch, reader->Next());
    if (batch.row_count == 0) {
      return {Code::kCorruption,
              NameOf(*metadata_, leaf) + ": fewer rows than the footer says"};
    }
    rows += batch.row_count;
    parts.push_back(std::move(batch.columns[0]));
    if (rows < table->pages[i].row_count) continue;
    ROWFS_ASSIGN_OR_RETURN(Array stretch, ConcatArrays(parts));
    parts.clear();
    rows = 0;
    auto shared = std::make_shared<const Array>(std::move(stretch));
    cache_->Put(
        {number_, static_cast<uint32_t>(group), static_cast<uint32_t>(leaf), i},
        shared);
    if (const auto place = wanted->find(i); place != wanted->end()) {
      place->second = std::move(shared);
    }
    ++i;
  }
  return {};
}

// Fetch the pages that are null in `wanted`, and tell what can be decoded
// together.
Status ParquetFile::FetchPages(
    int group, const Wanted& wanted,
    std::map<PageGroup, std::vector<LeafPages>>* out) {
  std::vector<ByteRange> ranges;
  for (const auto& [leaf, pages] : wanted) {
    const auto table = TableOf(group, leaf);
    if (table->opaque || !HasNull(pages)) continue;
    ranges.push_back(table->dictionary);
    for (const auto& [page, array] : pages) {
      if (!array) ranges.push_back(table->pages[page].bytes);
    }
  }
  ROWFS_ASSIGN_OR_RETURN(const std::vector<Bytes> read,
                         reader_->ReadMany(ranges, ReadKind::kMetadata));
  size_t next = 0;
  for (const auto& [leaf, pages] : wanted) {
    const auto table = TableOf(group, leaf);
    if (table->opaque || !HasNull(pages)) continue;
    const auto* column = metadata_->schema()->Column(leaf);
    PageGroup key;
    key.codec = metadata_->RowGroup(group)->ColumnChunk(leaf)->compression();
    LeafPages bytes;
    bytes.leaf = leaf;
    bytes.bytes = read[next++];
    bytes.dictionary_size = bytes.bytes.size();
    for (const auto& [page, array] : pages) {
      if (array) continue;
      key.page_rows.push_back(table->pages[page].row_count);
      const Status added =
          bytes.AddPage(read[next++], column->max_repetition_level() > 0,
                        key.page_rows.back());
      if (!added.ok()) return added.With(NameOf(*metadata_, leaf));
    }
    (*out)[key].push_back(std::move(bytes));
  }
  return {};
}

Status ParquetFile::LoadPages(int group, Wanted* wanted) {
  std::map<PageGroup, std::vector<LeafPages>> groups;
  ROWFS_RETURN_IF_ERROR(FetchPages(group, *wanted, &groups));
  for (const auto& [key, leaves] : groups) {
    uint64_t rows = 0;
    for (const uint64_t page_rows : key.page_rows) rows += page_rows;
    ROWFS_ASSIGN_OR_RETURN(
        const std::vector<Array> arrays,
        DecodePages(*metadata_, ArrowProperties(),
                    static_cast<arrow::Compression::type>(key.codec), rows,
                    leaves));
    for (size_t i = 0; i < leaves.size(); ++i) {
      uint64_t begin = 0;
      size_t next = 0;
      for (auto& [page, array] : (*wanted)[leaves[i].leaf]) {
        if (array) continue;
        const uint64_t count = key.page_rows[next++];
        array = std::make_shared<const Array>(
            count == rows ? arrays[i] : SliceArray(arrays[i], begin, count));
        begin += count;
        cache_->Put({number_, static_cast<uint32_t>(group),
                     static_cast<uint32_t>(leaves[i].leaf), page},
                    array);
      }
    }
  }
  for (auto& [leaf, pages] : *wanted) {
    if (!HasNull(pages)) continue;
    ROWFS_RETURN_IF_ERROR(DecodeStretches(group, leaf, &pages));
  }
  return {};
}

// The wanted rows of one leaf, out of its pages.
Result<Array> ParquetFile::GatherRows(const PageTable& table,
                                      const Pages& pages,
                                      std::span<const uint64_t> rows) {
  std::vector<Array> parts;
  for (size_t i = 0; i < rows.size();) {
    const size_t page = table.Find(rows[i]);
    const PageSpan& span = table.pages[page];
    std::vector<uint64_t> places;
    for (; i < rows.size() && rows[i] < span.first_row + span.row_count; ++i) {
      places.push_back(rows[i] - span.first_row);
    }
    const Array& values = *pages.at(page);
    if (places.back() >= values.length) {
      return Status(Code::kCorruption, "a page with too few rows");
    }
    parts.push_back(TakeArray(values, places));
  }
  if (parts.size() == 1) return std::move(parts[0]);
  return ConcatArrays(parts);
}

Result<std::vector<Array>> ParquetFile::TakeFromGroup(
    int group, std::span<const uint64_t> rows, std::span<const size_t> fields) {
  const std::vector<int> leaves = LeavesOf(fields);
  ROWFS_RETURN_IF_ERROR(FindPages(group, leaves));
  Wanted wanted;
  for (const int leaf : leaves) {
    const auto table = TableOf(group, leaf);
    for (const uint64_t row : rows) {
      const size_t page = table->Find(row);
      auto& array = wanted[leaf][page];
      if (array) continue;
      array = cache_->Find({number_, static_cast<uint32_t>(group),
                            static_cast<uint32_t>(leaf), page});
    }
  }
  ROWFS_RETURN_IF_ERROR(LoadPages(group, &wanted));
  std::vector<Array> columns;
  for (const size_t field : fields) {
    std::vector<Array> parts;
    for (const int leaf : field_leaves_[field]) {
      ROWFS_ASSIGN_OR_RETURN(
          parts.emplace_back(),
          GatherRows(*TableOf(group, leaf), wanted.at(leaf), rows));
    }
    const TypePtr& type = schema_.fields[field].type;
    if (parts.empty() || parts.size() != CountLeaves(*type)) {
      return Status(Code::kUnsupported,
                    schema_.fields[field].name + ": a column without values");
    }
    ROWFS_ASSIGN_OR_RETURN(columns.emplace_back(), MergeLeaves(type, parts));
  }
  return columns;
}

Result<std::vector<Array>> ParquetFile::Take(std::span<const uint64_t> rows,
                                             std::span<const size_t> fields) {
  const std::string what = reader_->uri();
  return Guarded(what, [&]() -> Result<std::vector<Array>> {
    std::vector<std::vector<Array>> parts(fields.size());
    for (size_t i = 0; i < rows.size();) {
      const auto after =
          std::upper_bound(group_rows_.begin(), group_rows_.end(), rows[i]);
      const auto group = static_cast<size_t>(after - group_rows_.begin()) - 1;
      std::vector<uint64_t> local;
      for (; i < rows.size() && rows[i] < group_rows_[group + 1]; ++i) {
        local.push_back(rows[i] - group_rows_[group]);
      }
      Result<std::vector<Array>> taken =
          TakeFromGroup(static_cast<int>(group), local, fields);
      if (!taken.ok()) return taken.status().With(what);
      for (size_t c = 0; c < fields.size(); ++c) {
        parts[c].push_back(std::move(taken.value()[c]));
      }
    }
    std::vector<Array> columns;
    for (size_t c = 0; c < fields.size(); ++c) {
      if (parts[c].empty()) {
        columns.push_back(NullArray(schema_.fields[fields[c]].type, 0));
        continue;
      }
      ROWFS_ASSIGN_OR_RETURN(columns.emplace_back(), ConcatArrays(parts[c]));
    }
    return columns;
  });
}

}  // namespace rowfs
