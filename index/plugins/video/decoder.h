// One libavcodec video decoder, fed packets by number, giving frames that carry
// the number of their packet.
//
// One thread at a time; starts no threads.
#ifndef ROWFS_INDEX_PLUGINS_VIDEO_DECODER_H_
#define ROWFS_INDEX_PLUGINS_VIDEO_DECODER_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "index/plugins/common/bytes.h"
#include "index/plugins/common/libav.h"
#include "index/plugins/common/status.h"
#include "index/plugins/video/media_index.h"

namespace rowfs::plugin {

struct DecodedFrame {
  int64_t ordinal = -1;  // of the packet it comes from
  bool corrupt = false;  // the decoder had to make something up
  FramePtr frame;
};

class VideoDecoder {
 public:
  // For the stream as the container described it; shows what a player shows.
  static Result<std::unique_ptr<VideoDecoder>> OpenSequential(
      const AVStream& stream);
  // For packets [key, target] of a planned start, with version `extradata` of
  // the stream's extradata. Withholds nothing: the plan is known to be clean.
  static Result<std::unique_ptr<VideoDecoder>> OpenPlanned(const Stream& stream,
                                                           uint16_t extradata);

  // Decode `packet`, whose data it takes over or copies. False when the
  // decoder did not like it (it goes on with the next one).
  bool Send(int64_t ordinal, AVPacket* packet);
  bool SendBytes(int64_t ordinal, ByteSpan data);
  // Parameters change with the next packet.
  void ChangeExtradata(ByteSpan extradata);
  // The next frame that is ready; nullopt when the decoder wants packets.
  std::optional<DecodedFrame> Receive();
  // Make the decoder give one frame it holds back for reordering while its
  // references stay: it can be fed on afterwards. False when this decoder
  // cannot; then only Drain gets its last frames.
  bool Pop();
  // Make it give all it holds; afterwards it takes no packets until Flush.
  void Drain();
  void Flush();

 private:
  explicit VideoDecoder(CodecPtr context)
      : context_(std::move(context)), packet_(NewPacket()) {}
  static Result<std::unique_ptr<VideoDecoder>> Open(
      const AVCodecParameters& parameters, AVRational time_base, int flags);

  CodecPtr context_;
  PacketPtr packet_;
  Bytes extradata_;  // to go with the next packet
};

// 64-bit hash of the visible pixels of all planes, their format and size.
uint64_t HashFrame(const AVFrame& frame);
size_t FrameBytes(const AVFrame& frame);

}  // namespace rowfs::plugin
#endif  // ROWFS_INDEX_PLUGINS_VIDEO_DECODER_H_
