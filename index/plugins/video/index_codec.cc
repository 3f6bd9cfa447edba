#include <algorithm>

#include "index/plugins/video/index_format.h"
#include "index/plugins/video/pes.h"

namespace rowfs::plugin {
namespace {

constexpr size_t kSoundInfoBytesMax = 4 << 20;

Status CheckOffsets(const MediaIndex& index, uint64_t packet_bytes) {
  if (index.head.layout == Layout::kStored) {
    const uint64_t blob = index.head.blob_size;
    const bool tail = !index.original.empty();
    if (packet_bytes > blob || (!tail && packet_bytes != blob)) {
      return Corrupt("the packets of entries do not fill the blob");
    }
    return {};
  }
  for (const Stream& s : index.streams) {
    for (size_t i = 0; i < s.packets.size(); ++i) {
      const Packet& p = s.packets[i];
      const bool whole = s.pes.kind == PesKind::kNone;
      const uint64_t span = whole ? p.size : s.scattered[i].span;
      uint64_t end = 0;
      if (!AddFits(p.offset, span, &end) || end > index.head.blob_size) {
        return Corrupt("a packet of entries lies past the end of the blob");
      }
    }
  }
  return {};
}

// What the rest of the plugin relies on without looking again.
Status CheckMeaning(const MediaIndex& index) {
  const Stream& video = index.video();
  for (const Gop& gop : index.gops) {
    const bool first = gop.first_packet == 0;
    if (!first && !video.packets[gop.first_packet].key()) {
      return Corrupt("a GOP of entries does not start with a key packet");
    }
  }
  uint32_t keys = 0;
  int64_t previous = -kTicksMax;
  for (uint32_t ordinal : index.shown) {
    const Packet& p = video.packets[ordinal];
    if (p.key()) ++keys;
    if (p.pts < previous) return Corrupt("the frames of entries are unsorted");
    previous = p.pts;
  }
  if (keys != index.head.key_frame_count) {
    return Corrupt("stream_info and entries count different key frames");
  }
  const ExactTime start =
      ExactTime::FromTicks(index.head.start_tick, index.head.start_base);
  for (const Stream& s : index.streams) {
    for (int64_t tick : {-kTicksMax, kTicksMax}) {
      if (!ExactTime::FromTicks(tick, s.time_base).Minus(start)) {
        return Corrupt("stream_info has time bases without common multiple");
      }
    }
  }
  return {};
}

// Places and sizes of the packets are those of the stream, written once.
void WriteSound(const MediaIndex& index, ByteWriter* body,
                ByteWriter* entries) {
  SoundIndex sound = index.sound->index;
  sound.head.blob_size = index.head.blob_size;
  for (SoundPacket& packet : sound.packets) packet.offset = packet.size = 0;
  const EncodedSound encoded = EncodeSoundIndex(sound);
  ByteWriter info;
  info.Varint(index.sound->stream);
  info.Raw(encoded.stream_info);
  body->Block(info.bytes());
  entries->Block(encoded.entries);
}

Status ReadSound(ByteSpan info, ByteSpan entries, MediaIndex* index) {
  ByteReader in(info);
  MediaSound sound;
  sound.stream = in.Varint32(kStreamsMax);
  if (!in.ok() || sound.stream >= index->streams.size()) {
    return Corrupt("the sound of stream_info is damaged");
  }
  PLUGIN_ASSIGN_OR_RETURN(
      sound.index, ParseSoundIndex(info.subspan(info.size() - in.remaining()),
                                   entries, index->head.blob_size));
  const Stream& stream = index->streams[sound.stream];
  if (stream.kind != StreamKind::kAudio ||
      stream.packets.size() != sound.index.packets.size()) {
    return Corrupt("the sound of entries has other packets than its stream");
  }
  for (size_t i = 0; i < stream.packets.size(); ++i) {
    sound.index.packets[i].offset = stream.packets[i].offset;
    sound.index.packets[i].size = stream.packets[i].size;
    if (stream.pes.kind == PesKind::kNone) continue;
    sound.index.packets[i].skip = stream.scattered[i].skip;
    sound.index.packets[i].span = stream.scattered[i].span;
  }
  if (stream.pes.kind != PesKind::kNone) {
    sound.index.gather = [pes = stream.pes](ByteSpan bytes,
                                            const SoundPacket& packet) {
      return GatherPacket(pes, bytes, packet.skip, packet.size);
    };
  }
  index->sound = std::move(sound);
  return {};
}

}  // namespace

Result<MediaIndex> ParseIndex(ByteSpan stream_info, ByteSpan entries,
                              uint64_t blob_size) {
  MediaIndex index;
  BodySums sums;
  PLUGIN_ASSIGN_OR_RETURN(index.head, ReadHead(stream_info, &sums));
  const ByteSpan body = stream_info.subspan(kHeadSize);
  if (body.size() != sums.body_size || Crc32(body) != sums.body_crc) {
    return Corrupt("stream_info is damaged or cut off: wrong checksum");
  }
  if (entries.size() != sums.entries_size ||
      Crc32(entries) != sums.entries_crc) {
    return Corrupt("entries are damaged or cut off: wrong checksum");
  }
  if (index.head.blob_size != blob_size) {
    return Corrupt("the blob has " + std::to_string(blob_size) +
                   " bytes, its index says " +
                   std::to_string(index.head.blob_size));
  }
  std::vector<uint32_t> counts;
  ByteReader streams(body);
  ByteReader packets(entries);
  ByteSpan sound_info;
  ByteSpan sound_packets;
  if (index.head.has_sound) {
    sound_info = streams.Block(kSoundInfoBytesMax);
    sound_packets = packets.Block(entries.size());
  }
  PLUGIN_RETURN_IF_ERROR(ReadStreams(&streams, &index, &counts));
  PLUGIN_RETURN_IF_ERROR(ReadPackets(counts, &packets, &index));
  uint64_t packet_bytes = 0;
  if (index.head.layout == Layout::kStored) {
    packet_bytes = PlaceStoredPackets(&index);
  }
  PLUGIN_RETURN_IF_ERROR(CheckOffsets(index, packet_bytes));
  PLUGIN_RETURN_IF_ERROR(CheckMeaning(index));
  if (index.head.has_sound) {
    PLUGIN_RETURN_IF_ERROR(ReadSound(sound_info, sound_packets, &index));
  }
  index.Derive();
  return index;
}

Result<EncodedIndex> EncodeIndex(const MediaIndex& index) {
  if (index.head.layout == Layout::kStored) {
    MediaIndex placed = index;
    PlaceStoredPackets(&placed);
    for (size_t i = 0; i < index.streams.size(); ++i) {
      const auto& a = index.streams[i].packets;
      const auto& b = placed.streams[i].packets;
      for (size_t k = 0; k < a.size(); ++k) {
        if (a[k].offset != b[k].offset) {
          return Internal("packets were not stored in the order of the index");
        }
      }
    }
  }
  ByteWriter body;
  ByteWriter entries;
  if (index.sound) WriteSound(index, &body, &entries);
  WriteStreams(index, &body);
  PLUGIN_RETURN_IF_ERROR(WritePackets(index, &entries));
  BodySums sums;
  sums.body_size = body.size();
  sums.body_crc = Crc32(body.bytes());
  sums.entries_size = entries.size();
  sums.entries_crc = Crc32(entries.bytes());
  ByteWriter stream_info;
  WriteHead(index.head, sums, &stream_info);
  stream_info.Raw(body.bytes());
  return EncodedIndex{std::move(stream_info.bytes()),
                      std::move(entries.bytes())};
}

}  // namespace rowfs::plugin
