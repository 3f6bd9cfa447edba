#include "index/plugins/audio/sound_file.h"

#include <algorithm>

#include "index/plugins/audio/wav.h"

namespace rowfs::plugin {
namespace {

bool OneOf(const std::string& value, std::initializer_list<const char*> list) {
  return std::any_of(list.begin(), list.end(),
                     [&](const char* item) { return value == item; });
}

// Samples as WAV stores them.
bool IsWavCodec(const std::string& codec) {
  return OneOf(codec, {"pcm_u8", "pcm_s16le", "pcm_s24le", "pcm_s32le",
                       "pcm_f32le", "pcm_f64le", "pcm_alaw", "pcm_mulaw"});
}
bool IsAiffCodec(const std::string& codec) {
  return OneOf(codec, {"pcm_s8", "pcm_s16be", "pcm_s24be", "pcm_s32be",
                       "pcm_f32be", "pcm_f64be"});
}

uint64_t PayloadBytes(const SoundIndex& index) {
  if (index.head.linear) return index.head.samples * index.block_align;
  uint64_t size = 0;
  for (const SoundPacket& packet : index.packets) size += packet.size;
  return size;
}

Result<std::vector<SoundPiece>> PlanUncompressed(const SoundIndex& index) {
  if (index.block_align < index.head.channels) {
    return Unsupported("samples of unknown size");
  }
  const uint64_t bytes = PayloadBytes(index);
  std::vector<SoundPiece> pieces;
  if (index.head.file == SoundFile::kAiff) {
    const bool floating = index.codec.starts_with("pcm_f");
    if (bytes > kAiffBytesMax) return Unsupported("too long for an AIFF");
    pieces.push_back({AiffHeader(index, floating, bytes), 0, 0});
  } else {
    WavFormat format = WavFormatOf(index.head.type, index);
    format.bits =
        static_cast<uint16_t>(index.block_align * 8 / index.head.channels);
    if (index.codec == "pcm_alaw") format.tag = 6;
    if (index.codec == "pcm_mulaw") format.tag = 7;
    pieces.push_back({WavHeader(format, bytes), 0, 0});
  }
  if (index.head.linear) {
    pieces.push_back({{}, index.linear_offset, index.linear_offset + bytes});
  } else {
    AppendPackets(index, &pieces);
  }
  if (bytes % 2 == 1) pieces.push_back({Bytes{0}, 0, 0});
  return pieces;
}

}  // namespace

void AppendPackets(const SoundIndex& index, std::vector<SoundPiece>* pieces) {
  bool joins = false;
  for (const SoundPacket& packet : index.packets) {
    const uint64_t end = packet.offset + packet.size;
    if (joins && pieces->back().end == packet.offset) {
      pieces->back().end = end;
    } else if (packet.size > 0) {
      pieces->push_back({{}, packet.offset, end});
      joins = true;
    }
  }
}

uint64_t LeadingSamples(const SoundIndex& index) {
  uint64_t sum = 0;
  for (const SoundPacket& packet : index.packets) {
    sum += packet.front;
    if (packet.heard() > 0) break;
  }
  return sum;
}

uint64_t TrailingSamples(const SoundIndex& index) {
  uint64_t sum = 0;
  for (auto at = index.packets.rbegin(); at != index.packets.rend(); ++at) {
    sum += at->back;
    if (at->heard() > 0) break;
    sum += at->front;
  }
  return sum;
}

uint64_t SizeOf(const std::vector<SoundPiece>& pieces) {
  uint64_t size = 0;
  for (const SoundPiece& piece : pieces) {
    size +=
        piece.literal.empty() ? piece.end - piece.begin : piece.literal.size();
  }
  return size;
}

SoundFile ChooseSoundFile(const SoundIndex& index, bool framed) {
  const std::string& codec = index.codec;
  if (IsWavCodec(codec)) return SoundFile::kWav;
  if (IsAiffCodec(codec)) return SoundFile::kAiff;
  if (codec == "flac") return SoundFile::kFlac;
  // Matroska trims the end however the sound begins, which MP3 cannot tell.
  if (codec == "mp3" && index.source_format.starts_with("matroska")) {
    return SoundFile::kVerbatim;
  }
  if (codec == "mp3") return SoundFile::kMp3;
  if (OneOf(codec, {"opus", "vorbis"}) && !OggHeaders(index).empty()) {
    return SoundFile::kOgg;
  }
  if (framed && OneOf(codec, {"aac", "ac3", "eac3", "mp2", "mp1", "dts"})) {
    return SoundFile::kRaw;
  }
  if (!framed && OneOf(codec, {"aac", "alac", "ac3", "eac3"})) {
    return SoundFile::kM4a;
  }
  return SoundFile::kVerbatim;
}

std::string ExtensionOf(SoundFile file, const std::string& codec) {
  switch (file) {
    case SoundFile::kWav:
      return "wav";
    case SoundFile::kAiff:
      return "aiff";
    case SoundFile::kFlac:
      return "flac";
    case SoundFile::kMp3:
      return "mp3";
    case SoundFile::kM4a:
      return "m4a";
    case SoundFile::kOgg:
      return codec == "opus" ? "opus" : "ogg";
    case SoundFile::kRaw:
      return codec;
    case SoundFile::kVerbatim:
      return "bin";
  }
  return "bin";
}

std::string MediaTypeOfSound(const std::string& extension) {
  constexpr std::pair<const char*, const char*> kTypes[] = {
      {"wav", "audio/wav"},        {"aiff", "audio/aiff"},
      {"aif", "audio/aiff"},       {"aifc", "audio/aiff"},
      {"flac", "audio/flac"},      {"mp3", "audio/mpeg"},
      {"mp2", "audio/mpeg"},       {"m4a", "audio/mp4"},
      {"mp4", "audio/mp4"},        {"m4b", "audio/mp4"},
      {"opus", "audio/ogg"},       {"ogg", "audio/ogg"},
      {"oga", "audio/ogg"},        {"aac", "audio/aac"},
      {"ac3", "audio/ac3"},        {"eac3", "audio/eac3"},
      {"dts", "audio/vnd.dts"},    {"caf", "audio/x-caf"},
      {"mka", "audio/x-matroska"}, {"webm", "audio/webm"},
      {"au", "audio/basic"},       {"wv", "audio/x-wavpack"}};
  for (const auto& [name, type] : kTypes) {
    if (extension == name) return type;
  }
  return "application/octet-stream";
}

Result<std::vector<SoundPiece>> PlanSoundFile(const SoundIndex& index) {
  switch (index.head.file) {
    case SoundFile::kVerbatim: {
      std::vector<SoundPiece> whole;
      whole.push_back({{}, 0, index.head.blob_size});
      return whole;
    }
    case SoundFile::kWav:
    case SoundFile::kAiff:
      return PlanUncompressed(index);
    case SoundFile::kFlac:
      return PlanFlac(index);
    case SoundFile::kMp3:
      return PlanMp3(index);
    case SoundFile::kM4a:
      return PlanM4a(index);
    case SoundFile::kOgg:
      return PlanOgg(index);
    case SoundFile::kRaw: {
      std::vector<SoundPiece> pieces;
      AppendPackets(index, &pieces);
      return pieces;
    }
  }
  return Internal("no such file type");
}

}  // namespace rowfs::plugin
