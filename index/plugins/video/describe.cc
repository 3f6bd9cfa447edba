#include "index/plugins/video/describe.h"

extern "C" {
#include <libavutil/pixdesc.h>
}

#include <algorithm>
#include <cstring>

namespace rowfs::plugin {
namespace {

constexpr size_t kTagBytesMax = 1024;

std::string Tag(const AVDictionary* metadata, const char* key) {
  const AVDictionaryEntry* e = av_dict_get(metadata, key, nullptr, 0);
  return e == nullptr ? std::string()
                      : std::string(e->value).substr(0, kTagBytesMax);
}

// `fallback` for what is not a positive fraction.
TimeBase Fraction(AVRational r, TimeBase fallback) {
  return r.num > 0 && r.den > 0 ? TimeBase{r.num, r.den} : fallback;
}

StreamKind KindOf(const AVStream& stream) {
  switch (stream.codecpar->codec_type) {
    case AVMEDIA_TYPE_VIDEO:
      return (stream.disposition & AV_DISPOSITION_ATTACHED_PIC) != 0
                 ? StreamKind::kPicture
                 : StreamKind::kVideo;
    case AVMEDIA_TYPE_AUDIO:
      return StreamKind::kAudio;
    case AVMEDIA_TYPE_SUBTITLE:
      return StreamKind::kSubtitle;
    case AVMEDIA_TYPE_DATA:
    case AVMEDIA_TYPE_ATTACHMENT:
    case AVMEDIA_TYPE_UNKNOWN:
    case AVMEDIA_TYPE_NB:
      break;
  }
  return StreamKind::kData;
}

NalFormat NalFormatOf(const AVCodecParameters& p) {
  if (p.codec_id != AV_CODEC_ID_H264 && p.codec_id != AV_CODEC_ID_HEVC) {
    return NalFormat::kNone;
  }
  // avcC and hvcC start with version 1; Annex B extradata with a start code.
  const bool record = p.extradata_size > 4 && p.extradata[0] == 1;
  return record ? NalFormat::kLengthPrefixed : NalFormat::kAnnexB;
}

uint8_t LengthSizeOf(const AVCodecParameters& p) {
  const int at = p.codec_id == AV_CODEC_ID_H264 ? 4 : 21;
  if (p.extradata_size <= at) return 4;
  return static_cast<uint8_t>((p.extradata[at] & 3) + 1);
}

void DescribePixels(AVPixelFormat format, uint8_t* depth, bool* alpha) {
  const AVPixFmtDescriptor* d = av_pix_fmt_desc_get(format);
  if (d == nullptr) return;
  int largest = 0;
  for (int i = 0; i < d->nb_components; ++i) {
    largest = std::max(largest, d->comp[i].depth);
  }
  *depth = static_cast<uint8_t>(largest);
  *alpha = (d->flags & AV_PIX_FMT_FLAG_ALPHA) != 0;
}

void DescribePicture(const AVStream& stream, Stream* s) {
  const AVCodecParameters& p = *stream.codecpar;
  s->width = static_cast<uint32_t>(std::max(0, p.width));
  s->height = static_cast<uint32_t>(std::max(0, p.height));
  s->sample_aspect = Fraction(stream.sample_aspect_ratio,
                              Fraction(p.sample_aspect_ratio, {1, 1}));
  s->frame_rate = Fraction(stream.avg_frame_rate, {0, 1});
  const AVPixelFormat format = static_cast<AVPixelFormat>(p.format);
  if (const char* name = av_get_pix_fmt_name(format); name != nullptr) {
    s->pixel_format = name;
    DescribePixels(format, &s->bit_depth, &s->has_alpha);
  }
  s->field_order = static_cast<uint8_t>(p.field_order);
  s->reorder_depth = static_cast<uint8_t>(std::clamp(p.video_delay, 0, 255));
  s->colour.primaries = static_cast<uint8_t>(p.color_primaries);
  s->colour.transfer = static_cast<uint8_t>(p.color_trc);
  s->colour.matrix = static_cast<uint8_t>(p.color_space);
  s->colour.range = static_cast<uint8_t>(p.color_range);
  s->colour.chroma_location = static_cast<uint8_t>(p.chroma_location);
  size_t size = 0;
  const uint8_t* matrix =
      av_stream_get_side_data(&stream, AV_PKT_DATA_DISPLAYMATRIX, &size);
  if (matrix != nullptr && size >= sizeof(s->matrix)) {
    std::memcpy(s->matrix.data(), matrix, sizeof(s->matrix));
  }
}

void DescribeSound(const AVCodecParameters& p, Stream* s) {
  s->sample_rate = static_cast<uint32_t>(std::max(0, p.sample_rate));
  s->channels = static_cast<uint16_t>(
      std::clamp(p.ch_layout.nb_channels, 0, int{UINT16_MAX}));
  if (p.ch_layout.order == AV_CHANNEL_ORDER_NATIVE) {
    s->channel_mask = p.ch_layout.u.mask;
  }
  s->block_align =
      static_cast<uint16_t>(std::clamp(p.block_align, 0, int{UINT16_MAX}));
  s->frame_size = static_cast<uint32_t>(std::max(0, p.frame_size));
  s->initial_padding = static_cast<uint32_t>(std::max(0, p.initial_padding));
  s->trailing_padding = static_cast<uint32_t>(std::max(0, p.trailing_padding));
  s->seek_preroll = static_cast<uint32_t>(std::max(0, p.seek_preroll));
}

}  // namespace

Stream DescribeStream(const AVStream& stream) {
  const AVCodecParameters& p = *stream.codecpar;
  Stream s;
  s.kind = KindOf(stream);
  s.is_default = (stream.disposition & AV_DISPOSITION_DEFAULT) != 0;
  s.nal = NalFormatOf(p);
  if (s.nal == NalFormat::kLengthPrefixed) s.nal_length_size = LengthSizeOf(p);
  s.codec = avcodec_get_name(p.codec_id);
  s.fourcc = p.codec_tag;
  s.profile = p.profile;
  s.level = p.level;
  s.time_base = Fraction(stream.time_base, {1, 1});
  s.bit_rate = std::max<int64_t>(0, p.bit_rate);
  s.bits_per_sample = static_cast<uint16_t>(
      std::clamp(p.bits_per_coded_sample, 0, int{UINT16_MAX}));
  s.language = Tag(stream.metadata, "language");
  s.title = Tag(stream.metadata, "title");
  if (p.extradata_size > 0) {
    s.extradata.emplace_back(p.extradata, p.extradata + p.extradata_size);
  }
  if (p.codec_type == AVMEDIA_TYPE_VIDEO) DescribePicture(stream, &s);
  if (p.codec_type == AVMEDIA_TYPE_AUDIO) DescribeSound(p, &s);
  return s;
}

int ChooseMainStream(const AVFormatContext& format) {
  int chosen = -1;
  for (unsigned i = 0; i < format.nb_streams; ++i) {
    const AVStream& s = *format.streams[i];
    if (KindOf(s) != StreamKind::kVideo) continue;
    if ((s.disposition & AV_DISPOSITION_DEFAULT) != 0) {
      return static_cast<int>(i);
    }
    if (chosen < 0) chosen = static_cast<int>(i);
  }
  return chosen;
}

std::vector<std::pair<std::string, std::string>> DescribeTags(
    const AVDictionary* metadata) {
  std::vector<std::pair<std::string, std::string>> tags;
  const AVDictionaryEntry* e = nullptr;
  while ((e = av_dict_get(metadata, "", e, AV_DICT_IGNORE_SUFFIX)) != nullptr &&
         tags.size() < kTagsMax) {
    tags.emplace_back(std::string(e->key).substr(0, kTagBytesMax),
                      std::string(e->value).substr(0, kTagBytesMax));
  }
  return tags;
}

FrameShape ShapeOfFrame(const AVFrame& frame) {
  FrameShape shape;
  shape.width = static_cast<uint32_t>(frame.width);
  shape.height = static_cast<uint32_t>(frame.height);
  DescribePixels(static_cast<AVPixelFormat>(frame.format), &shape.bit_depth,
                 &shape.has_alpha);
  return shape;
}

}  // namespace rowfs::plugin
