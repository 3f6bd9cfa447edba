// An MP4 file with one track: the index of the packets in front of one mdat,
// delays as an edit list (ISO/IEC 14496-12).
#include <algorithm>

#include "index/plugins/audio/sound_file.h"

namespace rowfs::plugin {
namespace {

// Puts a box around what is written while it lives.
class Box {
 public:
  Box(const char* type, ByteWriter* out) : out_(out), at_(out->size()) {
    out->Big32(0);
    out->Text(type);
  }
  ~Box() {
    const size_t size = out_->size() - at_;
    for (size_t i = 0; i < 4; ++i) {
      out_->bytes()[at_ + i] = static_cast<uint8_t>(size >> (8 * (3 - i)));
    }
  }
  Box(const Box&) = delete;
  Box& operator=(const Box&) = delete;

 private:
  ByteWriter* out_;
  size_t at_;
};

constexpr uint32_t kVersion1 = 1u << 24;
constexpr uint16_t kUndetermined = 0x55c4;  // language "und"
constexpr size_t kMdatHeader = 16;

void PutMatrix(ByteWriter* out) {
  for (const uint32_t v : {65536u, 0u, 0u, 0u, 65536u, 0u, 0u, 0u, 1u << 30}) {
    out->Big32(v);
  }
}

struct Durations {
  uint64_t raw = 0;
  uint64_t heard = 0;
  uint64_t front = 0;
};

// Every packet lasts as long as its samples; the last one may be shorter.
void PutTimes(const SoundIndex& index, ByteWriter* out) {
  Box stts("stts", out);
  out->Big32(0);
  std::vector<std::pair<uint32_t, uint32_t>> runs;
  for (const SoundPacket& packet : index.packets) {
    if (!runs.empty() && runs.back().second == packet.samples) {
      ++runs.back().first;
    } else {
      runs.emplace_back(1, packet.samples);
    }
  }
  out->Big32(static_cast<uint32_t>(runs.size()));
  for (const auto& [count, samples] : runs) {
    out->Big32(count);
    out->Big32(samples);
  }
}

// One chunk for every run of neighbours, at `base` of the file.
void PutChunks(const SoundIndex& index, uint64_t base, ByteWriter* out) {
  {
    Box stsc("stsc", out);
    out->Big32(0);
    out->Big32(1);
    out->Big32(1);
    out->Big32(static_cast<uint32_t>(index.packets.size()));
    out->Big32(1);
  }
  {
    Box stsz("stsz", out);
    out->Big32(0);
    out->Big32(0);
    out->Big32(static_cast<uint32_t>(index.packets.size()));
    for (const SoundPacket& packet : index.packets) out->Big32(packet.size);
  }
  Box co64("co64", out);
  out->Big32(0);
  out->Big32(1);
  out->Big64(base);
}

void PutMedia(const SoundIndex& index, const Durations& durations,
              uint64_t base, ByteWriter* out) {
  Box mdia("mdia", out);
  {
    Box mdhd("mdhd", out);
    out->Big32(kVersion1);
    out->Big64(0);
    out->Big64(0);
    out->Big32(index.head.sample_rate);
    out->Big64(durations.raw);
    out->Big16(kUndetermined);
    out->Big16(0);
  }
  {
    Box hdlr("hdlr", out);
    out->Big32(0);
    out->Big32(0);
    out->Text("soun");
    out->Big64(0);
    out->Big32(0);
    out->U8(0);
  }
  Box minf("minf", out);
  {
    Box smhd("smhd", out);
    out->Big64(0);
  }
  {
    Box dinf("dinf", out);
    Box dref("dref", out);
    out->Big32(0);
    out->Big32(1);
    Box url("url ", out);
    out->Big32(1);
  }
  Box stbl("stbl", out);
  {
    Box stsd("stsd", out);
    out->Big32(0);
    out->Big32(1);
    out->Raw(index.sample_entry);
  }
  PutTimes(index, out);
  PutChunks(index, base, out);
}

void PutMovie(const SoundIndex& index, uint64_t base, ByteWriter* out) {
  Durations durations;
  for (const SoundPacket& packet : index.packets) {
    durations.raw += packet.samples;
  }
  durations.heard = index.head.samples;
  durations.front = LeadingSamples(index);
  Box moov("moov", out);
  {
    Box mvhd("mvhd", out);
    out->Big32(kVersion1);
    out->Big64(0);
    out->Big64(0);
    out->Big32(index.head.sample_rate);
    out->Big64(durations.heard);
    out->Big32(65536);
    out->Big16(256);
    out->Big16(0);
    out->Big64(0);
    PutMatrix(out);
    for (int i = 0; i < 6; ++i) out->Big32(0);
    out->Big32(2);
  }
  Box trak("trak", out);
  {
    Box tkhd("tkhd", out);
    out->Big32(kVersion1 | 3);
    out->Big64(0);
    out->Big64(0);
    out->Big32(1);
    out->Big32(0);
    out->Big64(durations.heard);
    out->Big64(0);
    out->Big32(0);
    out->Big16(256);
    out->Big16(0);
    PutMatrix(out);
    out->Big64(0);
  }
  if (durations.raw != durations.heard) {
    Box edts("edts", out);
    Box elst("elst", out);
    out->Big32(kVersion1);
    out->Big32(1);
    out->Big64(durations.heard);
    out->Big64(durations.front);
    out->Big32(65536);
  }
  PutMedia(index, durations, base, out);
}

}  // namespace

Result<std::vector<SoundPiece>> PlanM4a(const SoundIndex& index) {
  if (index.sample_entry.empty()) {
    return Unsupported("MP4 does not carry this codec");
  }
  std::vector<SoundPiece> packets;
  AppendPackets(index, &packets);
  const uint64_t bytes = SizeOf(packets);
  ByteWriter out;
  // Sizes do not depend on the position; the second time it is known.
  for (uint64_t base = 0;;) {
    out.bytes().clear();
    {
      Box ftyp("ftyp", &out);
      out.Text("M4A ");
      out.Big32(512);
      out.Text("M4A mp42isom");
    }
    PutMovie(index, base, &out);
    if (base != 0) break;
    base = out.size() + kMdatHeader;
  }
  out.Big32(1);
  out.Text("mdat");
  out.Big64(kMdatHeader + bytes);
  std::vector<SoundPiece> pieces;
  pieces.push_back({std::move(out.bytes()), 0, 0});
  pieces.insert(pieces.end(), packets.begin(), packets.end());
  return pieces;
}

}  // namespace rowfs::plugin
