#include "index/plugins/video/timeline.h"

extern "C" {
#include <libavutil/mathematics.h>
}

#include <algorithm>

namespace rowfs::plugin {
namespace {

constexpr AVRational kMicroseconds{1, 1'000'000};
// As players do: a step back of a second or forward of ten is a new clock.
constexpr int64_t kBackUs = 1'000'000;
constexpr int64_t kForwardUs = 10'000'000;

int64_t ClampTicks(int64_t v) { return std::clamp(v, -kTicksMax, kTicksMax); }

}  // namespace

Timeline::Timeline(const AVFormatContext& format)
    : format_(format),
      jumps_((format.iformat->flags & AVFMT_TS_DISCONT) != 0),
      last_us_(format.nb_streams, AV_NOPTS_VALUE) {}

void Timeline::Shift(AVPacket* packet) {
  const size_t stream = static_cast<size_t>(packet->stream_index);
  if (!jumps_ || packet->dts == AV_NOPTS_VALUE) return;
  // A program stream may show new streams on the way.
  if (stream >= last_us_.size()) last_us_.resize(stream + 1, AV_NOPTS_VALUE);
  const AVRational base = format_.streams[stream]->time_base;
  int64_t now = av_rescale_q(packet->dts, base, kMicroseconds) + shift_us_;
  const int64_t duration =
      std::max<int64_t>(0, av_rescale_q(packet->duration, base, kMicroseconds));
  if (last_us_[stream] != AV_NOPTS_VALUE &&
      (now < last_us_[stream] - kBackUs ||
       now > last_us_[stream] + kForwardUs)) {
    const int64_t expected = last_us_[stream] + duration;
    shift_us_ += expected - now;
    now = expected;
  }
  last_us_[stream] = now;
  if (shift_us_ == 0) return;
  const int64_t shift = av_rescale_q(shift_us_, kMicroseconds, base);
  packet->dts += shift;
  if (packet->pts != AV_NOPTS_VALUE) packet->pts += shift;
}

void AppendRepaired(const AVPacket& packet, std::vector<Packet>* packets,
                    Packet next) {
  next.duration = std::clamp<int64_t>(packet.duration, 0, kTicksMax);
  int64_t dts = packet.dts;
  if (dts == AV_NOPTS_VALUE && packets->empty()) {
    dts = packet.pts == AV_NOPTS_VALUE ? 0 : packet.pts;
  } else if (dts == AV_NOPTS_VALUE) {
    dts = packets->back().dts + std::max<int64_t>(1, packets->back().duration);
  }
  next.dts = ClampTicks(dts);
  if (!packets->empty() && next.dts <= packets->back().dts) {
    next.dts = packets->back().dts + 1;
  }
  next.pts = packet.pts == AV_NOPTS_VALUE ? next.dts : ClampTicks(packet.pts);
  packets->push_back(next);
}

}  // namespace rowfs::plugin
