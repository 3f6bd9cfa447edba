// One pass over a tar: its members, without reading what is in them where the
// bytes can be skipped.
//
// Pure apart from the reads it asks for.
#ifndef ROWFS_STORAGE_PACK_TAR_SCAN_H_
#define ROWFS_STORAGE_PACK_TAR_SCAN_H_

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "storage/pack/member_table.h"
#include "storage/pack/tar_format.h"

namespace rowfs {

struct TarContents {
  MemberTable members;  // coding kSparse: detail - 1 is its map
  std::vector<SparseMap> maps;
  // Why the list may not be whole; empty when it is.
  std::string damage;
};

// Where a scan reads from.
struct TarInput {
  // Fills `out` from `offset` on; fewer bytes only where the tar ends.
  std::function<Result<size_t>(uint64_t offset, MutableByteSpan out)> read;
  std::optional<uint64_t> size;  // unknown while it is decompressed
  // A gap that is cheaper to read through than to skip: most of it for a
  // stream, little for a local file, latency times bandwidth for a remote one.
  uint64_t gap_bytes = 32 << 10;
  uint64_t chunk_bytes = 1 << 20;
  // Called for each member once it is known, links as they stand; the tar is
  // known up to `bytes`. An error ends the scan. May be null.
  TarObserver found;
};

// Members in the order they stand, also behind zero blocks (concatenated tars);
// links to members of the same tar resolved, folders and devices left out. A
// header that is damaged costs what is up to the next good one. kCorruption
// when there is no member and no end mark: not a tar. Other errors as `read`
// gives them.
Result<TarContents> ScanTar(const TarInput& input, std::string_view what);

}  // namespace rowfs
#endif  // ROWFS_STORAGE_PACK_TAR_SCAN_H_
