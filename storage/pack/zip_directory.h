// From a zip's directory to its table of members, with everything that can be
// told about a member without touching it.
//
// Pure apart from reads through `reader`; thread-safe.
#ifndef ROWFS_STORAGE_PACK_ZIP_DIRECTORY_H_
#define ROWFS_STORAGE_PACK_ZIP_DIRECTORY_H_

#include <string>

#include "storage/pack/member_table.h"
#include "storage/read/object_reader.h"

namespace rowfs {

struct ZipContents {
  MemberTable members;
  uint64_t directory_begin = 0;
  // Why the list may not be whole; empty when it is.
  std::string damage;
};

// Read the directory of `reader`, whose tail is `tail`. kCorruption when there
// is none. An entry that does not parse ends the list: `damage` says so.
// Memory: 16 bytes a member beside the result, where members are out of order.
Result<ZipContents> ReadZipDirectory(const ObjectReader& reader, ByteSpan tail);

}  // namespace rowfs
#endif  // ROWFS_STORAGE_PACK_ZIP_DIRECTORY_H_
