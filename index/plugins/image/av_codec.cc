#include "index/plugins/image/av_codec.h"

extern "C" {
#include <libavcodec/avcodec.h>
#include <libavutil/imgutils.h>
#include <libavutil/log.h>
#include <libswscale/swscale.h>
}

#include <cstring>
#include <memory>
#include <string>

namespace rowfs::plugin {
namespace {

constexpr int64_t kPixelsMax = int64_t{1} << 28;

struct Free {
  void operator()(AVCodecContext* c) const { avcodec_free_context(&c); }
  void operator()(AVFrame* f) const { av_frame_free(&f); }
  void operator()(AVPacket* p) const { av_packet_free(&p); }
  void operator()(SwsContext* s) const { sws_freeContext(s); }
};
template <typename T>
using Ptr = std::unique_ptr<T, Free>;

Result<Ptr<AVCodecContext>> OpenCodec(const char* name) {
  av_log_set_level(AV_LOG_QUIET);
  const AVCodec* codec = avcodec_find_decoder_by_name(name);
  if (codec == nullptr) {
    return Unsupported(std::string("libav has no decoder ") + name);
  }
  Ptr<AVCodecContext> context(avcodec_alloc_context3(codec));
  if (context == nullptr) return Limit("out of memory");
  context->thread_count = 1;
  context->max_pixels = kPixelsMax;
  context->err_recognition = AV_EF_EXPLODE;
  if (avcodec_open2(context.get(), codec, nullptr) < 0) {
    return Unsupported(std::string("libav cannot open ") + name);
  }
  return context;
}

Result<Ptr<AVFrame>> DecodeFrame(AVCodecContext* context, ByteSpan bytes) {
  Ptr<AVPacket> packet(av_packet_alloc());
  Ptr<AVFrame> frame(av_frame_alloc());
  if (packet == nullptr || frame == nullptr || bytes.size() > INT32_MAX / 2 ||
      av_new_packet(packet.get(), static_cast<int>(bytes.size())) < 0) {
    return Limit("out of memory");
  }
  std::memcpy(packet->data, bytes.data(), bytes.size());
  if (avcodec_send_packet(context, packet.get()) < 0 ||
      avcodec_send_packet(context, nullptr) < 0 ||
      avcodec_receive_frame(context, frame.get()) < 0) {
    return Corrupt(std::string("libav (") + context->codec->name +
                   "): cannot decode it");
  }
  return frame;
}

AVPixelFormat FormatOf(uint8_t colors, SampleType type) {
  const bool deep = type == SampleType::kU16;
  if (colors == 1) return deep ? AV_PIX_FMT_GRAY16LE : AV_PIX_FMT_GRAY8;
  return deep ? AV_PIX_FMT_RGB48LE : AV_PIX_FMT_RGB24;
}

}  // namespace

void WarmUpAv() {
  for (const char* name :
       {"bmp", "ppm", "pgm", "pbm", "pam", "jpegls", "mjpeg"}) {
    (void)OpenCodec(name);
  }
}

Result<Raster> DecodeAv(const char* codec, ByteSpan bytes, uint8_t colors,
                        SampleType type) {
  PLUGIN_ASSIGN_OR_RETURN(const Ptr<AVCodecContext> context, OpenCodec(codec));
  PLUGIN_ASSIGN_OR_RETURN(const Ptr<AVFrame> frame,
                          DecodeFrame(context.get(), bytes));
  if (frame->width <= 0 || frame->height <= 0) {
    return Corrupt("libav gave no picture");
  }
  PLUGIN_ASSIGN_OR_RETURN(
      Raster out,
      MakeRaster(static_cast<uint32_t>(frame->width),
                 static_cast<uint32_t>(frame->height), colors, type));
  const AVPixelFormat wanted = FormatOf(colors, type);
  uint8_t* planes[4] = {out.samples.data()};
  int strides[4] = {static_cast<int>(out.stride())};
  if (frame->format == wanted) {
    av_image_copy_plane(planes[0], strides[0], frame->data[0],
                        frame->linesize[0], strides[0], frame->height);
    return out;
  }
  const Ptr<SwsContext> scaler(sws_getContext(
      frame->width, frame->height, static_cast<AVPixelFormat>(frame->format),
      frame->width, frame->height, wanted,
      SWS_POINT | SWS_ACCURATE_RND | SWS_FULL_CHR_H_INT | SWS_BITEXACT, nullptr,
      nullptr, nullptr));
  if (scaler == nullptr) return Unsupported("libav cannot convert its colors");
  if (frame->color_range == AVCOL_RANGE_UNSPECIFIED || colors == 1) {
    // Pictures use the full range.
    const int* table = sws_getCoefficients(SWS_CS_ITU601);
    sws_setColorspaceDetails(scaler.get(), table, 1, table, 1, 0, 1 << 16,
                             1 << 16);
  }
  // A margin: swscale writes whole vectors.
  const size_t size = out.samples.size();
  out.samples.resize(size + 64);
  planes[0] = out.samples.data();
  sws_scale(scaler.get(), frame->data, frame->linesize, 0, frame->height,
            planes, strides);
  out.samples.resize(size);
  return out;
}

}  // namespace rowfs::plugin
