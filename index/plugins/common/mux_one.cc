#include "index/plugins/common/mux_one.h"

#include <cstring>
#include <memory>
#include <optional>

namespace rowfs::plugin {
namespace {

struct MuxerDeleter {
  void operator()(AVFormatContext* muxer) const {
    if (muxer->pb != nullptr) {
      uint8_t* bytes = nullptr;
      avio_close_dyn_buf(muxer->pb, &bytes);
      av_free(bytes);
    }
    avformat_free_context(muxer);
  }
};
using Muxer = std::unique_ptr<AVFormatContext, MuxerDeleter>;

AVRational Rational(TimeBase base) { return {base.num, base.den}; }

bool AddStream(AVFormatContext* muxer, const AVCodecParameters& codec,
               uint32_t tag, const StreamTimes& times) {
  AVStream* stream = avformat_new_stream(muxer, nullptr);
  if (stream == nullptr ||
      avcodec_parameters_copy(stream->codecpar, &codec) < 0) {
    return false;
  }
  stream->codecpar->codec_tag = tag;
  // Muxers only ask that it is known.
  if (stream->codecpar->frame_size == 0) stream->codecpar->frame_size = 1;
  stream->time_base = Rational(times.base);
  if (times.frame_rate.num > 0) {
    stream->avg_frame_rate = Rational(times.frame_rate);
  }
  stream->sample_aspect_ratio = codec.sample_aspect_ratio;
  return true;
}

bool WritePacket(AVFormatContext* muxer, ByteSpan bytes) {
  AVPacket* packet = av_packet_alloc();
  bool ok = packet != nullptr &&
            av_new_packet(packet, static_cast<int>(bytes.size())) == 0;
  if (ok) {
    if (!bytes.empty()) std::memcpy(packet->data, bytes.data(), bytes.size());
    packet->pts = 0;
    packet->dts = 0;
    packet->duration = 1;
    packet->flags |= AV_PKT_FLAG_KEY;
    ok = av_write_frame(muxer, packet) >= 0;
  }
  av_packet_free(&packet);
  return ok;
}

uint32_t Big32(ByteSpan bytes) {
  return uint32_t{bytes[0]} << 24 | uint32_t{bytes[1]} << 16 |
         uint32_t{bytes[2]} << 8 | uint32_t{bytes[3]};
}

// The content of the first box `type` in `bytes`, a row of boxes.
std::optional<ByteSpan> FindBox(ByteSpan bytes, std::string_view type) {
  while (bytes.size() >= 8) {
    uint64_t size = Big32(bytes);
    size_t header = 8;
    if (size == 1 && bytes.size() >= 16) {
      size = uint64_t{Big32(bytes.subspan(8))} << 32 | Big32(bytes.subspan(12));
      header = 16;
    }
    if (size < header || size > bytes.size()) return std::nullopt;
    if (AsText(bytes.subspan(4, 4)) == type) {
      return bytes.subspan(header, static_cast<size_t>(size) - header);
    }
    bytes = bytes.subspan(static_cast<size_t>(size));
  }
  return std::nullopt;
}

}  // namespace

Bytes MuxOne(const char* name, const AVCodecParameters& codec, uint32_t tag,
             const StreamTimes& times, ByteSpan packet) {
  AVFormatContext* raw = nullptr;
  if (avformat_alloc_output_context2(&raw, nullptr, name, nullptr) < 0) {
    return {};
  }
  const Muxer muxer(raw);
  // No date, no version string: the same source gives the same bytes.
  muxer->flags |= AVFMT_FLAG_BITEXACT;
  muxer->strict_std_compliance = FF_COMPLIANCE_EXPERIMENTAL;
  if (!AddStream(raw, codec, tag, times) || avio_open_dyn_buf(&muxer->pb) < 0) {
    return {};
  }
  AVDictionary* options = nullptr;
  av_dict_set(&options, "write_btrt", "0", 0);  // of one packet: meaningless
  av_dict_set(&options, "movflags", "+write_colr", 0);
  const int header = avformat_write_header(raw, &options);
  av_dict_free(&options);
  if (header < 0) return {};
  const bool written = WritePacket(raw, packet);
  // Also after a failure: it frees what the muxer holds.
  if (av_write_trailer(raw) < 0 || !written) return {};
  uint8_t* bytes = nullptr;
  const int size = avio_close_dyn_buf(muxer->pb, &bytes);
  muxer->pb = nullptr;
  Bytes out(bytes, bytes + size);
  av_free(bytes);
  return out;
}

Bytes SampleEntry(ByteSpan file) {
  std::optional<ByteSpan> box = file;
  for (const char* type : {"moov", "trak", "mdia", "minf", "stbl", "stsd"}) {
    box = FindBox(*box, type);
    if (!box.has_value()) return {};
  }
  if (box->size() < 16) return {};
  const ByteSpan entry = box->subspan(8);
  const uint32_t size = Big32(entry);
  if (size < 8 || size > entry.size() || size > kSampleEntryBytesMax) return {};
  return Bytes(entry.begin(), entry.begin() + size);
}

}  // namespace rowfs::plugin
