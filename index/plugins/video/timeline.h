// Timestamps as they come out of a demuxer, made usable: one clock that never
// jumps back, decoding times that strictly increase.
//
// One thread at a time.
#ifndef ROWFS_INDEX_PLUGINS_VIDEO_TIMELINE_H_
#define ROWFS_INDEX_PLUGINS_VIDEO_TIMELINE_H_

#include <cstdint>
#include <vector>

#include "index/plugins/common/libav.h"
#include "index/plugins/video/media_index.h"

namespace rowfs::plugin {

class Timeline {
 public:
  // Only formats without a global clock (transport and program streams) jump:
  // files put together by `cat` start again at the first clock.
  explicit Timeline(const AVFormatContext& format);

  // Shift the times of `packet`, the next of its stream, by the jumps so far.
  void Shift(AVPacket* packet);

 private:
  const AVFormatContext& format_;
  bool jumps_;
  int64_t shift_us_ = 0;
  std::vector<int64_t>
      last_us_;  // per stream, shifted; AV_NOPTS_VALUE at first
};

// Fill in what the container left open and make `dts` strictly increase.
// `pts` of packets without one are set to dts; ticks are clamped to
// [-kTicksMax, kTicksMax].
void AppendRepaired(const AVPacket& packet, std::vector<Packet>* packets,
                    Packet next);

}  // namespace rowfs::plugin
#endif  // ROWFS_INDEX_PLUGINS_VIDEO_TIMELINE_H_
