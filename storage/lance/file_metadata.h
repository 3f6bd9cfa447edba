// The framing of a data file: footer, column metadata, where its pages' buffers
// are. What every file version from 2.0 to 2.3 has in common.
//
// Values; thread-safe to read.
#ifndef ROWFS_STORAGE_LANCE_FILE_METADATA_H_
#define ROWFS_STORAGE_LANCE_FILE_METADATA_H_

#include <cstdint>
#include <string>
#include <vector>

#include "storage/lance/file_reader.h"
#include "storage/lance/schema.h"
#include "storage/read/object_reader.h"

namespace rowfs {

inline constexpr uint64_t kLanceFooterBytes = 40;
inline constexpr uint64_t kLanceTailBytes = 64 << 10;

// One page: where its buffers are (absolute, inside the file), how many rows it
// holds, and its encoding as a type URL and an undecoded message.
struct PageMetadata {
  std::vector<ByteRange> buffers;
  uint64_t row_count = 0;
  uint64_t first_row = 0;  // in the column
  std::string type_url;
  std::string encoding;
};

struct ColumnPages {
  std::vector<PageMetadata> pages;
  std::vector<ByteRange> buffers;  // of the column itself; 2.0 only
  bool blob = false;               // 2.0: pages of descriptors
  uint64_t row_count = 0;          // sum over the pages
};

struct FileMetadata {
  LanceFileVersion version;
  uint64_t row_count = 0;
  LanceSchema schema;  // empty when it holds types we do not know
  std::vector<ColumnPages> columns;
  std::vector<ByteRange> global_buffers;
};

// Read it: at most two requests, one when all of it is in the last 64 KiB.
// Every range in the result lies inside the file.
Result<FileMetadata> ReadFileMetadata(const ObjectReader& reader);

}  // namespace rowfs
#endif  // ROWFS_STORAGE_LANCE_FILE_METADATA_H_
