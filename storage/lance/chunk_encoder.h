// Turns the values of a page into the chunks of a mini-block page: choose an
// encoding, cut where the chunks end, encode.
//
// Pure functions; thread-safe.
#ifndef ROWFS_STORAGE_LANCE_CHUNK_ENCODER_H_
#define ROWFS_STORAGE_LANCE_CHUNK_ENCODER_H_

#include <cstdint>
#include <span>
#include <vector>

#include "storage/base/bytes.h"
#include "storage/lance/encodings.pb.h"
#include "storage/lance/leaf_page.h"

namespace rowfs {

// The most values in a chunk, and about the most bytes of values.
inline constexpr uint64_t kChunkValuesMax = 4096;
inline constexpr uint64_t kChunkBytesMax = 8186;

struct ValueChunk {
  uint64_t count = 0;           // a power of two >= 2, except in the last one
  std::vector<uint32_t> sizes;  // of this chunk's part of each buffer
};

struct ChunkedValues {
  lance::pb::CompressiveEncoding encoding;
  std::vector<Bytes> buffers;  // chunk after chunk
  std::vector<ValueChunk> chunks;
};

// `count` values of `width` bytes: runs, packed bits or plain, whatever is
// smallest; for widths other than 1, 2, 4 and 8 plain. Requires: count > 0,
// 2 * width < kChunkBytesMax.
ChunkedValues EncodeFixedChunks(ByteSpan values, uint32_t width,
                                uint64_t count);
// Values of `bits` bits each as they are, whatever their width.
ChunkedValues EncodePlainChunks(ByteSpan values, uint64_t bits, uint64_t count);
// Booleans. Requires: count > 0.
ChunkedValues EncodeBitChunks(const BitBuffer& bits);
// Values that are fixed-size lists of the layout's elements.
ChunkedValues EncodeListChunks(const LeafPage& page, const LeafLayout& layout);
// Strings and binaries, offsets of 32 or 64 bits: `ends` of the values in
// `data`. Chunks of about 4 KiB.
ChunkedValues EncodeVariableChunks(ByteSpan data,
                                   std::span<const uint64_t> ends,
                                   uint32_t offset_bits);
// The same with packed lengths in place of the offsets, where that is smaller:
// a form of 2.3 alone.
ChunkedValues EncodePackedVariableChunks(ByteSpan data,
                                         std::span<const uint64_t> ends,
                                         uint32_t offset_bits);

lance::pb::CompressiveEncoding FlatEncoding(uint64_t bits);
lance::pb::CompressiveEncoding VariableEncoding(uint32_t offset_bits);
// The encoding of `dimensions` around flat elements; `validity` says which
// lists carry item validity.
lance::pb::CompressiveEncoding ListEncoding(const LeafPage& page,
                                            const LeafLayout& layout);

}  // namespace rowfs
#endif  // ROWFS_STORAGE_LANCE_CHUNK_ENCODER_H_
