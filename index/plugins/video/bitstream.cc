#include "index/plugins/video/bitstream.h"

#include <algorithm>

namespace rowfs::plugin {
namespace {

// NAL unit types, ITU-T H.264 table 7-1.
enum : uint8_t { kAvcSlice = 1, kAvcPartA = 2, kAvcIdr = 5, kAvcSei = 6 };
// ITU-T H.265 table 7-1.
enum : uint8_t {
  kHevcRsvNonIrap = 14,
  kHevcIrapFirst = 16,
  kHevcIdrWithRadl = 19,
  kHevcIdrNoLeading = 20,
  kHevcIrapLast = 23,
  kHevcVclLast = 31
};
constexpr uint32_t kSeiRecoveryPoint = 6;
// Enough of a slice or SEI to hold what is looked at.
constexpr size_t kLookBytes = 256;

// Frames to wait for of the recovery point in an SEI NAL; -1 if it has none.
int64_t RecoveryPoint(ByteSpan nal) {
  const Bytes rbsp = Unescape(nal, kLookBytes);
  size_t at = 1;
  while (at + 2 < rbsp.size()) {
    uint32_t type = 0;
    uint32_t size = 0;
    while (at < rbsp.size() && rbsp[at] == 0xff) type += rbsp[at++];
    if (at < rbsp.size()) type += rbsp[at++];
    while (at < rbsp.size() && rbsp[at] == 0xff) size += rbsp[at++];
    if (at < rbsp.size()) size += rbsp[at++];
    if (type == kSeiRecoveryPoint && at < rbsp.size()) {
      BitReader bits(ByteSpan(rbsp).subspan(at));
      const uint32_t frames = bits.ExpGolomb();
      return bits.past_end() || frames > 65'535 ? -1 : int64_t{frames};
    }
    at += size;
  }
  return -1;
}

bool IsIntraSlice(ByteSpan nal) {
  const Bytes rbsp = Unescape(nal, 32);
  if (rbsp.size() < 2) return false;
  BitReader bits(ByteSpan(rbsp).subspan(1));
  bits.ExpGolomb();  // first_mb_in_slice
  const uint32_t type = bits.ExpGolomb();
  return type == 2 || type == 4 || type == 7 || type == 9;  // I or SI
}

PictureFacts InspectAvc(const std::vector<ByteSpan>& nals, bool flagged_key) {
  PictureFacts facts;
  bool any = false;
  bool referenced = false;
  bool idr = false;
  bool intra = true;
  int64_t recovery = -1;
  for (ByteSpan nal : nals) {
    const uint8_t type = nal[0] & 31;
    if (type == kAvcSei && recovery < 0) recovery = RecoveryPoint(nal);
    if (type < kAvcSlice || type > kAvcIdr) continue;
    any = true;
    referenced = referenced || (nal[0] & 0x60) != 0;
    idr = idr || type == kAvcIdr;
    if (type == kAvcSlice || type == kAvcPartA || type == kAvcIdr) {
      intra = intra && IsIntraSlice(nal);
    }
  }
  facts.nonref = any && !referenced;
  if (!any) return facts;
  if (idr) {
    facts.key = true;
    facts.kind = KeyKind::kIdr;
  } else if (recovery > 0) {
    facts.key = true;
    facts.kind = KeyKind::kRecovery;
    facts.recovery_frames = static_cast<uint32_t>(recovery);
  } else if (intra && (recovery == 0 || flagged_key)) {
    facts.key = true;
    facts.kind = KeyKind::kOpen;
  }
  return facts;
}

PictureFacts InspectHevc(const std::vector<ByteSpan>& nals) {
  PictureFacts facts;
  bool any = false;
  bool referenced = false;
  for (ByteSpan nal : nals) {
    const uint8_t type = (nal[0] >> 1) & 63;
    if (nal.size() < 2 || type > kHevcVclLast) continue;
    any = true;
    referenced = referenced || type > kHevcRsvNonIrap || type % 2 == 1;
    facts.temporal_id = static_cast<uint8_t>((nal[1] & 7) - 1);
    if (type >= kHevcIrapFirst && type <= kHevcIrapLast) {
      const bool idr = type == kHevcIdrWithRadl || type == kHevcIdrNoLeading;
      facts.key = true;
      facts.kind = idr ? KeyKind::kIdr : KeyKind::kOpen;
    }
  }
  facts.nonref = any && !referenced;
  return facts;
}

// MPEG-1/2 and MPEG-4 part 2: pictures behind 00 00 01 `code`.
struct StartCodes {
  int intra = 0;
  int predicted = 0;
  int bidirectional = 0;
  bool closed = false;
};

StartCodes ScanStartCodes(ByteSpan packet, bool mpeg4) {
  StartCodes found;
  for (size_t i = 0; i + 5 < packet.size(); ++i) {
    if (packet[i] != 0 || packet[i + 1] != 0 || packet[i + 2] != 1) continue;
    const uint8_t code = packet[i + 3];
    int type = -1;  // 0 I, 1 P, 2 B
    if (mpeg4 && code == 0xb6) {
      type = packet[i + 4] >> 6;
      if (type == 3) type = 1;  // sprites predict
    } else if (!mpeg4 && code == 0x00) {
      type = ((packet[i + 5] >> 3) & 7) - 1;
    } else if (!mpeg4 && code == 0xb8 && i + 7 < packet.size()) {
      found.closed = (packet[i + 7] & 0x40) != 0;
    }
    if (type == 0) ++found.intra;
    if (type == 1) ++found.predicted;
    if (type == 2) ++found.bidirectional;
    i += 3;
  }
  return found;
}

PictureFacts InspectMpeg(ByteSpan packet, bool mpeg4, bool flagged_key) {
  PictureFacts facts;
  const StartCodes found = ScanStartCodes(packet, mpeg4);
  // MPEG-4 streams may be packed: a picture travels in an earlier packet and
  // comes out when its own arrives, so that no packet can be left out.
  facts.nonref = !mpeg4 && found.bidirectional > 0 && found.intra == 0 &&
                 found.predicted == 0;
  facts.key = flagged_key && found.intra > 0;
  if (facts.key) {
    facts.kind = found.closed ? KeyKind::kIdr : KeyKind::kOpen;
  }
  return facts;
}

bool IsVp9Key(ByteSpan packet) {
  BitReader bits(packet);
  if (bits.Bits(2) != 2) return false;  // frame_marker
  const uint32_t low = bits.Bits(1);
  const uint32_t high = bits.Bits(1);
  if (low + 2 * high == 3) bits.Bits(1);
  if (bits.Bits(1) != 0) return false;  // show_existing_frame
  return bits.Bits(1) == 0 && !bits.past_end();
}

bool IsIntraOnly(const std::string& codec) {
  for (const char* name : {"mjpeg", "prores", "dnxhd", "huffyuv", "ffvhuff",
                           "utvideo", "magicyuv", "png"}) {
    if (codec == name) return true;
  }
  return false;
}

PictureFacts Plain(bool key, KeyKind kind) {
  PictureFacts facts;
  facts.key = key;
  facts.kind = key ? kind : KeyKind::kNone;
  return facts;
}

}  // namespace

uint32_t BitReader::Bits(unsigned count) {
  uint32_t v = 0;
  for (unsigned i = 0; i < count; ++i, ++at_) {
    const size_t byte = at_ / 8;
    const uint32_t bit =
        byte < bytes_.size() ? (bytes_[byte] >> (7 - at_ % 8)) & 1u : 0;
    v = v << 1 | bit;
  }
  return v;
}

uint32_t BitReader::ExpGolomb() {
  unsigned zeros = 0;
  while (zeros < 32 && !past_end() && Bits(1) == 0) ++zeros;
  if (zeros >= 32 || past_end()) return UINT32_MAX;
  return (1u << zeros) - 1 + Bits(zeros);
}

std::vector<ByteSpan> SplitNals(ByteSpan packet, NalFormat format,
                                unsigned length_size) {
  std::vector<ByteSpan> nals;
  if (format == NalFormat::kLengthPrefixed) {
    while (packet.size() > length_size) {
      uint32_t size = 0;
      for (unsigned i = 0; i < length_size; ++i) size = size << 8 | packet[i];
      packet = packet.subspan(length_size);
      const size_t taken = std::min<size_t>(size, packet.size());
      if (taken > 0) nals.push_back(packet.first(taken));
      packet = packet.subspan(taken);
    }
    return nals;
  }
  const auto start_code = [&](size_t from) {
    for (size_t i = from; i + 2 < packet.size(); ++i) {
      if (packet[i + 2] > 1) {
        i += 2;
      } else if (packet[i] == 0 && packet[i + 1] == 0 && packet[i + 2] == 1) {
        return i;
      }
    }
    return packet.size();
  };
  size_t at = start_code(0);
  while (at < packet.size()) {
    const size_t begin = at + 3;
    at = start_code(begin);
    size_t end = at;
    // Zeros before a start code belong to it or are trailing_zero_8bits.
    while (end > begin && packet[end - 1] == 0) --end;
    if (end > begin) nals.push_back(packet.subspan(begin, end - begin));
  }
  return nals;
}

Bytes Unescape(ByteSpan nal, size_t max) {
  Bytes out;
  int zeros = 0;
  for (uint8_t b : nal) {
    if (out.size() >= max) break;
    if (zeros >= 2 && b == 3) {
      zeros = 0;
      continue;
    }
    zeros = b == 0 ? zeros + 1 : 0;
    out.push_back(b);
  }
  return out;
}

PictureFacts InspectPicture(const std::string& codec, ByteSpan packet,
                            NalFormat format, unsigned length_size,
                            bool flagged_key) {
  if (packet.empty()) return {};
  if (codec == "h264") {
    return InspectAvc(SplitNals(packet, format, length_size), flagged_key);
  }
  if (codec == "hevc") {
    return InspectHevc(SplitNals(packet, format, length_size));
  }
  if (codec == "mpeg2video" || codec == "mpeg1video" || codec == "mpeg4") {
    return InspectMpeg(packet, codec == "mpeg4", flagged_key);
  }
  if (codec == "vp8") return Plain((packet[0] & 1) == 0, KeyKind::kIdr);
  if (codec == "vp9") return Plain(IsVp9Key(packet), KeyKind::kIdr);
  if (codec == "av1") return Plain(flagged_key, KeyKind::kIdr);
  if (IsIntraOnly(codec)) return Plain(true, KeyKind::kIntra);
  // FFV1 may keep its contexts between frames; Theora, H.263 and the like have
  // closed GOPs; VC-1 and others may not.
  return Plain(flagged_key, KeyKind::kOpen);
}

}  // namespace rowfs::plugin
