#include "index/plugins/audio/sound_decoder.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

namespace rowfs::plugin {

const char kSoundCodecs[] =
    "pcm_s16le,pcm_s16be,pcm_s24le,pcm_s24be,pcm_s32le,pcm_s32be,pcm_s8,pcm_u8,"
    "pcm_u16le,pcm_u16be,pcm_u24le,pcm_u24be,pcm_u32le,pcm_u32be,"
    "pcm_f16le,pcm_f24le,pcm_f32le,pcm_f32be,pcm_f64le,pcm_f64be,pcm_alaw,pcm_"
    "mulaw,"
    "adpcm_ms,adpcm_ima_wav,adpcm_ima_qt,adpcm_yamaha,g722,g726,g726le,"
    "flac,alac,wavpack,tta,ape,mp3float,mp3,mp2float,mp2,mp1float,mp1,"
    "aac,aac_latm,ac3,eac3,dca,truehd,mlp,libopus,opus,vorbis,"
    "wmav1,wmav2,amrnb,amrwb,libopencore_amrnb,libopencore_amrwb,gsm,gsm_ms,"
    "speex,libspeex";

namespace {

// Samples in between: left-justified 32-bit numbers, or floating point.
template <typename T>
int32_t Whole(T v);
template <>
int32_t Whole(uint8_t v) {
  return (int32_t{v} - 128) * (1 << 24);
}
template <>
int32_t Whole(int16_t v) {
  return int32_t{v} * (1 << 16);
}
template <>
int32_t Whole(int32_t v) {
  return v;
}

// As libswresample does it: nearest, ties to even, clipped. NaN is silence.
int32_t Round(double v, double scale) {
  const double x = std::nearbyint(v * scale);
  if (!(x >= -scale)) return std::isnan(x) ? 0 : static_cast<int32_t>(-scale);
  return x > scale - 1 ? static_cast<int32_t>(scale - 1)
                       : static_cast<int32_t>(x);
}

void PutLittle(uint64_t v, size_t size, uint8_t* out) {
  for (size_t i = 0; i < size; ++i) out[i] = static_cast<uint8_t>(v >> (8 * i));
}

void PutFloat(double v, SampleType type, uint8_t* out) {
  switch (type) {
    case SampleType::kU8:
      out[0] = static_cast<uint8_t>(Round(v, 128) + 128);
      return;
    case SampleType::kS16:
      return PutLittle(static_cast<uint32_t>(Round(v, 32768)), 2, out);
    case SampleType::kS24:
      return PutLittle(static_cast<uint32_t>(Round(v, 8388608)), 3, out);
    case SampleType::kS32:
      return PutLittle(static_cast<uint32_t>(Round(v, 2147483648.0)), 4, out);
    case SampleType::kF32: {
      const auto f = static_cast<float>(v);
      uint32_t bits = 0;
      std::memcpy(&bits, &f, 4);
      return PutLittle(bits, 4, out);
    }
    case SampleType::kF64: {
      uint64_t bits = 0;
      std::memcpy(&bits, &v, 8);
      return PutLittle(bits, 8, out);
    }
  }
}

void PutWhole(int32_t v, SampleType type, uint8_t* out) {
  const auto bits = static_cast<uint32_t>(v);
  switch (type) {
    case SampleType::kU8:
      out[0] = static_cast<uint8_t>((bits >> 24) ^ 0x80);
      return;
    case SampleType::kS16:
      return PutLittle(bits >> 16, 2, out);
    case SampleType::kS24:
      return PutLittle(bits >> 8, 3, out);
    case SampleType::kS32:
      return PutLittle(bits, 4, out);
    case SampleType::kF32:
    case SampleType::kF64:
      return PutFloat(static_cast<double>(v) / 2147483648.0, type, out);
  }
}

// Where one sample of each channel comes from in a frame.
struct Planes {
  const AVFrame& frame;
  int channels;
  bool planar;

