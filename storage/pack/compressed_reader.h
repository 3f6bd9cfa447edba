// Random access to a compressed stream: deflate, gzip (any number of members)
// or zstd (any number of frames). While it decodes it notes points from which
// it can go on later, so that a read far inside does not begin at the front;
// zstd only at frames, since a frame cannot be entered in the middle.
//
// Thread-safe; readers do not wait for one another while decoding.
#ifndef ROWFS_STORAGE_PACK_COMPRESSED_READER_H_
#define ROWFS_STORAGE_PACK_COMPRESSED_READER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "storage/base/bytes.h"
#include "storage/base/sync.h"

namespace rowfs {

enum class Compression { kDeflate, kGzip, kZstd };

// A point to go on from.
struct Checkpoint {
  uint64_t in = 0;   // of the compressed bytes
  uint64_t out = 0;  // of the content
  uint8_t bits = 0;  // deflate: bits of byte in - 1 that are still to come
  Bytes window;      // deflate: the content before `out`, 32 KiB at most
};

class CompressedReader {
 public:
  // Fills `out` with the compressed bytes from `offset` on.
  using Source = std::function<Status(uint64_t offset, MutableByteSpan out)>;
  struct Options {
    Compression compression = Compression::kDeflate;
    uint64_t compressed_bytes = 0;
    std::string what;  // for errors
    // Of the content: checked by a reader that gets from end to end.
    std::optional<uint64_t> content_bytes;
    std::optional<uint32_t> crc;
    // Compressed bytes asked for at once.
    uint64_t chunk_bytes = 256 << 10;
    std::vector<Checkpoint> checkpoints;  // of an earlier reader
  };
  CompressedReader(Source source, Options options);
  ~CompressedReader();
  CompressedReader(const CompressedReader&) = delete;
  CompressedReader& operator=(const CompressedReader&) = delete;

  // Read up to out.size() bytes of the content from `offset` on; fewer only
  // where it ends. kCorruption, naming what is wrong, when it does not decode.
  Result<size_t> ReadUpTo(uint64_t offset, MutableByteSpan out) EXCLUDES(mu_);

  std::vector<Checkpoint> checkpoints() const EXCLUDES(mu_);

 private:
  class Stream;

  std::unique_ptr<Stream> TakeStream(uint64_t offset) EXCLUDES(mu_);
  void GiveBack(std::unique_ptr<Stream> stream) EXCLUDES(mu_);
  void Note(Checkpoint point) EXCLUDES(mu_);

  const Source source_;
  const Options options_;
  mutable Mutex mu_;
  std::vector<std::unique_ptr<Stream>> idle_ GUARDED_BY(mu_);  // oldest first
  std::vector<Checkpoint> checkpoints_ GUARDED_BY(mu_);        // by offset
  uint64_t span_ GUARDED_BY(mu_);  // content between two points, at least
};

}  // namespace rowfs
#endif  // ROWFS_STORAGE_PACK_COMPRESSED_READER_H_
