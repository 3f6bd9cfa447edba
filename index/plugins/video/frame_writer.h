// The files of decoded frames, made beside the decoding of the next ones where
// there is a second processor, and given to the host in the order they came.
//
// One thread at a time.
#ifndef ROWFS_INDEX_PLUGINS_VIDEO_FRAME_WRITER_H_
#define ROWFS_INDEX_PLUGINS_VIDEO_FRAME_WRITER_H_

#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "index/abi/rowfs_plugin.h"
#include "index/plugins/common/beside.h"
#include "index/plugins/common/status.h"
#include "index/plugins/video/render.h"

namespace rowfs::plugin {

class FrameWriter {
 public:
  using Renderers = std::array<Renderer, Beside::kLanes>;

  // Both outlive the writer.
  FrameWriter(Renderers* renderers, const rowfs_output_sink& out)
      : renderers_(*renderers), out_(out) {}

  // Make `item`. What is ready by now goes to the host; its refusal is what
  // this and Finish return.
  Status Add(size_t item, RenderRequest request);
  // Say that `item` cannot be made, and why.
  void Fail(size_t item, Status why);
  // Until all is made and given.
  Status Finish();

 private:
  struct File {
    size_t item = 0;
    RenderRequest request;
    std::vector<Bytes> parts;
    std::vector<Status> results;  // of each part
    std::atomic<size_t> missing{0};
  };

  Status GiveReady();
  Status Give(File* file);

  Renderers& renderers_;
  const rowfs_output_sink& out_;
  std::deque<std::shared_ptr<File>> files_;  // not given yet
  Beside beside_;  // last: its tasks use what is above
};

}  // namespace rowfs::plugin
#endif  // ROWFS_INDEX_PLUGINS_VIDEO_FRAME_WRITER_H_
