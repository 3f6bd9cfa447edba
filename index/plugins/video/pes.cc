#include "index/plugins/video/pes.h"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

namespace rowfs::plugin {
namespace {

constexpr uint8_t kSync = 0x47;
constexpr size_t kTransportPacket = 188;

// `payload` of a PES packet without its header (ISO 13818-1 2.4.3.6).
ByteSpan WithoutPesHeader(ByteSpan payload) {
  if (payload.size() < 9 || payload[0] != 0 || payload[1] != 0 ||
      payload[2] != 1) {
    return {};
  }
  const size_t header = 9 + size_t{payload[8]};
  return header <= payload.size() ? payload.subspan(header) : ByteSpan();
}

// The same for MPEG-1 program streams (ISO 11172-1 2.4.3.3), whose headers
// have no length. `packet` starts behind the packet length.
ByteSpan WithoutMpeg1Header(ByteSpan packet) {
  size_t at = 0;
  while (at < packet.size() && packet[at] == 0xff) ++at;  // stuffing
  if (at + 2 <= packet.size() && (packet[at] & 0xc0) == 0x40) at += 2;
  if (at >= packet.size()) return {};
  const uint8_t kind = packet[at] >> 4;
  at += kind == 2 ? 5 : kind == 3 ? 10 : 1;
  return at <= packet.size() ? packet.subspan(at) : ByteSpan();
}

}  // namespace

ByteSpan PesWalker::NextTransport() {
  while (at_ + kTransportPacket <= bytes_.size()) {
    const ByteSpan packet = bytes_.subspan(at_, kTransportPacket);
    if (packet[0] != kSync) return {};
    at_ += stream_.packet_size;
    const uint32_t pid = (packet[1] & 0x1fu) << 8 | packet[2];
    if (pid != stream_.id || (packet[3] & 0x10) == 0) continue;
    size_t head = 4;
    if ((packet[3] & 0x20) != 0) head += 1 + size_t{packet[4]};
    if (head >= packet.size()) continue;
    ByteSpan payload = packet.subspan(head);
    if ((packet[1] & 0x40) != 0) payload = WithoutPesHeader(payload);
    if (!payload.empty()) return payload;
  }
  return {};
}

ByteSpan PesWalker::NextProgram() {
  while (at_ + 6 <= bytes_.size()) {
    const ByteSpan rest = bytes_.subspan(at_);
    if (rest[0] != 0 || rest[1] != 0 || rest[2] != 1) {
      ++at_;  // padding between packs
      continue;
    }
    if (rest[3] == 0xba) {  // a pack header, MPEG-2 or MPEG-1
      const bool mpeg2 = rest.size() > 13 && (rest[4] & 0xc0) == 0x40;
      at_ += mpeg2 ? 14 + size_t{rest[13] & 7u} : 12;
      continue;
    }
    if (rest[3] < 0xbb) return {};
    const size_t length = size_t{rest[4]} << 8 | rest[5];
    const ByteSpan packet = rest.first(std::min(rest.size(), 6 + length));
    if (packet.size() < 6 + length) return {};
    at_ += packet.size();
    if (rest[3] != (stream_.id & 0xff)) continue;
    const bool mpeg2 = packet.size() > 6 && (packet[6] & 0xc0) == 0x80;
    const ByteSpan payload = mpeg2 ? WithoutPesHeader(packet)
                                   : WithoutMpeg1Header(packet.subspan(6));
    if (!payload.empty()) return payload;
  }
  return {};
}

ByteSpan PesWalker::Next() {
  return stream_.kind == PesKind::kTransport ? NextTransport() : NextProgram();
}

uint8_t TransportPacketSize(ByteSpan bytes) {
  for (uint8_t size : {uint8_t{188}, uint8_t{192}, uint8_t{204}}) {
    size_t hits = 0;
    for (size_t at = 0; at < bytes.size() && hits < 4; at += size) {
      if (bytes[at] != kSync) break;
      ++hits;
    }
    if (hits >= 4 || hits * size >= bytes.size()) return size;
  }
  return 0;
}

std::optional<Scatter> FindPieces(const PesStream& stream, ByteSpan bytes,
                                  uint32_t skip, ByteSpan data, size_t most) {
  PesWalker walker(stream, bytes);
  Bytes payload;
  std::vector<std::pair<size_t, size_t>> reached;  // payload, bytes
  while (payload.size() < most) {
    const ByteSpan piece = walker.Next();
    if (piece.empty()) break;
    payload.insert(payload.end(), piece.begin(), piece.end());
    reached.emplace_back(payload.size(),
                         std::min(walker.position(), bytes.size()));
  }
  if (payload.size() <= skip) return std::nullopt;
  const void* at = memmem(payload.data() + skip, payload.size() - skip,
                          data.data(), data.size());
  if (at == nullptr) return std::nullopt;
  Scatter s;
  s.skip =
      static_cast<uint32_t>(static_cast<const uint8_t*>(at) - payload.data());
  for (const auto& [size, position] : reached) {
    s.span = static_cast<uint32_t>(position);
    if (size >= s.skip + data.size()) break;
  }
  return s;
}

Bytes GatherPacket(const PesStream& stream, ByteSpan bytes, uint32_t skip,
                   uint32_t size) {
  Bytes out;
  PesWalker walker(stream, bytes);
  size_t left = skip;
  while (out.size() < size) {
    ByteSpan piece = walker.Next();
    if (piece.empty()) return {};
    const size_t dropped = std::min(left, piece.size());
    left -= dropped;
    piece = piece.subspan(dropped);
    piece = piece.first(std::min(piece.size(), size - out.size()));
    out.insert(out.end(), piece.begin(), piece.end());
  }
  return out;
}

}  // namespace rowfs::plugin
