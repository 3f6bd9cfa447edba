// Where the messages of an Arrow IPC file or stream lie, and how many rows each
// record batch has (Arrow columnar format, "Serialization and IPC"). Reads the
// few fields of the flatbuffers that this takes.
//
// Pure but for ReadIpcIndex; thread-safe.
#ifndef ROWFS_STORAGE_PARQUET_IPC_INDEX_H_
#define ROWFS_STORAGE_PARQUET_IPC_INDEX_H_

#include <cstdint>
#include <vector>

#include "storage/read/object_reader.h"

namespace rowfs {

struct IpcMessage {
  ByteRange metadata;  // the flatbuffer
  ByteRange body;
  uint64_t row_count = 0;   // of a record batch
  bool compressed = false;  // each buffer of a record batch by itself

  // The message as it stands in a stream, its prefix included.
  uint64_t begin = 0;
};

struct IpcIndex {
  // In a stream a batch sees the dictionaries before it, in a file all.
  bool is_stream = false;
  IpcMessage schema;
  std::vector<IpcMessage> dictionaries;
  std::vector<IpcMessage> batches;
};

// What the flatbuffer `metadata` of a message says. kCorruption when it is
// damaged.
struct IpcHead {
  enum class Kind : uint8_t { kSchema = 1, kDictionary = 2, kBatch = 3 };
  Kind kind = Kind::kSchema;
  uint64_t body_size = 0;
  uint64_t row_count = 0;
  bool compressed = false;
};
Result<IpcHead> ParseIpcHead(ByteSpan metadata);

// The blocks of a file's footer: {offset, metadata size, body size}.
struct IpcBlock {
  uint64_t offset = 0;
  uint64_t metadata_size = 0;  // prefix included
  uint64_t body_size = 0;
};
struct IpcFooter {
  std::vector<IpcBlock> dictionaries;
  std::vector<IpcBlock> batches;
};
Result<IpcFooter> ParseIpcFooter(ByteSpan footer);

// The index of a file ("ARROW1" at both ends): its footer, then the heads of
// all batches in one go. Of a stream: one small read a message. kCorruption
// when it is neither, or cut off inside a message.
Result<IpcIndex> ReadIpcIndex(const ObjectReader& reader);

}  // namespace rowfs
#endif  // ROWFS_STORAGE_PARQUET_IPC_INDEX_H_
