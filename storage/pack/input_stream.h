// Bytes that come in order: a file as it is, or what a gzip, bzip2 or xz file
// holds.
//
// One thread.
#ifndef ROWFS_STORAGE_PACK_INPUT_STREAM_H_
#define ROWFS_STORAGE_PACK_INPUT_STREAM_H_

#include <memory>
#include <string>

#include "storage/base/bytes.h"

namespace rowfs {

class InputStream {
 public:
  virtual ~InputStream() = default;
  // Fills `out` as far as there are bytes; fewer only at the end.
  virtual Result<size_t> Read(MutableByteSpan out) = 0;
  // Bytes of the file read so far, for progress.
  virtual uint64_t file_position() const = 0;
};

// The file at `path`, decompressed when its first bytes say so. Memory: some
// 100 KiB, and what xz asks for, up to 1 GiB. kCorruption, at Read, for
// compressed data that is none; a compressed stream that is cut just ends.
Result<std::unique_ptr<InputStream>> OpenInputStream(const std::string& path);

}  // namespace rowfs
#endif  // ROWFS_STORAGE_PACK_INPUT_STREAM_H_
