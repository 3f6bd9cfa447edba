// An MP3 file: a frame with the Xing (or Info) header and the LAME delays, then
// the frames untouched.
#include <algorithm>
#include <array>

#include "index/plugins/audio/sound_file.h"

namespace rowfs::plugin {
namespace {

// What a decoder adds before the first sample, whatever the encoder's delay.
constexpr uint64_t kDecoderDelay = 529;
constexpr size_t kTocBytes = 100;
// From "Xing" to the end of the LAME extension.
constexpr size_t kTagBytes = 4 + 4 + 4 + 4 + kTocBytes + 4 + 36;

struct FrameKind {
  uint8_t version = 3;  // as in the header: 3 MPEG-1, 2 MPEG-2, 0 MPEG-2.5
  uint8_t rate = 0;
  size_t side_info = 32;
};

Result<FrameKind> KindOf(const SoundIndex& index) {
  constexpr std::array<uint32_t, 3> kRates = {44100, 48000, 32000};
  const uint32_t rate = index.head.sample_rate;
  const bool mono = index.head.channels == 1;
  for (uint8_t i = 0; i < 3; ++i) {
    if (rate == kRates[i]) return FrameKind{3, i, mono ? 17u : 32u};
    if (rate == kRates[i] / 2) return FrameKind{2, i, mono ? 9u : 17u};
    if (rate == kRates[i] / 4) return FrameKind{0, i, mono ? 9u : 17u};
  }
  return Unsupported("no MP3 has this sample rate");
}

// A silent frame with room for the header.
Bytes EmptyFrame(const FrameKind& kind, uint32_t rate, bool mono) {
  constexpr std::array<uint32_t, 14> kLsf = {8,  16, 24, 32,  40,  48,  56,
                                             64, 80, 96, 112, 128, 144, 160};
  constexpr std::array<uint32_t, 14> kFull = {
      32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320};
  const bool full = kind.version == 3;
  for (size_t i = 0; i < 14; ++i) {
    const uint32_t kbps = full ? kFull[i] : kLsf[i];
    const size_t size = (full ? 144000u : 72000u) * kbps / rate;
    if (size < 4 + kind.side_info + kTagBytes) continue;
    Bytes frame(size, 0);
    frame[0] = 0xff;
    frame[1] = static_cast<uint8_t>(0xe0 | (kind.version << 3) | 2 | 1);
    frame[2] = static_cast<uint8_t>(((i + 1) << 4) |
                                    static_cast<size_t>(kind.rate << 2));
    frame[3] = mono ? 0xc0 : 0x00;
    return frame;
  }
  return {};
}

uint64_t TotalBytes(const SoundIndex& index) {
  uint64_t bytes = 0;
  for (const SoundPacket& packet : index.packets) bytes += packet.size;
  return bytes;
}

// Where in the file, in 256ths, each hundredth of the time begins.
void PutToc(const SoundIndex& index, uint64_t frame_bytes, ByteWriter* out) {
  const uint64_t total = TotalBytes(index) + frame_bytes;
  const size_t count = index.packets.size();
  uint64_t bytes = frame_bytes;
  size_t packet = 0;
  for (size_t i = 0; i < kTocBytes; ++i) {
    for (; packet < i * count / kTocBytes; ++packet) {
      bytes += index.packets[packet].size;
    }
    out->U8(static_cast<uint8_t>(std::min<uint64_t>(255, bytes * 256 / total)));
  }
}

bool IsConstant(const SoundIndex& index) {
  const auto [low, high] = std::minmax_element(
      index.packets.begin(), index.packets.end(),
      [](const auto& a, const auto& b) { return a.size < b.size; });
  return high->size - low->size <= 1;
}

uint16_t Crc16(ByteSpan bytes) {
  uint16_t crc = 0;
  for (const uint8_t byte : bytes) {
    crc = static_cast<uint16_t>(crc ^ byte);
    for (int bit = 0; bit < 8; ++bit) {
      crc = static_cast<uint16_t>((crc & 1) != 0 ? (crc >> 1) ^ 0xa001
                                                 : crc >> 1);
    }
  }
  return crc;
}

// Without delays there is no LAME part: its absence says "all is heard".
void PutDelays(const SoundIndex& index, uint64_t file_bytes, ByteWriter* out) {
  const uint64_t front = LeadingSamples(index);
  if (front < kDecoderDelay) return;
  const uint64_t delay = std::min<uint64_t>(front - kDecoderDelay, 4095);
  const uint64_t padding =
      std::min<uint64_t>(TrailingSamples(index) + kDecoderDelay, 4095);
  out->Text("LAME3.100");
  out->U8(0);   // revision and method: unknown
  out->U8(0);   // lowpass
  out->U64(0);  // gains
  out->U8(0);   // flags
  out->U8(0);   // bit rate
  out->Big24(static_cast<uint32_t>(delay << 12 | padding));
  out->U8(0);     // misc
  out->U8(0);     // gain
  out->Big16(0);  // preset
  out->Big32(static_cast<uint32_t>(std::min<uint64_t>(file_bytes, UINT32_MAX)));
  out->Big16(0);  // of the music: not computed
}

}  // namespace

Result<std::vector<SoundPiece>> PlanMp3(const SoundIndex& index) {
  PLUGIN_ASSIGN_OR_RETURN(const FrameKind kind, KindOf(index));
  Bytes frame =
      EmptyFrame(kind, index.head.sample_rate, index.head.channels == 1);
  if (frame.empty()) return Internal("no frame holds the header");
  const uint64_t bytes = TotalBytes(index) + frame.size();
  ByteWriter tag;
  tag.Text(IsConstant(index) ? "Info" : "Xing");
  tag.Big32(1 | 2 | 4);  // frames, bytes, table
  tag.Big32(static_cast<uint32_t>(index.packets.size()));
  tag.Big32(static_cast<uint32_t>(std::min<uint64_t>(bytes, UINT32_MAX)));
  PutToc(index, frame.size(), &tag);
  PutDelays(index, bytes, &tag);
  const size_t at = 4 + kind.side_info;
  std::copy(tag.bytes().begin(), tag.bytes().end(),
            frame.begin() + static_cast<ptrdiff_t>(at));
  if (tag.size() > 4 + 4 + 4 + 4 + kTocBytes) {
    const size_t end = at + tag.size();
    const uint16_t crc = Crc16(ByteSpan(frame).first(end));
    frame[end] = static_cast<uint8_t>(crc >> 8);
    frame[end + 1] = static_cast<uint8_t>(crc);
  }
  std::vector<SoundPiece> pieces;
  pieces.push_back({std::move(frame), 0, 0});
  AppendPackets(index, &pieces);
  return pieces;
}

}  // namespace rowfs::plugin
