// Where the pages of a column chunk lie and which rows they hold: from the
// offset index where the file has one, else by stepping over page headers.
//
// Pure but for StepOverPages; thread-safe.
#ifndef ROWFS_STORAGE_PARQUET_PAGE_TABLE_H_
#define ROWFS_STORAGE_PARQUET_PAGE_TABLE_H_

#include <cstdint>
#include <span>
#include <vector>

#include "storage/read/object_reader.h"

namespace rowfs {

struct PageSpan {
  uint64_t first_row = 0;  // in the row group
  uint64_t row_count = 0;
  ByteRange bytes;  // of the file, header included
};

struct PageTable {
  ByteRange dictionary;  // empty: none
  std::vector<PageSpan> pages;
  // The rows of a page could not be told: `pages` are stretches of rows of our
  // own making, without bytes, and the chunk is decoded from its start.
  bool opaque = false;

  // Index of the page that holds `row`. Requires: row < the group's rows.
  size_t Find(uint64_t row) const;
};

// What a page table is made for.
struct ChunkPlace {
  ByteRange bytes;  // of the file
  uint64_t row_count = 0;
  bool repeated = false;  // values are not rows
};

struct PageStart {
  uint64_t offset = 0;
  uint64_t size = 0;
  uint64_t first_row = 0;
};

// From the entries of an offset index. kCorruption when they leave the chunk,
// overlap or do not cover its rows.
Result<PageTable> TableFromIndex(const ChunkPlace& chunk,
                                 std::span<const PageStart> starts);

// By reading the page headers one after the other: one small read a page, a
// chunk of at most 1 MiB in one. Opaque when values are not rows and the pages
// do not say how many rows they hold; kCorruption when a page leaves the chunk
// or the pages do not add up to its rows.
Result<PageTable> StepOverPages(const ObjectReader& reader,
                                const ChunkPlace& chunk);

// Stretches of `rows_each` rows in place of pages.
PageTable OpaqueTable(uint64_t row_count, uint64_t rows_each);

}  // namespace rowfs
#endif  // ROWFS_STORAGE_PARQUET_PAGE_TABLE_H_
