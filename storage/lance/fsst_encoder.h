// FSST (Boncz, Neumann, Leis: "FSST: Fast Random Access String Compression"): a
// table of at most 255 symbols of 1 to 8 bytes; a string becomes one code a
// symbol, bytes that no symbol covers are escaped. Every string can be decoded
// alone.
//
// Pure functions; thread-safe.
#ifndef ROWFS_STORAGE_LANCE_FSST_ENCODER_H_
#define ROWFS_STORAGE_LANCE_FSST_ENCODER_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "storage/base/bytes.h"

namespace rowfs {

struct FsstStrings {
  std::string table;  // as the page's encoding carries it: 2312 bytes
  Bytes data;
  std::vector<uint64_t> ends;
};

// Compress strings that lie one behind the other in `data`, each up to its
// `ends`. The table is learned from a sample of them; same input, same output.
FsstStrings EncodeFsst(ByteSpan data, std::span<const uint64_t> ends);

}  // namespace rowfs
#endif  // ROWFS_STORAGE_LANCE_FSST_ENCODER_H_
