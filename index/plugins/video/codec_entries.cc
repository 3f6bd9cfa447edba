#include "index/plugins/video/codec_entries.h"

#include <algorithm>
#include <optional>

#include "index/plugins/common/mux_one.h"
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

// The codec's own code where it has one among those of AVI, which Matroska uses
// for codecs it has no name for: some decoders are told by it what is inside.
uint32_t RiffTag(const AVCodecParameters& codec) {
  const AVCodecTag* const tables[] = {avformat_get_riff_video_tags(), nullptr};
  const bool known = codec.codec_type == AVMEDIA_TYPE_VIDEO &&
                     av_codec_get_id(tables, codec.codec_tag) == codec.codec_id;
  return known ? codec.codec_tag : 0;
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
  entries.matroska = TrackEntry(
      MuxOne("matroska", codec, RiffTag(codec), times, first_packet));
  return entries;
}

}  // namespace rowfs::plugin
