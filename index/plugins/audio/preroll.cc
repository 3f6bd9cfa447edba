#include "index/plugins/audio/preroll.h"

#include <algorithm>

namespace rowfs::plugin {
namespace {

constexpr size_t kFramesKept = 300;  // 511 bytes back in the smallest frames
constexpr uint32_t kPrerollMax = 256;
constexpr uint32_t kSpeechPreroll = 8000;  // half a second and more

bool OneOf(const std::string& value, std::initializer_list<const char*> list) {
  return std::any_of(list.begin(), list.end(),
                     [&](const char* item) { return value == item; });
}

bool IsMp3Header(ByteSpan p) {
  return p.size() >= 6 && p[0] == 0xff && (p[1] & 0xe0) == 0xe0 &&
         (p[1] & 0x06) == 0x02;
}

// RFC 6716, 3.1.
uint32_t OpusSamples(ByteSpan p) {
  if (p.empty()) return 0;
  const unsigned config = p[0] >> 3;
  uint32_t frame = 0;
  if (config < 12) {
    constexpr uint32_t kSilk[] = {480, 960, 1920, 2880};
    frame = kSilk[config % 4];
  } else if (config < 16) {
    frame = config % 2 == 0 ? 480 : 960;
  } else {
    frame = 120u << (config % 4);
  }
  uint32_t count = 1;
  if ((p[0] & 3) == 3) {
    count = p.size() < 2 ? 0 : p[1] & 63;
  } else if ((p[0] & 3) != 0) {
    count = 2;
  }
  return frame * count;
}

// RFC 9639, 9.1.
uint32_t FlacSamples(ByteSpan p) {
  if (p.size() < 8 || p[0] != 0xff || (p[1] & 0xfe) != 0xf8) return 0;
  const unsigned code = p[2] >> 4;
  if (code == 1) return 192;
  if (code >= 2 && code <= 5) return 144u << code;
  if (code >= 8) return 1u << code;
  if (code == 0) return 0;
  // Behind a coded number of one to seven bytes.
  size_t at = 5;
  for (uint8_t lead = p[4]; (lead & 0xc0) == 0xc0;
       lead = static_cast<uint8_t>(lead << 1)) {
    ++at;
  }
  if (at + 2 > p.size()) return 0;
  return code == 6 ? p[at] + 1u : (uint32_t{p[at]} << 8 | p[at + 1]) + 1u;
}

uint32_t Mp3Samples(ByteSpan p) {
  if (!IsMp3Header(p)) return 0;
  return (p[1] & 0x18) == 0x18 ? 1152 : 576;
}

}  // namespace

Exactness ExactnessOf(const std::string& codec) {
  if (codec.starts_with("pcm_") || codec.starts_with("adpcm_") ||
      OneOf(codec, {"flac", "alac", "wavpack", "tta", "mp3", "vorbis"})) {
    return Exactness::kAlways;
  }
  if (OneOf(codec, {"opus", "ac3", "eac3"})) return Exactness::kNever;
  return Exactness::kSometimes;
}

uint32_t BasePreroll(const std::string& codec, uint32_t samples) {
  if (codec == "opus") {
    // RFC 7845 asks for 80 ms; the error halves with every packet, and after
    // half a second nothing of it is left in 16 bits.
    constexpr uint32_t kSamples = 24000;
    return samples == 0 ? 25 : (kSamples + samples - 1) / samples;
  }
  // Speech decoders repeat what they said before.
  if (OneOf(codec,
            {"gsm", "gsm_ms", "speex", "amrnb", "amrwb", "amr_nb", "amr_wb"})) {
    return samples == 0 ? 25 : (kSpeechPreroll + samples - 1) / samples;
  }
  if (OneOf(codec, {"vorbis", "aac", "ac3", "eac3", "mp2", "mp1"})) return 1;
  return ExactnessOf(codec) == Exactness::kAlways ? 0 : 2;
}

uint32_t Mp3Reservoir::Reach(size_t at) const {
  const size_t place = frames_.size() - 1 - at;
  uint32_t found = 0;
  uint32_t packets = 0;
  while (found < frames_[place].back && packets < place) {
    ++packets;
    found += frames_[place - packets].main_bytes;
  }
  return packets;
}

uint32_t Mp3Reservoir::Next(ByteSpan packet) {
  Frame frame;
  bool full = true;
  if (IsMp3Header(packet)) {
    const bool crc = (packet[1] & 1) == 0;
    const bool mono = (packet[3] & 0xc0) == 0xc0;
    full = (packet[1] & 0x18) == 0x18;
    const size_t at = crc ? 6 : 4;
    const size_t side = full ? (mono ? 17 : 32) : (mono ? 9 : 17);
    if (packet.size() >= at + side) {
      frame.main_bytes = static_cast<uint32_t>(packet.size() - at - side);
      frame.back =
          full ? uint32_t{packet[at]} << 1 | packet[at + 1] >> 7 : packet[at];
    }
  }
  frames_.push_back(frame);
  if (frames_.size() > kFramesKept) frames_.pop_front();
  // Each part of 576 samples overlaps the one before, and the filters behind
  // it remember as much again: a frame of one part reaches two frames back.
  const size_t overlap = full ? 1 : 2;
  uint32_t most = Reach(0);
  for (size_t i = 1; i <= overlap && i < frames_.size(); ++i) {
    most = std::max<uint32_t>(most, static_cast<uint32_t>(i) + Reach(i));
  }
  return std::min(most, kPrerollMax);
}

uint32_t PacketSamples(const std::string& codec, uint32_t sample_rate,
                       ByteSpan packet) {
  if (codec == "mp3") return Mp3Samples(packet);
  if (codec == "flac") return FlacSamples(packet);
  if (codec == "opus" && sample_rate == 48000) return OpusSamples(packet);
  if (codec == "ac3") return 1536;
  return 0;
}

}  // namespace rowfs::plugin
