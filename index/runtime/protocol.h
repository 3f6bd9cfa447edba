// What the parent and a worker process say to each other.
//
// Frames are datagrams of a socketpair, at most kFrameBytesMax each. Everything
// large lies in two shared memory regions: the input region (written by the
// parent: arguments, index bytes, ranges of the blob, input of an ingest) and
// the output region (written by the worker: answers, decoded files, payload).
//
//   worker -> parent   Moved, Hello, Ready             once, after the start
//   parent -> worker   Request                         one at a time
//   worker -> parent   UnknownKey                      send it with the index
//                      ReadInput (then Input back)     ingest, decode_from
//                      Chunks (then Continue back)     the region is full
//                      Chunks, last                    the end of the answer
//
// Both sides check every number. Pure functions, thread-safe.
#ifndef ROWFS_INDEX_RUNTIME_PROTOCOL_H_
#define ROWFS_INDEX_RUNTIME_PROTOCOL_H_

#include <cstdint>
#include <string>
#include <vector>

#include "index/runtime/plugin.h"
#include "storage/base/bytes.h"
#include "storage/base/status.h"

namespace rowfs {

inline constexpr size_t kFrameBytesMax = 64 << 10;
inline constexpr uint64_t kInputRegionBytes = uint64_t{1} << 30;
inline constexpr uint64_t kOutputRegionBytes = uint64_t{16} << 20;
inline constexpr uint64_t kReadBytesMax = uint64_t{4} << 20;
inline constexpr size_t kChunksMax = 1024;  // of one frame

// File descriptors of a worker.
inline constexpr int kWorkerSocketFd = 3;
inline constexpr int kWorkerInputFd = 4;
inline constexpr int kWorkerOutputFd = 5;
// How a worker ends when there was no more memory.
inline constexpr int kOutOfMemoryExit = 100;

enum class WorkerOp : uint8_t {
  kProbe = 1,  // texts: file name; parts: head
  kIngest,     // numbers: size, layout, verify, keep_container; texts: file
               // name, config
  kList,       // texts: directory; numbers: start, limit
  kLookup,     // texts: path
  kSelect,     // texts: view, from, to
  kPlan,       // texts: paths
  kDecode,     // numbers: item count; parts: recipe, one per range
  kForesee,    // texts: file name
  kDecodeFrom  // numbers: item count, size of the blob; parts: recipe
};

// Whether calls of this kind refer to an open index.
bool NeedsIndex(WorkerOp op);

// One call. In the input region: the head (EncodeRequestHead), then the parts,
// each starting at a multiple of 16.
struct WorkerRequest {
  WorkerOp op = WorkerOp::kProbe;
  uint64_t key = 0;
  bool has_index = false;  // the parts start with stream_info and entries
  bool has_entries = false;
  uint64_t blob_size = 0;
  std::string config;
  std::vector<uint64_t> numbers;
  std::vector<std::string> texts;
  std::vector<ByteSpan> parts;
};

Bytes EncodeRequestHead(const WorkerRequest& request);
// Where part `i` of `sizes` starts when the head has `head_size` bytes, and at
// sizes.size() the end; kResourceExhausted when that is past the region.
Result<std::vector<uint64_t>> PartOffsets(uint64_t head_size,
                                          std::span<const uint64_t> sizes);
// `region` is as long as the frame says. The parts view `region`.
Result<WorkerRequest> DecodeRequest(ByteSpan region, uint64_t head_size);

// Frames of the parent.
enum class ParentFrame : uint8_t { kRequest = 1, kInput, kContinue };

struct ParentMessage {
  ParentFrame kind = ParentFrame::kContinue;
  uint64_t head_size = 0;  // kRequest
  uint64_t size = 0;       // kRequest: used bytes of the region; kInput: read
  bool failed = false;     // kInput: the input cannot be read
};

Bytes EncodeParentMessage(const ParentMessage& message);
Result<ParentMessage> DecodeParentMessage(ByteSpan frame);

// Frames of the worker.
enum class WorkerFrame : uint8_t {
  kMoved = 1,  // goes on as another child of the parent, `pid`
  kHello,
  kReady,
  kUnknownKey,
  kReadInput,
  kChunks
};

// The next `size` bytes of the output region are a piece of item `item`, or,
// with a `code`, the reason why it failed.
struct OutputChunk {
  uint32_t item = 0;
  Code code = Code::kOk;
  uint32_t size = 0;
};

struct WorkerMessage {
  WorkerFrame kind = WorkerFrame::kReady;
  // kHello: name, version, magic. kReady: what the cage is made of.
  std::string name;
  std::string version;
  std::string magic;
  uint32_t pid = 0;     // kMoved
  uint64_t offset = 0;  // kReadInput
  uint64_t size = 0;
  bool last = false;  // kChunks
  std::vector<OutputChunk> chunks;
  // kHello, kReady: why the worker cannot start. kChunks: result of the call.
  Status status;
};

Bytes EncodeWorkerMessage(const WorkerMessage& message);
// kCorruption for anything a worker of ours would not send.
Result<WorkerMessage> DecodeWorkerMessage(ByteSpan frame);

// Bodies of answers, as item 0.
Bytes EncodeEntries(std::span<const ViewEntry> entries);
Result<std::vector<ViewEntry>> DecodeEntries(ByteSpan body, uint64_t limit);
Bytes EncodePlan(const ViewPlan& plan);
Result<ViewPlan> DecodePlan(ByteSpan body, size_t path_count,
                            uint64_t blob_size);

}  // namespace rowfs
#endif  // ROWFS_INDEX_RUNTIME_PROTOCOL_H_
