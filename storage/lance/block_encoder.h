// Block encodings: levels of a mini-block page, chunk by chunk with one
// description for all, and dictionaries.
//
// Pure functions; thread-safe.
#ifndef ROWFS_STORAGE_LANCE_BLOCK_ENCODER_H_
#define ROWFS_STORAGE_LANCE_BLOCK_ENCODER_H_

#include <cstdint>
#include <span>
#include <vector>

#include "storage/base/bytes.h"
#include "storage/lance/encodings.pb.h"

namespace rowfs {

struct LevelBlocks {
  lance::pb::CompressiveEncoding encoding;
  std::vector<Bytes> blocks;
};

// Encode each chunk of levels: raw, packed or runs, whatever is smallest over
// all of them.
LevelBlocks EncodeLevels(std::span<const std::span<const uint16_t>> chunks);

struct EncodedBlock {
  lance::pb::CompressiveEncoding encoding;
  Bytes bytes;
};

// 64-bit numbers, packed where that is smaller; the second form, of increasing
// ones, by their differences (2.3 only). Requires: not empty.
EncodedBlock EncodeNumbers(std::span<const uint64_t> values);
EncodedBlock EncodeIncreasing(std::span<const uint64_t> values);

// Strings (`ends` of the values in `data`) as a dictionary, LZ4.
EncodedBlock EncodeVariableBlock(ByteSpan data, std::span<const uint64_t> ends,
                                 uint32_t offset_bits);
// Values of `bits` bits as a dictionary, LZ4.
EncodedBlock EncodeFixedBlock(ByteSpan data, uint64_t bits);

// Words of `word_bits` bits packed to `bits` each, as AppendPacked does.
lance::pb::CompressiveEncoding PackedEncoding(uint32_t word_bits,
                                              unsigned bits);

// One value compressed for itself: ZSTD behind its raw size.
Bytes CompressValue(ByteSpan value);

}  // namespace rowfs
#endif  // ROWFS_STORAGE_LANCE_BLOCK_ENCODER_H_
