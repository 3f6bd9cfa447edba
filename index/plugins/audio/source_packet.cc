#include "index/plugins/audio/source_packet.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "index/plugins/audio/sound_decoder.h"

namespace rowfs::plugin {

bool IsPcm(AVCodecID id) {
  return id >= AV_CODEC_ID_FIRST_AUDIO && id < AV_CODEC_ID_ADPCM_IMA_QT;
}

SourcePacket SourcePacketOf(const AVPacket& packet, ByteSpan data) {
  SourcePacket out;
  out.data = data;
  out.position = packet.pos;
  out.dropped = (packet.flags & AV_PKT_FLAG_DISCARD) != 0;
  size_t size = 0;
  const uint8_t* side =
      av_packet_get_side_data(&packet, AV_PKT_DATA_SKIP_SAMPLES, &size);
  if (side == nullptr || size < 10) return out;
  ByteReader in({side, size});
  out.skip = in.U32();
  out.discard = in.U32();
  // Negative numbers, as some muxers leave them behind, mean none.
  if (*out.skip > INT32_MAX) out.skip = 0;
  if (out.discard > INT32_MAX) out.discard = 0;
  return out;
}

Status DescribeSound(const AVCodecParameters& p, SoundIndex* index) {
  if (p.sample_rate <= 0 ||
      static_cast<uint32_t>(p.sample_rate) > kSoundRateMax ||
      p.ch_layout.nb_channels <= 0 ||
      p.ch_layout.nb_channels > kSoundChannelsMax) {
    return Unsupported(
        std::string("the sound has no usable rate or channels (codec ") +
        avcodec_get_name(p.codec_id) + ")");
  }
  if (p.extradata_size < 0 ||
      static_cast<uint32_t>(p.extradata_size) > kSoundExtradataMax) {
    return Limit("the description of the codec is too long");
  }
  index->codec = avcodec_get_name(p.codec_id);
  index->extradata.assign(p.extradata, p.extradata + p.extradata_size);
  index->codec_tag = p.codec_tag;
  index->profile = p.profile;
  if (p.ch_layout.order == AV_CHANNEL_ORDER_NATIVE) {
    index->channel_mask = p.ch_layout.u.mask;
  }
  index->block_align =
      static_cast<uint32_t>(std::clamp(p.block_align, 0, 1 << 20));
  // PCM in containers that leave it out.
  const int bits = av_get_bits_per_sample(p.codec_id);
  if (index->block_align == 0 && IsPcm(p.codec_id)) {
    index->block_align =
        static_cast<uint32_t>(bits / 8 * p.ch_layout.nb_channels);
  }
  index->bits_coded =
      static_cast<uint16_t>(std::clamp(p.bits_per_coded_sample, 0, 256));
  index->bits_raw =
      static_cast<uint16_t>(std::clamp(p.bits_per_raw_sample, 0, 256));
  index->frame_size =
      static_cast<uint32_t>(std::clamp(p.frame_size, 0, 1 << 20));
  index->bit_rate = p.bit_rate;
  index->head.sample_rate = static_cast<uint32_t>(p.sample_rate);
  index->head.channels = static_cast<uint16_t>(p.ch_layout.nb_channels);
  index->head.type =
      NaturalType(index->codec, static_cast<AVSampleFormat>(p.format),
                  p.bits_per_raw_sample);
  return {};
}

uint32_t InitialSkip(const AVCodecParameters& p) {
  // The first two blocks of WMA overlap with nothing.
  if (p.codec_id == AV_CODEC_ID_WMAV1 || p.codec_id == AV_CODEC_ID_WMAV2) {
    const int medium = p.codec_id == AV_CODEC_ID_WMAV1 ? 32000 : 22050;
    return p.sample_rate <= 16000    ? 1024
           : p.sample_rate <= medium ? 2048
                                     : 4096;
  }
  if (p.codec_id != AV_CODEC_ID_OPUS || p.extradata_size < 12 ||
      std::memcmp(p.extradata, "OpusHead", 8) != 0) {
    return 0;
  }
  return p.extradata[10] | uint32_t{p.extradata[11]} << 8;
}

}  // namespace rowfs::plugin
