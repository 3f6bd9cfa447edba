// Decodes pages of a column chunk without the rest of it: a footer is made that
// describes these pages and nothing else, and Arrow reads that as a file.
//
// Included by storage/parquet alone. Pure functions, thread-safe.
#ifndef ROWFS_STORAGE_PARQUET_PAGE_DECODER_H_
#define ROWFS_STORAGE_PARQUET_PAGE_DECODER_H_

#include <parquet/metadata.h>
#include <parquet/properties.h>

#include <cstdint>
#include <span>
#include <vector>

#include "storage/table/array.h"

namespace rowfs {

// Pages of one leaf, as they lie in the file.
struct LeafPages {
  int leaf = 0;
  uint64_t dictionary_size = 0;  // 0: none
  uint64_t value_count = 0;
  Bytes bytes;  // the dictionary page, then data pages

  // Append a data page of `rows` rows. kCorruption when its header contradicts
  // its size, or, unless values are `repeated`, the rows.
  Status AddPage(ByteSpan page, bool repeated, uint64_t rows);
};

// The values of `leaves`, all with the same rows and codec, an array each. Of a
// nested column the array has one child at each level, as MergeLeaves wants it.
// Throws what Arrow throws.
// Requires: leaves rise and are of `metadata`'s schema.
Result<std::vector<Array>> DecodePages(
    const parquet::FileMetaData& metadata,
    const parquet::ArrowReaderProperties& properties,
    arrow::Compression::type codec, uint64_t rows,
    std::span<const LeafPages> leaves);

}  // namespace rowfs
#endif  // ROWFS_STORAGE_PARQUET_PAGE_DECODER_H_
