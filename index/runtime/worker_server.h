// The worker's side of protocol.h: answers requests with a PluginHost until the
// parent goes away.
//
// One thread.
#ifndef ROWFS_INDEX_RUNTIME_WORKER_SERVER_H_
#define ROWFS_INDEX_RUNTIME_WORKER_SERVER_H_

#include <vector>

#include "index/runtime/channel.h"
#include "index/runtime/plugin_callbacks.h"
#include "index/runtime/plugin_host.h"
#include "index/runtime/protocol.h"

namespace rowfs {

// Writes pieces of items into the output region and tells the parent about
// them: at the latest when the region is full, then waiting until it has copied
// them.
class AnswerWriter final : public OutputSink {
 public:
  AnswerWriter(int socket, MutableByteSpan region)
      : socket_(socket), region_(region) {}

  // kUnavailable when the parent is gone.
  Status Write(size_t item, ByteSpan bytes) override;
  Status Fail(size_t item, const Status& error) override;
  // Hand over what is there and the result of the call; ready for the next one.
  Status Finish(const Status& result);
  // Hand over what is there, so that the parent sees progress.
  Status Flush();
  size_t pending_bytes() const { return used_; }

 private:
  Status SendChunks(bool last, const Status& result);

  const int socket_;
  const MutableByteSpan region_;
  size_t used_ = 0;
  std::vector<OutputChunk> chunks_;
  Bytes buffer_;
};

class WorkerServer {
 public:
  // `socket` and the descriptors of the regions are borrowed. The output region
  // stays mapped.
  static Result<WorkerServer> Open(PluginHost* host, int socket, int input_fd,
                                   int output_fd);

  // Answer requests until the parent closes the socket (OK) or breaks the
  // protocol, or until this process has used up its CPU time (OK).
  Status Serve();

 private:
  WorkerServer(PluginHost* host, int socket, int input_fd)
      : host_(*host), socket_(socket), input_fd_(input_fd) {}

  Status Answer(const ParentMessage& message);
  Status Run(const WorkerRequest& request, AnswerWriter* out);
  Status RunWithIndex(const WorkerRequest& request, const PluginIndex& index,
                      AnswerWriter* out);
  Status RunDecodeFrom(const WorkerRequest& request, const PluginIndex& index,
                       AnswerWriter* out);
  Status RunDecode(const WorkerRequest& request, const PluginIndex& index,
                   AnswerWriter* out);
  Status RunIngest(const WorkerRequest& request, AnswerWriter* out);
  // The first `size` bytes of the input region.
  Result<ByteSpan> Input(uint64_t size);

  PluginHost& host_;
  const int socket_;
  const int input_fd_;
  SharedRegion input_;
  SharedRegion output_;
};

}  // namespace rowfs
#endif  // ROWFS_INDEX_RUNTIME_WORKER_SERVER_H_
