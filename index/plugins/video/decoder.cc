#include "index/plugins/video/decoder.h"

extern "C" {
#include <libavutil/imgutils.h>
#include <libavutil/pixdesc.h>
}

#include <cstring>
#include <new>

namespace rowfs::plugin {
namespace {

// A frame of more pixels is a decompression bomb, not a video.
constexpr int64_t kPixelsMax = int64_t{1} << 27;

}  // namespace

Result<std::unique_ptr<VideoDecoder>> VideoDecoder::Open(
    const AVCodecParameters& parameters, AVRational time_base, int flags) {
  const AVCodec* codec = avcodec_find_decoder(parameters.codec_id);
  if (codec == nullptr) {
    return Unsupported(std::string("no decoder for ") +
                       avcodec_get_name(parameters.codec_id));
  }
  CodecPtr context(avcodec_alloc_context3(codec));
  if (context == nullptr) throw std::bad_alloc();
  if (avcodec_parameters_to_context(context.get(), &parameters) < 0) {
    return Corrupt("the decoder refuses the parameters of the stream");
  }
  context->pkt_timebase = time_base;
  context->thread_count = 1;
  context->flags |= flags;
  context->max_pixels = kPixelsMax;
  if (const int code = avcodec_open2(context.get(), codec, nullptr); code < 0) {
    return Corrupt(std::string("the ") + codec->name +
                   " decoder does not open: " + AvError(code));
  }
  return std::unique_ptr<VideoDecoder>(new VideoDecoder(std::move(context)));
}

Result<std::unique_ptr<VideoDecoder>> VideoDecoder::OpenSequential(
    const AVStream& stream) {
  return Open(*stream.codecpar, stream.time_base, 0);
}

Result<std::unique_ptr<VideoDecoder>> VideoDecoder::OpenPlanned(
    const Stream& stream, uint16_t extradata) {
  const AVCodecDescriptor* descriptor =
      avcodec_descriptor_get_by_name(stream.codec.c_str());
  if (descriptor == nullptr || descriptor->type != AVMEDIA_TYPE_VIDEO) {
    return Unsupported("no decoder for \"" + stream.codec + "\"");
  }
  ParametersPtr parameters(avcodec_parameters_alloc());
  if (parameters == nullptr) throw std::bad_alloc();
  parameters->codec_type = AVMEDIA_TYPE_VIDEO;
  parameters->codec_id = descriptor->id;
  parameters->codec_tag = stream.fourcc;
  parameters->profile = stream.profile;
  parameters->level = stream.level;
  parameters->width = static_cast<int>(stream.width);
  parameters->height = static_cast<int>(stream.height);
  parameters->video_delay = stream.reorder_depth;
  parameters->bits_per_coded_sample = stream.bits_per_sample;
  if (extradata < stream.extradata.size() &&
      !SetExtradata(stream.extradata[extradata], parameters.get())) {
    throw std::bad_alloc();
  }
  return Open(*parameters, {stream.time_base.num, stream.time_base.den},
              AV_CODEC_FLAG_OUTPUT_CORRUPT);
}

bool VideoDecoder::Send(int64_t ordinal, AVPacket* packet) {
  context_->reordered_opaque = ordinal;
  return avcodec_send_packet(context_.get(), packet) >= 0;
}

bool VideoDecoder::SendBytes(int64_t ordinal, ByteSpan data) {
  av_packet_unref(packet_.get());
  if (av_new_packet(packet_.get(), static_cast<int>(data.size())) < 0) {
    throw std::bad_alloc();
  }
  std::memcpy(packet_->data, data.data(), data.size());
  packet_->pts = packet_->dts = ordinal;
  if (!extradata_.empty()) {
    uint8_t* side = av_packet_new_side_data(
        packet_.get(), AV_PKT_DATA_NEW_EXTRADATA, extradata_.size());
    if (side == nullptr) throw std::bad_alloc();
    std::memcpy(side, extradata_.data(), extradata_.size());
    extradata_.clear();
  }
  return Send(ordinal, packet_.get());
}

void VideoDecoder::ChangeExtradata(ByteSpan extradata) {
  extradata_.assign(extradata.begin(), extradata.end());
}

std::optional<DecodedFrame> VideoDecoder::Receive() {
  DecodedFrame out;
  out.frame = NewFrame();
  if (avcodec_receive_frame(context_.get(), out.frame.get()) < 0) {
    return std::nullopt;
  }
  out.ordinal = out.frame->reordered_opaque;
  out.corrupt = (out.frame->flags & AV_FRAME_FLAG_CORRUPT) != 0 ||
                out.frame->decode_error_flags != 0;
  return out;
}

bool VideoDecoder::Pop() {
  const AVCodecID id = context_->codec_id;
  if (id != AV_CODEC_ID_H264 && id != AV_CODEC_ID_HEVC) return false;
  // These two answer a packet without data by giving up one delayed frame and
  // keep everything else. Side data is what tells such a packet from the one
  // that ends the stream. tests/index/plugins/video checks that it works.
  av_packet_unref(packet_.get());
  if (av_packet_new_side_data(packet_.get(), AV_PKT_DATA_CPB_PROPERTIES, 64) ==
      nullptr) {
    throw std::bad_alloc();
  }
  return avcodec_send_packet(context_.get(), packet_.get()) >= 0;
}

void VideoDecoder::Drain() { avcodec_send_packet(context_.get(), nullptr); }

void VideoDecoder::Flush() { avcodec_flush_buffers(context_.get()); }

uint64_t HashFrame(const AVFrame& frame) {
  const AVPixelFormat format = static_cast<AVPixelFormat>(frame.format);
  const AVPixFmtDescriptor* description = av_pix_fmt_desc_get(format);
  uint64_t hash = 0x9e3779b97f4a7c15u;
  const auto mix = [&hash](uint64_t v) {
    hash = (hash ^ v) * 0xff51afd7ed558ccdu;
    hash ^= hash >> 32;
  };
  mix(static_cast<uint64_t>(frame.width) << 32 |
      static_cast<uint32_t>(frame.height));
  mix(static_cast<uint64_t>(frame.format));
  if (description == nullptr) return hash;
  for (int plane = 0; plane < av_pix_fmt_count_planes(format); ++plane) {
    const int bytes = av_image_get_linesize(format, frame.width, plane);
    const bool chroma = plane == 1 || plane == 2;
    const int shift = chroma ? description->log2_chroma_h : 0;
    const int rows = -((-frame.height) >> shift);
    for (int y = 0; y < rows && bytes > 0; ++y) {
      const uint8_t* row =
          frame.data[plane] + ptrdiff_t{y} * frame.linesize[plane];
      size_t x = 0;
      const size_t width = static_cast<size_t>(bytes);
      for (; x + 8 <= width; x += 8) {
        uint64_t word = 0;
        std::memcpy(&word, row + x, 8);
        mix(word);
      }
      uint64_t rest = 0;
      std::memcpy(&rest, row + x, width - x);
      mix(rest);
    }
  }
  return hash;
}

size_t FrameBytes(const AVFrame& frame) {
  size_t bytes = 0;
  for (const AVBufferRef* buffer : frame.buf) {
    if (buffer != nullptr) bytes += buffer->size;
  }
  return bytes;
}

}  // namespace rowfs::plugin
