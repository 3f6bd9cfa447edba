#include "index/plugins/video/codec_entries.h"

extern "C" {
#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>
}

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>

#include "index/plugins/video/ebml.h"

namespace rowfs::plugin {
namespace {

// Codecs that a muxer would put into MP4 but players look for in Matroska.
constexpr AVCodecID kNotInMp4[] = {
    AV_CODEC_ID_VP8,     AV_CODEC_ID_FFV1,      AV_CODEC_ID_THEORA,
    AV_CODEC_ID_VORBIS,  AV_CODEC_ID_HUFFYUV,   AV_CODEC_ID_FFVHUFF,
    AV_CODEC_ID_UTVIDEO, AV_CODEC_ID_MSMPEG4V3, AV_CODEC_ID_MSMPEG4V2,
};
// What of a TrackEntry the index keeps (RFC 9559): type, DefaultDuration,
// MaxBlockAdditionID, BlockAdditionMapping, CodecID, CodecPrivate, CodecDelay,
// SeekPreRoll, Video, Audio.
constexpr uint32_t kKept[] = {0x83,   0x23E383, 0x55EE, 0x41E4, 0x86,
                              0x63A2, 0x56AA,   0x56BB, 0xE0,   0xE1};

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
               TimeBase time_base, TimeBase frame_rate) {
  AVStream* stream = avformat_new_stream(muxer, nullptr);
  if (stream == nullptr ||
      avcodec_parameters_copy(stream->codecpar, &codec) < 0) {
    return false;
  }
  stream->codecpar->codec_tag = 0;  // the container's own
  // Muxers only ask that it is known.
  if (stream->codecpar->frame_size == 0) stream->codecpar->frame_size = 1;
  stream->time_base = Rational(time_base);
  if (frame_rate.num > 0) stream->avg_frame_rate = Rational(frame_rate);
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

// A file of format `name` with one stream and one packet; empty when the format
// does not take them.
Bytes MuxOne(const char* name, const AVCodecParameters& codec,
             TimeBase time_base, TimeBase frame_rate, ByteSpan packet) {
  AVFormatContext* raw = nullptr;
  if (avformat_alloc_output_context2(&raw, nullptr, name, nullptr) < 0) {
    return {};
  }
  const Muxer muxer(raw);
  // No date, no version string: the same source gives the same bytes.
  muxer->flags |= AVFMT_FLAG_BITEXACT;
  muxer->strict_std_compliance = FF_COMPLIANCE_EXPERIMENTAL;
  if (!AddStream(raw, codec, time_base, frame_rate) ||
      avio_open_dyn_buf(&muxer->pb) < 0) {
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

// The only entry of stsd in `file`.
Bytes SampleEntry(ByteSpan file) {
  std::optional<ByteSpan> box = file;
  for (const char* type : {"moov", "trak", "mdia", "minf", "stbl", "stsd"}) {
    box = FindBox(*box, type);
    if (!box.has_value()) return {};
  }
  if (box->size() < 16) return {};
  const ByteSpan entry = box->subspan(8);
  const uint32_t size = Big32(entry);
  if (size < 8 || size > entry.size() || size > kCodecEntryBytesMax) return {};
  return Bytes(entry.begin(), entry.begin() + size);
}

std::optional<ByteSpan> FindElement(ByteSpan bytes, uint32_t id) {
  while (const std::optional<EbmlElement> element = FirstEbmlElement(bytes)) {
    if (element->id == id) return element->content;
    bytes = bytes.subspan(element->whole.size());
  }
  return std::nullopt;
}

// The kept parts of the only TrackEntry in `file`.
Bytes TrackEntry(ByteSpan file) {
  std::optional<ByteSpan> content = file;
  // Segment, Tracks, TrackEntry.
  for (const uint32_t id : {0x18538067u, 0x1654AE6Bu, 0xAEu}) {
    content = FindElement(*content, id);
    if (!content.has_value()) return {};
  }
  Bytes out;
  ByteSpan rest = *content;
  while (const std::optional<EbmlElement> element = FirstEbmlElement(rest)) {
    if (std::find(std::begin(kKept), std::end(kKept), element->id) !=
        std::end(kKept)) {
      PutEbmlBytes(&out, element->id, element->content);
    }
    rest = rest.subspan(element->whole.size());
  }
  return out.size() > kCodecEntryBytesMax ? Bytes() : out;
}

}  // namespace

CodecEntries MakeCodecEntries(const AVCodecParameters& codec,
                              TimeBase time_base, TimeBase frame_rate,
                              ByteSpan first_packet) {
  CodecEntries entries;
  if (std::find(std::begin(kNotInMp4), std::end(kNotInMp4), codec.codec_id) ==
      std::end(kNotInMp4)) {
    entries.mp4 =
        SampleEntry(MuxOne("mp4", codec, time_base, frame_rate, first_packet));
    if (entries.mp4.empty()) {
      entries.mp4 = SampleEntry(
          MuxOne("mov", codec, time_base, frame_rate, first_packet));
      entries.quicktime = !entries.mp4.empty();
    }
  }
  entries.matroska = TrackEntry(
      MuxOne("matroska", codec, time_base, frame_rate, first_packet));
  return entries;
}

}  // namespace rowfs::plugin
