// ExtractFrame of Lance discussion #8739: frames of a blob with blob_info, by
// number, time or window. Strict: a blob without blob_info is an error.
//
// Thread-safe.
#ifndef ROWFS_INDEX_VIEW_EXTRACT_FRAME_H_
#define ROWFS_INDEX_VIEW_EXTRACT_FRAME_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "index/view/media.h"

namespace rowfs {

// Exactly one of frame, time, and from with to.
struct FrameRequest {
  size_t column = 0;  // in Dataset::columns()
  uint64_t row = 0;
  std::optional<uint64_t> frame;    // 0-based, presentation order
  std::optional<std::string> time;  // seconds or hh:mm:ss.mmm
  std::optional<std::string> from;  // window [from, to)
  std::optional<std::string> to;
  bool keyframes = false;      // of a window: key frames only
  std::string format = "jpg";  // the extension that picks the encoding
};

struct ExtractedFrame {
  std::string name;  // "000012.jpg"
  std::shared_ptr<const ViewFile> file;
};

struct ExtractedFrames {
  std::vector<ExtractedFrame> frames;
  ViewTimes times;
};

// Costs one projection of descriptor and index, then one range request of
// exactly [key frame .. target] a frame; frames of one GOP share it.
// kInvalidArgument: not a blob column, a null cell, no blob_info. kNotFound: no
// such frame, time or window in the media. kOutOfRange: no such row.
Result<ExtractedFrames> ExtractFrame(Dataset& dataset, PluginRegistry& plugins,
                                     const FrameRequest& request);

}  // namespace rowfs
#endif  // ROWFS_INDEX_VIEW_EXTRACT_FRAME_H_
