// The header before each page of a Parquet column chunk: as much of it as is
// needed to step from page to page without decoding any (parquet.thrift, Thrift
// compact protocol).
//
// Pure, thread-safe.
#ifndef ROWFS_STORAGE_PARQUET_PAGE_HEADER_H_
#define ROWFS_STORAGE_PARQUET_PAGE_HEADER_H_

#include <cstdint>
#include <optional>

#include "storage/base/bytes.h"

namespace rowfs {

struct PageHeader {
  enum class Kind : uint8_t { kData, kIndex, kDictionary, kDataV2, kOther };

  Kind kind = Kind::kOther;
  uint64_t header_size = 0;
  uint64_t compressed_size = 0;       // of what follows the header
  uint64_t value_count = 0;           // nulls and empty lists included
  std::optional<uint64_t> row_count;  // kDataV2

  uint64_t size() const { return header_size + compressed_size; }
  bool is_data() const { return kind == Kind::kData || kind == Kind::kDataV2; }
};

// The header at the start of `bytes`, which may go on behind it. kOutOfRange
// when they end inside the header (try again with more), kCorruption when it is
// none.
Result<PageHeader> ParsePageHeader(ByteSpan bytes);

}  // namespace rowfs
#endif  // ROWFS_STORAGE_PARQUET_PAGE_HEADER_H_
