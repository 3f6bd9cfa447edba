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

// Codecs that more programs find under their QuickTime name (MP4 has one name
// for MP2 and MP3).
constexpr AVCodecID kQuicktime[] = {AV_CODEC_ID_MJPEG, AV_CODEC_ID_MP2};
// What of a TrackEntry the index keeps (RFC 9559): type, DefaultDuration,
// MaxBlockAdditionID, BlockAdditionMapping, CodecID, CodecPrivate, CodecDelay,
// SeekPreRoll, Video, Audio.
constexpr uint32_t kKept[] = {0x83,   0x23E383, 0x55EE, 0x41E4, 0x86,
                              0x63A2, 0x56AA,   0x56BB, 0xE0,   0xE1};

template <typename T, size_t N>
bool Contains(const T (&list)[N], T value) {
  return std::find(std::begin(list), std::end(list), value) != std::end(list);
}

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

struct StreamTimes {
  TimeBase base;
  TimeBase frame_rate;  // 0/1: unknown
};

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

// A file of format `name` with one stream, called `tag` (0: as the format
// likes) and one packet; empty when the format does not take them.
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
    if (Contains(kKept, element->id)) {
      PutEbmlBytes(&out, element->id, element->content);
    }
    rest = rest.subspan(element->whole.size());
  }
  return out.size() > kCodecEntryBytesMax ? Bytes() : out;
}

// The sample entry that muxer `name` writes.
Bytes Mp4Entry(const char* name, const AVCodecParameters& codec,
               const StreamTimes& times, ByteSpan packet) {
  // The source's own name first: it tells kinds of ProRes and whether
  // parameter sets are in the packets. One of another container is refused.
  uint32_t tag = codec.codec_tag;
  if (tag != 0) {
    Bytes entry = SampleEntry(MuxOne(name, codec, tag, times, packet));
    if (!entry.empty()) return entry;
  }
  // Apple's players want this name; the muxer would take the other.
  const bool hevc = codec.codec_id == AV_CODEC_ID_HEVC;
  tag = hevc && codec.extradata_size > 0 ? MKTAG('h', 'v', 'c', '1') : 0;
  return SampleEntry(MuxOne(name, codec, tag, times, packet));
}

// VP8 has a name of its own and else all of VP9's entry (VP Codec ISO Media
// File Format Binding 1.0); the muxer writes only the latter.
Bytes Vp8Entry(AVCodecParameters codec, const StreamTimes& times) {
  // "Show an existing frame": VP9 that its muxer lets pass.
  constexpr uint8_t kPacket[] = {0x88};
  codec.codec_id = AV_CODEC_ID_VP9;
  codec.codec_tag = 0;
  codec.profile = 0;
  codec.extradata = nullptr;
  codec.extradata_size = 0;
  Bytes entry = Mp4Entry("mp4", codec, times, kPacket);
  if (entry.size() > 8) entry[7] = '8';  // vp09 -> vp08
  return entry;
}

}  // namespace

CodecEntries MakeCodecEntries(const AVCodecParameters& codec,
                              TimeBase time_base, TimeBase frame_rate,
                              ByteSpan first_packet) {
  const StreamTimes times{time_base, frame_rate};
  CodecEntries entries;
  entries.mp4 = Mp4Entry("mp4", codec, times, first_packet);
  if (entries.mp4.empty() || Contains(kQuicktime, codec.codec_id)) {
    Bytes mov = Mp4Entry("mov", codec, times, first_packet);
    entries.quicktime = !mov.empty();
    if (entries.quicktime) entries.mp4 = std::move(mov);
  }
  if (entries.mp4.empty() && codec.codec_id == AV_CODEC_ID_VP8) {
    entries.mp4 = Vp8Entry(codec, times);
  }
  entries.matroska =
      TrackEntry(MuxOne("matroska", codec, 0, times, first_packet));
  return entries;
}

}  // namespace rowfs::plugin
