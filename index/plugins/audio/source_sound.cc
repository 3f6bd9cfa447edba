#include "index/plugins/audio/source_sound.h"

#include <algorithm>
#include <cstring>

#include "index/plugins/audio/sound_decoder.h"

namespace rowfs::plugin {
namespace {

// Demuxers that read one local stream and nothing else.
constexpr char kFormats[] =
    "wav,w64,aiff,caf,au,flac,mp3,aac,loas,mov,matroska,ogg,ac3,eac3,dts,"
    "dtshd,truehd,mlp,wv,ape,tta,asf,amr,amrnb,amrwb";
constexpr size_t kWindowBytes = 256 << 10;
// Bytes of framing between the position a demuxer tells and the packet.
constexpr size_t kFramingMax = 512;
// Packets of a stream's head that a demuxer keeps to itself, at most.
constexpr int kOggHeadersMax = 64;
// Samples before the end of a PCM file from which it is looked for.
constexpr int64_t kTailSamples = 256;

std::string Name(AVCodecID id) { return avcodec_get_name(id); }

bool IsPicture(const AVStream& stream) {
  return (stream.disposition & AV_DISPOSITION_ATTACHED_PIC) != 0;
}

std::string KindOf(const AVStream& stream) {
  if (IsPicture(stream)) return "picture";
  const AVMediaType type = stream.codecpar->codec_type;
  if (type == AVMEDIA_TYPE_AUDIO) return "audio";
  if (type == AVMEDIA_TYPE_VIDEO) return "video";
  return type == AVMEDIA_TYPE_SUBTITLE ? "subtitle" : "data";
}

std::string Shortened(const char* text) {
  return std::string(text).substr(0, kSoundTextMax);
}

void AddTags(const AVDictionary* tags, SoundIndex* index) {
  const AVDictionaryEntry* entry = nullptr;
  while ((entry = av_dict_get(tags, "", entry, AV_DICT_IGNORE_SUFFIX)) !=
             nullptr &&
         index->tags.size() < kSoundTagsMax) {
    index->tags.emplace_back(Shortened(entry->key), Shortened(entry->value));
  }
}

constexpr size_t kWavHeadBytes = 4096;
constexpr std::pair<AVCodecID, AVCodecID> kByteOrders[] = {
    {AV_CODEC_ID_PCM_S16LE, AV_CODEC_ID_PCM_S16BE},
    {AV_CODEC_ID_PCM_S24LE, AV_CODEC_ID_PCM_S24BE},
    {AV_CODEC_ID_PCM_S32LE, AV_CODEC_ID_PCM_S32BE},
    {AV_CODEC_ID_PCM_F32LE, AV_CODEC_ID_PCM_F32BE},
    {AV_CODEC_ID_PCM_F64LE, AV_CODEC_ID_PCM_F64BE}};

// Whether the format of a WAV file is told by a GUID.
bool IsExtensible(ByteSpan head) {
  const size_t at = AsText(head).find("fmt ");
  return at != std::string_view::npos && at + 10 <= head.size() &&
         head[at + 8] == 0xfe && head[at + 9] == 0xff;
}

}  // namespace

Result<std::unique_ptr<SourceSound>> SourceSound::Open(
    const rowfs_reader& reader, const std::string& name) {
  std::unique_ptr<SourceSound> sound(new SourceSound(reader));
  PLUGIN_RETURN_IF_ERROR(
      sound->input_.OpenFormat(name, {kFormats, kSoundCodecs}));
  sound->packet_ = NewPacket();
  PLUGIN_RETURN_IF_ERROR(sound->PickStream());
  if (sound->Demuxer() == "wav") {
    PLUGIN_RETURN_IF_ERROR(sound->CorrectWav());
  }
  return sound;
}

std::string SourceSound::Demuxer() const {
  return input_.format()->iformat->name;
}

Status SourceSound::PickStream() {
  AVFormatContext* format = input_.format();
  const int best =
      av_find_best_stream(format, AVMEDIA_TYPE_AUDIO, -1, -1, nullptr, 0);
  if (best < 0) return Unsupported("there is no sound in it");
  stream_ = format->streams[best];
  for (unsigned i = 0; i < format->nb_streams; ++i) {
    if (static_cast<int>(i) != best) {
      format->streams[i]->discard = AVDISCARD_ALL;
    }
  }
  return {};
}

Status SourceSound::CorrectWav() {
  PLUGIN_ASSIGN_OR_RETURN(const ByteSpan head, Peek(0, kWavHeadBytes));
  AVCodecParameters& p = *stream_->codecpar;
  if (AsText(head).starts_with("RIFX")) {
    for (const auto& [little, big] : kByteOrders) {
      if (p.codec_id == little) p.codec_id = big;
    }
  }
  if (p.codec_id == AV_CODEC_ID_PCM_F24LE && IsExtensible(head)) {
    p.codec_id = AV_CODEC_ID_PCM_S32LE;
    p.format = AV_SAMPLE_FMT_S32;
    p.bits_per_coded_sample = p.bits_per_raw_sample = 32;
  }
  return {};
}

Status SourceSound::Describe(SoundIndex* index) {
  PLUGIN_RETURN_IF_ERROR(DescribeSound(*stream_->codecpar, index));
  index->source_format = Demuxer();
  index->source_size = input_.size();
  const AVFormatContext& format = *input_.format();
  for (unsigned i = 0; i < format.nb_streams && i < kSoundStreamsMax; ++i) {
    const AVStream& s = *format.streams[i];
    SoundStream stream;
    stream.kind = KindOf(s);
    stream.codec = Name(s.codecpar->codec_id);
    if (const auto* tag = av_dict_get(s.metadata, "language", nullptr, 0)) {
      stream.language = Shortened(tag->value);
    }
    stream.sample_rate =
        static_cast<uint32_t>(std::max(0, s.codecpar->sample_rate));
    stream.channels = static_cast<uint16_t>(
        std::clamp(s.codecpar->ch_layout.nb_channels, 0, 0xffff));
    index->streams.push_back(std::move(stream));
  }
  AddTags(format.metadata, index);
  if (IsOgg()) AddTags(stream_->metadata, index);
  return {};
}

bool SourceSound::IsFramed() const {
  const std::string name = Demuxer();
  return name == "aac" || name == "ac3" || name == "eac3" || name == "mp3" ||
         name == "dts" || name == "flac";
}

bool SourceSound::HasOtherStreams() const {
  const AVFormatContext& format = *input_.format();
  for (unsigned i = 0; i < format.nb_streams; ++i) {
    const AVStream* stream = format.streams[i];
    if (stream != stream_ && !IsPicture(*stream)) return true;
  }
  return false;
}

ByteSpan SourceSound::Cover() const {
  const AVFormatContext& format = *input_.format();
  for (unsigned i = 0; i < format.nb_streams; ++i) {
    const AVStream& stream = *format.streams[i];
    const AVCodecID id = stream.codecpar->codec_id;
    if (IsPicture(stream) && stream.attached_pic.size > 0 &&
        (id == AV_CODEC_ID_MJPEG || id == AV_CODEC_ID_PNG)) {
      return {stream.attached_pic.data,
              static_cast<size_t>(stream.attached_pic.size)};
    }
  }
  return {};
}

Result<bool> SourceSound::Next(SourcePacket* packet) {
  do {
    PLUGIN_ASSIGN_OR_RETURN(const bool more, input_.NextPacket(packet_.get()));
    if (!more) return false;
  } while (packet_->stream_index != stream_->index || packet_->size <= 0);
  *packet = SourcePacketOf(*packet_,
                           {packet_->data, static_cast<size_t>(packet_->size)});
  return true;
}

bool SourceSound::MayBeLinear() const {
  const std::string demuxer = Demuxer();
  const bool fixed = demuxer == "wav" || demuxer == "w64" ||
                     demuxer == "aiff" || demuxer == "caf" || demuxer == "au";
  const AVCodecID id = stream_->codecpar->codec_id;
  const int bits = av_get_bits_per_sample(id);
  return fixed && IsPcm(id) && bits > 0 && bits % 8 == 0;
}

Result<bool> SourceSound::FindLinear(SoundIndex* index) {
  const int bits = av_get_bits_per_sample(stream_->codecpar->codec_id);
  const uint64_t frame =
      static_cast<uint64_t>(bits / 8) * uint64_t{index->head.channels};
  SourcePacket packet;
  PLUGIN_ASSIGN_OR_RETURN(const bool any, Next(&packet));
  if (!any || packet.position < 0) return false;
  const auto begin = static_cast<uint64_t>(packet.position);
  uint64_t end = begin + packet.data.size();
  // The demuxer knows where the sound ends, whatever the header claims: ask for
  // the last samples.
  const uint64_t left =
      (input_.size() - std::min(begin, input_.size())) / frame;
  int64_t last = static_cast<int64_t>(left);
  const int64_t told =
      av_rescale_q(stream_->duration, stream_->time_base,
                   {1, static_cast<int>(index->head.sample_rate)});
  if (stream_->duration > 0 && told > 0 && told < last) last = told;
  const int64_t target = std::max<int64_t>(0, last - kTailSamples);
  const int64_t ticks =
      av_rescale_q(target, {1, static_cast<int>(index->head.sample_rate)},
                   stream_->time_base);
  if (av_seek_frame(input_.format(), stream_->index, ticks,
                    AVSEEK_FLAG_BACKWARD) < 0) {
    return false;
  }
  for (;;) {
    PLUGIN_ASSIGN_OR_RETURN(const bool more, Next(&packet));
    if (!more) break;
    if (packet.position < 0) return false;
    end = std::max(end,
                   static_cast<uint64_t>(packet.position) + packet.data.size());
  }
  if (end > input_.size()) return false;
  index->block_align = static_cast<uint32_t>(frame);
  index->linear_offset = begin;
  index->head.samples = (end - begin) / frame;
  index->head.linear = true;
  return index->head.samples > 0;
}

bool SourceSound::FindListed(SoundIndex* index) {
  if (Demuxer().find("mp4") == std::string::npos) return false;
  const int count = avformat_index_get_entries_count(stream_);
  if (count <= 0 || stream_->nb_frames != count ||
      static_cast<uint32_t>(count) > kSoundPacketsMax) {
    return false;
  }
  for (int i = 0; i < count; ++i) {
    const AVIndexEntry* entry = avformat_index_get_entry(stream_, i);
    if (entry == nullptr || entry->pos < 0 || entry->size <= 0 ||
        (entry->flags & AVINDEX_DISCARD_FRAME) != 0) {
      return false;
    }
    SoundPacket packet;
    packet.offset = static_cast<uint64_t>(entry->pos);
    packet.size = static_cast<uint32_t>(entry->size);
    if (packet.offset > size() || packet.size > size() - packet.offset) {
      return false;
    }
    index->packets.push_back(packet);
  }
  return true;
}

bool SourceSound::SeekListed(size_t packet) {
  const AVIndexEntry* entry =
      avformat_index_get_entry(stream_, static_cast<int>(packet));
  return entry != nullptr &&
         av_seek_frame(input_.format(), stream_->index, entry->timestamp,
                       AVSEEK_FLAG_ANY) >= 0;
}

Result<ByteSpan> SourceSound::Peek(uint64_t offset, size_t want) {
  if (offset >= size()) return ByteSpan();
  want = static_cast<size_t>(std::min<uint64_t>(want, size() - offset));
  if (offset < window_at_ || offset + want > window_at_ + window_.size()) {
    const uint64_t most = std::max<uint64_t>(want, kWindowBytes);
    window_.resize(
        static_cast<size_t>(std::min<uint64_t>(most, size() - offset)));
    window_at_ = offset;
    PLUGIN_RETURN_IF_ERROR(input_.ReadAt(offset, window_));
  }
  return ByteSpan(window_).subspan(static_cast<size_t>(offset - window_at_),
                                   want);
}

Status SourceSound::Place(const SourcePacket& data, SoundPacket* packet) {
  if (IsOgg()) return PlaceOgg(data, packet);
  const auto matches = [&](uint64_t at) -> Result<bool> {
    PLUGIN_ASSIGN_OR_RETURN(const ByteSpan bytes, Peek(at, data.data.size()));
    return std::equal(bytes.begin(), bytes.end(), data.data.begin(),
                      data.data.end());
  };
  std::vector<uint64_t> guesses = {place_end_};
  if (data.position >= 0) {
    guesses.insert(guesses.begin(), static_cast<uint64_t>(data.position));
  }
  for (const uint64_t guess : guesses) {
    PLUGIN_ASSIGN_OR_RETURN(const bool hit, matches(guess));
    if (!hit) continue;
    packet->offset = guess;
    place_end_ = guess + data.data.size();
    return {};
  }
  for (const uint64_t guess : guesses) {
    PLUGIN_ASSIGN_OR_RETURN(const ByteSpan bytes,
                            Peek(guess, data.data.size() + kFramingMax));
    const void* at = bytes.empty() ? nullptr
                                   : memmem(bytes.data(), bytes.size(),
                                            data.data.data(), data.data.size());
    if (at == nullptr) continue;
    packet->offset =
        guess +
        static_cast<uint64_t>(static_cast<const uint8_t*>(at) - bytes.data());
    place_end_ = packet->offset + data.data.size();
    return {};
  }
  return Unsupported("its packets do not lie in one piece each");
}

Result<size_t> SourceSound::PeekInto(uint64_t offset, std::span<uint8_t> out) {
  PLUGIN_ASSIGN_OR_RETURN(const ByteSpan bytes, Peek(offset, out.size()));
  std::copy(bytes.begin(), bytes.end(), out.begin());
  return bytes.size();
}

// Streams are numbered as their first pages come, all of them before any other
// page (RFC 3533, 4).
Result<uint32_t> SourceSound::OggSerial() {
  uint64_t offset = 0;
  for (int number = 0;; ++number) {
    Bytes page(kOggHeaderMax);
    PLUGIN_ASSIGN_OR_RETURN(const size_t got, PeekInto(offset, page));
    page.resize(got);
    const OggPageHead head = ReadOggHead(page);
    if (head.size == 0 || !head.first) {
      return Unsupported("its Ogg pages do not start as they should");
    }
    if (number == stream_->index) return head.serial;
    offset += head.size;
  }
}

Status SourceSound::PlaceOgg(const SourcePacket& data, SoundPacket* packet) {
  if (!walker_) {
    PLUGIN_ASSIGN_OR_RETURN(const uint32_t serial, OggSerial());
    walker_.emplace(
        [this](uint64_t offset, std::span<uint8_t> out) {
          return PeekInto(offset, out);
        },
        0, serial);
  }
  for (int i = 0; i < kOggHeadersMax; ++i) {
    PLUGIN_ASSIGN_OR_RETURN(const auto found, walker_->Next());
    if (!found) break;
    if (!std::equal(found->data.begin(), found->data.end(), data.data.begin(),
                    data.data.end())) {
      continue;
    }
    packet->offset = found->offset;
    packet->skip = found->skip;
    packet->span = static_cast<uint32_t>(found->end - found->offset);
    return {};
  }
  return Unsupported("its packets do not lie in its pages as they are read");
}

}  // namespace rowfs::plugin
