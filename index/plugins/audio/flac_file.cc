// A FLAC file: STREAMINFO of the source, a seek table, the tags, the frames
// untouched (RFC 9639).
#include <algorithm>

#include "index/plugins/audio/sound_file.h"

namespace rowfs::plugin {
namespace {

constexpr size_t kStreamInfoBytes = 34;
constexpr uint64_t kSeekPointsMax = 2000;
constexpr uint8_t kLastBlock = 0x80;

// STREAMINFO out of extradata, which may be a whole file head; empty when it is
// not there.
Bytes StreamInfo(const SoundIndex& index) {
  ByteSpan bytes = index.extradata;
  if (bytes.size() >= 8 + kStreamInfoBytes &&
      AsText(bytes.first(4)) == "fLaC") {
    bytes = bytes.subspan(8);
  }
  if (bytes.size() < kStreamInfoBytes) return {};
  Bytes info(bytes.begin(), bytes.begin() + kStreamInfoBytes);
  // The number of samples, 36 bits, which a stream written on the fly lacks.
  const uint64_t samples =
      index.head.samples >> 36 == 0 ? index.head.samples : 0;
  info[13] = static_cast<uint8_t>((info[13] & 0xf0) | (samples >> 32));
  for (size_t i = 0; i < 4; ++i) {
    info[14 + i] = static_cast<uint8_t>(samples >> (8 * (3 - i)));
  }
  return info;
}

void PutBlock(uint8_t type, ByteSpan content, ByteWriter* out) {
  out->U8(type);
  out->Big24(static_cast<uint32_t>(content.size()));
  out->Raw(content);
}

// About a point every second, fewer in a long sound.
Bytes SeekTable(const SoundIndex& index) {
  const uint64_t seconds = index.head.samples / index.head.sample_rate + 1;
  const uint64_t step =
      uint64_t{index.head.sample_rate} * (1 + seconds / kSeekPointsMax);
  ByteWriter out;
  uint64_t at = 0;
  uint64_t bytes = 0;
  uint64_t next = 0;
  for (const SoundPacket& packet : index.packets) {
    if (at >= next && packet.samples > 0) {
      out.Big64(at);
      out.Big64(bytes);
      out.Big16(static_cast<uint16_t>(
          std::min<uint32_t>(packet.samples, UINT16_MAX)));
      next = at + step;
    }
    at += packet.samples;
    bytes += packet.size;
  }
  return std::move(out.bytes());
}

}  // namespace

Bytes VorbisComment(const SoundIndex& index) {
  ByteWriter out;
  const std::string_view vendor = "rowfs";
  out.U32(static_cast<uint32_t>(vendor.size()));
  out.Text(vendor);
  std::vector<std::string> lines;
  for (const auto& [key, value] : index.tags) {
    const bool sound =
        !key.empty() && std::all_of(key.begin(), key.end(), [](char c) {
          return c >= 0x20 && c <= 0x7d && c != '=';
        });
    if (sound) lines.push_back(key + "=" + value);
  }
  out.U32(static_cast<uint32_t>(lines.size()));
  for (const std::string& line : lines) {
    out.U32(static_cast<uint32_t>(line.size()));
    out.Text(line);
  }
  return std::move(out.bytes());
}

Result<std::vector<SoundPiece>> PlanFlac(const SoundIndex& index) {
  const Bytes info = StreamInfo(index);
  if (info.empty()) return Unsupported("the FLAC stream has no STREAMINFO");
  ByteWriter out;
  out.Text("fLaC");
  PutBlock(0, info, &out);
  PutBlock(3, SeekTable(index), &out);
  PutBlock(4 | kLastBlock, VorbisComment(index), &out);
  std::vector<SoundPiece> pieces;
  pieces.push_back({std::move(out.bytes()), 0, 0});
  AppendPackets(index, &pieces);
  return pieces;
}

}  // namespace rowfs::plugin
