#include "index/plugins/audio/sound_index.h"

#include <algorithm>

#include "index/plugins/audio/sound_columns.h"

namespace rowfs::plugin {
namespace {

constexpr uint8_t kVersion = 1;
constexpr size_t kExtensionMax = 8;
constexpr size_t kCrcAt = kSoundHeadSize - 4;

struct Sums {
  uint64_t body_size = 0;
  uint32_t body_crc = 0;
  uint64_t entries_size = 0;
  uint32_t entries_crc = 0;
};

void PutShortText(const std::string& text, ByteWriter* out) {
  const size_t size = std::min(text.size(), kExtensionMax);
  out->U8(static_cast<uint8_t>(size));
  out->Text(std::string_view(text).substr(0, size));
}

// An extension becomes a part of a file name.
std::string TakeExtension(ByteReader* in) {
  const uint8_t size = in->U8();
  if (size > kExtensionMax) in->Fail();
  const std::string text(AsText(in->Take(in->ok() ? size : 0)));
  for (const char c : text) {
    if (!((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'))) in->Fail();
  }
  return text;
}

Bytes WriteHead(const SoundHead& head, const Sums& sums) {
  ByteWriter out;
  out.Text(std::string_view(kSoundMagic, 4));
  out.U8(kVersion);
  out.U8(static_cast<uint8_t>((head.stored ? 1 : 0) | (head.exact ? 2 : 0) |
                              (head.linear ? 4 : 0) | (head.ogg_pages ? 8 : 0) |
                              (head.cover_is_png ? 16 : 0)));
  out.U8(static_cast<uint8_t>(head.file));
  out.U8(static_cast<uint8_t>(head.type));
  out.U64(head.blob_size);
  out.U64(head.samples);
  out.U32(head.sample_rate);
  out.U16(head.channels);
  out.U64(head.whole_size);
  out.U64(head.info_size);
  out.U64(head.original_size);
  out.U64(head.cover_offset);
  out.U64(head.cover_size);
  out.U64(sums.body_size);
  out.U32(sums.body_crc);
  out.U64(sums.entries_size);
  out.U32(sums.entries_crc);
  PutShortText(head.extension, &out);
  PutShortText(head.source_extension, &out);
  while (out.size() < kCrcAt) out.U8(0);
  const uint32_t crc = Crc32(out.bytes());
  out.U32(crc);
  return std::move(out.bytes());
}

Result<SoundHead> ReadHead(ByteSpan bytes, Sums* sums) {
  if (bytes.size() < kSoundHeadSize ||
      AsText(bytes.first(4)) != std::string_view(kSoundMagic, 4)) {
    return Corrupt("not the index of a sound");
  }
  if (bytes[4] != kVersion) {
    return Unsupported("the index was written by another release");
  }
  ByteReader crc(bytes.subspan(kCrcAt, 4));
  if (crc.U32() != Crc32(bytes.first(kCrcAt))) {
    return Corrupt("the head of the index is damaged");
  }
  ByteReader in(bytes.subspan(5, kCrcAt - 5));
  SoundHead head;
  const uint8_t flags = in.U8();
  head.stored = (flags & 1) != 0;
  head.exact = (flags & 2) != 0;
  head.linear = (flags & 4) != 0;
  head.ogg_pages = (flags & 8) != 0;
  head.cover_is_png = (flags & 16) != 0;
  const uint8_t file = in.U8();
  const uint8_t type = in.U8();
  head.blob_size = in.U64();
  head.samples = in.U64();
  head.sample_rate = in.U32();
  head.channels = in.U16();
  head.whole_size = in.U64();
  head.info_size = in.U64();
  head.original_size = in.U64();
  head.cover_offset = in.U64();
  head.cover_size = in.U64();
  sums->body_size = in.U64();
  sums->body_crc = in.U32();
  sums->entries_size = in.U64();
  sums->entries_crc = in.U32();
  head.extension = TakeExtension(&in);
  head.source_extension = TakeExtension(&in);
  uint64_t cover_end = 0;
  if (!in.ok() || file > static_cast<uint8_t>(SoundFile::kRaw) ||
      type > static_cast<uint8_t>(SampleType::kF64) || head.channels == 0 ||
      head.channels > kSoundChannelsMax || head.sample_rate == 0 ||
      head.sample_rate > kSoundRateMax || head.samples == 0 ||
      head.samples > kSoundSamplesMax ||
      !AddFits(head.cover_offset, head.cover_size, &cover_end) ||
      cover_end > head.blob_size || head.original_size > head.blob_size ||
      (head.stored && (head.whole_size == 0 || head.extension.empty()))) {
    return Corrupt("the head of the index is wrong");
  }
  head.file = static_cast<SoundFile>(file);
  head.type = static_cast<SampleType>(type);
  return head;
}

void WriteBody(const SoundIndex& index, ByteWriter* out) {
  out->Block(AsBytes(index.codec));
  out->Block(index.extradata);
  out->U32(index.codec_tag);
  out->Signed(index.profile);
  out->U64(index.channel_mask);
  out->Varint(index.block_align);
  out->Varint(index.bits_coded);
  out->Varint(index.bits_raw);
  out->Varint(index.frame_size);
  out->Signed(index.bit_rate);
  out->Varint(index.linear_offset);
  out->Varint(index.segment_ns);
  out->Block(index.sample_entry);
  out->Block(AsBytes(index.source_format));
  out->Varint(index.source_size);
  out->Varint(index.streams.size());
  for (const SoundStream& stream : index.streams) {
    out->Block(AsBytes(stream.kind));
    out->Block(AsBytes(stream.codec));
    out->Block(AsBytes(stream.language));
    out->Varint(stream.sample_rate);
    out->Varint(stream.channels);
  }
  out->Varint(index.tags.size());
  for (const auto& [key, value] : index.tags) {
    out->Block(AsBytes(key));
    out->Block(AsBytes(value));
  }
  out->Varint(index.envelope.size());
  for (const auto& [low, high] : index.envelope) {
    out->U16(static_cast<uint16_t>(low));
    out->U16(static_cast<uint16_t>(high));
  }
}

void ReadDescription(ByteReader* in, SoundIndex* index) {
  index->source_format = in->Text(kSoundTextMax);
  index->source_size = in->Varint();
  const uint64_t streams = in->Varint(kSoundStreamsMax);
  for (uint64_t i = 0; i < streams && in->ok(); ++i) {
    SoundStream stream;
    stream.kind = in->Text(kSoundTextMax);
    stream.codec = in->Text(kSoundTextMax);
    stream.language = in->Text(kSoundTextMax);
    stream.sample_rate = in->Varint32();
    stream.channels = static_cast<uint16_t>(in->Varint(UINT16_MAX));
    index->streams.push_back(std::move(stream));
  }
  const uint64_t tags = in->Varint(kSoundTagsMax);
  for (uint64_t i = 0; i < tags && in->ok(); ++i) {
    std::string key = in->Text(kSoundTextMax);
    index->tags.emplace_back(std::move(key), in->Text(kSoundTextMax));
  }
  const uint64_t parts = in->Varint(kEnvelopeMax);
  for (uint64_t i = 0; i < parts && in->ok(); ++i) {
    const auto low = static_cast<int16_t>(in->U16());
    index->envelope.emplace_back(low, static_cast<int16_t>(in->U16()));
  }
}

Status ReadBody(ByteSpan bytes, SoundIndex* index) {
  ByteReader in(bytes);
  index->codec = in.Text(64);
  const ByteSpan extradata = in.Block(kSoundExtradataMax);
  index->extradata.assign(extradata.begin(), extradata.end());
  index->codec_tag = in.U32();
  const int64_t profile = in.Signed();
  index->channel_mask = in.U64();
  index->block_align = in.Varint32(1u << 20);
  index->bits_coded = static_cast<uint16_t>(in.Varint(256));
  index->bits_raw = static_cast<uint16_t>(in.Varint(256));
  index->frame_size = in.Varint32(kSoundPacketSamplesMax);
  index->bit_rate = in.Signed();
  index->linear_offset = in.Varint();
  index->segment_ns = in.Varint(kSegmentNsMax);
  const ByteSpan entry = in.Block(kSoundExtradataMax + 8192);
  index->sample_entry.assign(entry.begin(), entry.end());
  ReadDescription(&in, index);
  if (!in.ok() || in.remaining() != 0 || profile < INT32_MIN ||
      profile > INT32_MAX || index->segment_ns < kSegmentNsMin) {
    return Corrupt("the description in the index is damaged");
  }
  index->profile = static_cast<int32_t>(profile);
  return {};
}

}  // namespace

uint32_t BytesOf(SampleType type) {
  constexpr uint32_t kBytes[] = {1, 2, 3, 4, 4, 8};
  return kBytes[static_cast<size_t>(type)];
}

Status SoundIndex::Derive() {
  heard_before.assign(1, 0);
  if (head.linear) {
    uint64_t size = 0;
    uint64_t end = 0;
    if (block_align == 0 ||
        __builtin_mul_overflow(head.samples, uint64_t{block_align}, &size) ||
        !AddFits(linear_offset, size, &end) || end > head.blob_size) {
      return Corrupt("the index points past the blob");
    }
    return {};
  }
  heard_before.reserve(packets.size() + 1);
  for (const SoundPacket& packet : packets) {
    heard_before.push_back(heard_before.back() + packet.heard());
  }
  if (heard_before.back() != head.samples) {
    return Corrupt("the packets do not add up");
  }
  return {};
}

uint32_t SoundIndex::PacketOf(uint64_t n) const {
  const auto after =
      std::upper_bound(heard_before.begin(), heard_before.end(), n);
  return static_cast<uint32_t>(after - heard_before.begin() - 1);
}

Result<SoundHead> ParseSoundHead(ByteSpan stream_info) {
  Sums sums;
  return ReadHead(stream_info, &sums);
}

Result<SoundIndex> ParseSoundIndex(ByteSpan stream_info, ByteSpan entries,
                                   uint64_t blob_size) {
  Sums sums;
  SoundIndex index;
  PLUGIN_ASSIGN_OR_RETURN(index.head, ReadHead(stream_info, &sums));
  const ByteSpan body = stream_info.subspan(kSoundHeadSize);
  if (body.size() != sums.body_size || Crc32(body) != sums.body_crc ||
      entries.size() != sums.entries_size ||
      Crc32(entries) != sums.entries_crc) {
    return Corrupt("the index is damaged");
  }
  if (index.head.blob_size != blob_size) {
    return Corrupt("the blob does not have the size its index says");
  }
  PLUGIN_RETURN_IF_ERROR(ReadBody(body, &index));
  PLUGIN_RETURN_IF_ERROR(ReadColumns(entries, &index));
  PLUGIN_RETURN_IF_ERROR(index.Derive());
  return index;
}

EncodedSound EncodeSoundIndex(const SoundIndex& index) {
  ByteWriter body;
  WriteBody(index, &body);
  EncodedSound out;
  out.entries = WriteColumns(index);
  Sums sums;
  sums.body_size = body.size();
  sums.body_crc = Crc32(body.bytes());
  sums.entries_size = out.entries.size();
  sums.entries_crc = Crc32(out.entries);
  out.stream_info = WriteHead(index.head, sums);
  out.stream_info.insert(out.stream_info.end(), body.bytes().begin(),
                         body.bytes().end());
  return out;
}

}  // namespace rowfs::plugin
