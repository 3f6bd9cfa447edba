// Owning pointers for the libav types that plugins use, and its error texts.
//
// No state of its own; the libraries' log is silenced by SilenceLibav.
#ifndef ROWFS_INDEX_PLUGINS_COMMON_LIBAV_H_
#define ROWFS_INDEX_PLUGINS_COMMON_LIBAV_H_

extern "C" {
#include <libavcodec/avcodec.h>
#include <libavcodec/bsf.h>
#include <libavformat/avformat.h>
}

#include <memory>
#include <string>

#include "index/plugins/common/bytes.h"

namespace rowfs::plugin {

struct AvFree {
  void operator()(AVPacket* p) const { av_packet_free(&p); }
  void operator()(AVFrame* f) const { av_frame_free(&f); }
  void operator()(AVCodecContext* c) const { avcodec_free_context(&c); }
  void operator()(AVCodecParameters* p) const { avcodec_parameters_free(&p); }
};
using PacketPtr = std::unique_ptr<AVPacket, AvFree>;
using FramePtr = std::unique_ptr<AVFrame, AvFree>;
using CodecPtr = std::unique_ptr<AVCodecContext, AvFree>;
using ParametersPtr = std::unique_ptr<AVCodecParameters, AvFree>;

// Throw std::bad_alloc when there is no memory.
PacketPtr NewPacket();
FramePtr NewFrame();
// Another reference to the same samples.
FramePtr ShareFrame(const AVFrame& frame);
// The same samples in memory of its own.
FramePtr CopyFrame(const AVFrame& frame);

// Give `parameters`, which has none, a copy of `bytes` as extradata. False
// when there is no memory.
bool SetExtradata(ByteSpan bytes, AVCodecParameters* parameters);

// "Invalid data found when processing input"
std::string AvError(int code);

// Nothing is printed by the libraries from now on.
void SilenceLibav();

}  // namespace rowfs::plugin
#endif  // ROWFS_INDEX_PLUGINS_COMMON_LIBAV_H_