  template <typename T>
  T At(int channel, int n) const {
    T v;
    const auto at = static_cast<size_t>(planar ? n : n * channels + channel);
    std::memcpy(&v, frame.extended_data[planar ? channel : 0] + at * sizeof(T),
                sizeof(T));
    return v;
  }
};

template <typename T, typename Put>
void ForEach(const Planes& planes, Put put) {
  for (int n = 0; n < planes.frame.nb_samples; ++n) {
    for (int c = 0; c < planes.channels; ++c) {
      put(planes.At<T>(c, n));
    }
  }
}

void Widen(int32_t v, std::pair<int16_t, int16_t>* peaks) {
  const auto top = static_cast<int16_t>(v >> 16);
  peaks->first = std::min(peaks->first, top);
  peaks->second = std::max(peaks->second, top);
}

// Give every sample of `planes` to the outputs.
template <typename T>
void Convert(const Planes& planes, SampleType type, const SoundOutput& out) {
  const size_t width = BytesOf(type);
  uint8_t* to = nullptr;
  if (out.samples != nullptr) {
    const size_t before = out.samples->size();
    out.samples->resize(before + static_cast<size_t>(planes.frame.nb_samples) *
                                     static_cast<size_t>(planes.channels) *
                                     width);
    to = out.samples->data() + before;
  }
  ForEach<T>(planes, [&](T v) {
    if constexpr (std::is_floating_point_v<T>) {
      if (out.peaks != nullptr) {
        Widen(Round(static_cast<double>(v), 32768) * (1 << 16), out.peaks);
      }
      if (to != nullptr) PutFloat(static_cast<double>(v), type, to);
    } else {
      if (out.peaks != nullptr) Widen(Whole<T>(v), out.peaks);
      if (to != nullptr) PutWhole(Whole<T>(v), type, to);
    }
    if (to != nullptr) to += width;
  });
}

// Not the first decoder of a codec: libopus gives every packet its own length,
// and MP2 in floating point adds no noise.
const AVCodec* PreferredDecoder(const std::string& codec) {
  if (codec == "opus") return avcodec_find_decoder_by_name("libopus");
  if (codec == "mp2") return avcodec_find_decoder_by_name("mp2float");
  if (codec == "mp1") return avcodec_find_decoder_by_name("mp1float");
  return nullptr;
}

const AVCodec* FindDecoder(const std::string& codec) {
  if (const AVCodec* decoder = PreferredDecoder(codec)) return decoder;
  const AVCodecDescriptor* about =
      avcodec_descriptor_get_by_name(codec.c_str());
  if (about == nullptr || about->type != AVMEDIA_TYPE_AUDIO) return nullptr;
  const AVCodec* decoder = avcodec_find_decoder(about->id);
  if (decoder == nullptr) return nullptr;
  const std::string list = std::string(",") + kSoundCodecs + ",";
  const std::string name = std::string(",") + decoder->name + ",";
  return list.find(name) == std::string::npos ? nullptr : decoder;
}

}  // namespace

SampleType NaturalType(const std::string& codec, AVSampleFormat format,
                       int bits) {
  const AVSampleFormat packed = av_get_packed_sample_fmt(format);
  if (packed == AV_SAMPLE_FMT_U8) return SampleType::kU8;
  if (packed == AV_SAMPLE_FMT_DBL) return SampleType::kF64;
  if (packed == AV_SAMPLE_FMT_S32) {
    return bits > 0 && bits <= 24 ? SampleType::kS24 : SampleType::kS32;
  }
  const bool kept = codec.starts_with("pcm_f") || codec == "wavpack";
  return packed == AV_SAMPLE_FMT_FLT && kept ? SampleType::kF32
                                             : SampleType::kS16;
}

Result<std::unique_ptr<SoundDecoder>> SoundDecoder::Open(
    const SoundIndex& index) {
  std::unique_ptr<SoundDecoder> decoder(new SoundDecoder(index));
  PLUGIN_RETURN_IF_ERROR(decoder->Start());
  return decoder;
}

Status SoundDecoder::Start() {
  const AVCodec* codec = FindDecoder(index_.codec);
  if (codec == nullptr) {
    return Unsupported("no decoder for the codec " + index_.codec);
  }
  context_.reset(avcodec_alloc_context3(codec));
  packet_ = NewPacket();
  frame_ = NewFrame();
  ParametersPtr parameters(avcodec_parameters_alloc());
  if (context_ == nullptr || parameters == nullptr) throw std::bad_alloc();
  AVCodecParameters& p = *parameters;
  p.codec_type = AVMEDIA_TYPE_AUDIO;
  p.codec_id = codec->id;
  p.codec_tag = index_.codec_tag;
  p.profile = index_.profile;
  p.sample_rate = static_cast<int>(index_.head.sample_rate);
  p.block_align = static_cast<int>(index_.block_align);
  p.bits_per_coded_sample = index_.bits_coded;
  p.bits_per_raw_sample = index_.bits_raw;
  p.frame_size = static_cast<int>(index_.frame_size);
  p.bit_rate = index_.bit_rate;
  if (index_.channel_mask == 0 ||
      av_channel_layout_from_mask(&p.ch_layout, index_.channel_mask) < 0 ||
      p.ch_layout.nb_channels != index_.head.channels) {
    av_channel_layout_uninit(&p.ch_layout);
    p.ch_layout.order = AV_CHANNEL_ORDER_UNSPEC;
    p.ch_layout.nb_channels = index_.head.channels;
  }
  if (!SetExtradata(index_.extradata, &p)) throw std::bad_alloc();
  if (avcodec_parameters_to_context(context_.get(), &p) < 0) {
    return Corrupt("the parameters of the codec are wrong");
  }
  context_->thread_count = 1;
  context_->request_sample_fmt = AV_SAMPLE_FMT_FLT;  // asked of libopus
  // What is heard is for the index to say.
  context_->flags2 |= AV_CODEC_FLAG2_SKIP_MANUAL;
  context_->max_samples = kSoundPacketSamplesMax;
  const int opened = avcodec_open2(context_.get(), codec, nullptr);
  if (opened < 0) {
    return Unsupported("the decoder does not take the sound: " +
                       AvError(opened));
  }
  return {};
}

Result<uint32_t> SoundDecoder::Decode(ByteSpan packet, const SoundOutput& out) {
  if (packet.empty()) return uint32_t{0};
  av_packet_unref(packet_.get());
  if (packet.size() > kSoundPacketBytesMax ||
      av_new_packet(packet_.get(), static_cast<int>(packet.size())) < 0) {
    throw std::bad_alloc();
  }
  std::memcpy(packet_->data, packet.data(), packet.size());
  if (avcodec_send_packet(context_.get(), packet_.get()) < 0) {
    // Damaged; decoders go on with the next one.
    return Receive({});
  }
  return Receive(out);
}

Result<uint32_t> SoundDecoder::Drain(const SoundOutput& out) {
  (void)avcodec_send_packet(context_.get(), nullptr);
  return Receive(out);
}

bool SoundDecoder::Fits(const AVFrame& frame) const {
  return frame.ch_layout.nb_channels == index_.head.channels &&
         frame.sample_rate == static_cast<int>(index_.head.sample_rate);
}

Result<uint32_t> SoundDecoder::Receive(const SoundOutput& out) {
  uint32_t total = 0;
  while (avcodec_receive_frame(context_.get(), frame_.get()) == 0) {
    const AVFrame& frame = *frame_;
    if (!Fits(frame)) {
      return Unsupported("the sound changes its rate or channels on the way");
    }
    const auto format = static_cast<AVSampleFormat>(frame.format);
    const Planes planes{frame, frame.ch_layout.nb_channels,
                        av_sample_fmt_is_planar(format) != 0};
    const SampleType type = index_.head.type;
    const AVSampleFormat packed = av_get_packed_sample_fmt(format);
    if (packed == AV_SAMPLE_FMT_U8) {
      Convert<uint8_t>(planes, type, out);
    } else if (packed == AV_SAMPLE_FMT_S16) {
      Convert<int16_t>(planes, type, out);
    } else if (packed == AV_SAMPLE_FMT_S32) {
      Convert<int32_t>(planes, type, out);
    } else if (packed == AV_SAMPLE_FMT_FLT) {
      Convert<float>(planes, type, out);
    } else if (packed == AV_SAMPLE_FMT_DBL) {
      Convert<double>(planes, type, out);
    } else {
      return Unsupported("samples of this kind cannot be shown");
    }
    total += static_cast<uint32_t>(frame.nb_samples);
    if (total > kSoundPacketSamplesMax) return Limit("a packet is too long");
  }
  return total;
}

}  // namespace rowfs::plugin
