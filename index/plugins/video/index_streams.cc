#include <algorithm>

#include "index/plugins/video/index_format.h"

namespace rowfs::plugin {
namespace {

void WriteBase(TimeBase base, ByteWriter* out) {
  out->Signed(base.num);
  out->Signed(base.den);
}

TimeBase ReadBase(ByteReader* in) {
  const int64_t num = in->Signed();
  const int64_t den = in->Signed();
  if (num < 0 || num > INT32_MAX || den < 1 || den > INT32_MAX) in->Fail();
  return {static_cast<int32_t>(num), static_cast<int32_t>(den)};
}

int32_t ReadInt32(ByteReader* in) {
  const int64_t v = in->Signed();
  if (v < INT32_MIN || v > INT32_MAX) in->Fail();
  return static_cast<int32_t>(v);
}

int64_t ReadTick(ByteReader* in) {
  const int64_t v = in->Signed();
  if (v < -kTicksMax || v > kTicksMax) in->Fail();
  return v;
}

void WritePicture(const Stream& s, ByteWriter* out) {
  out->Varint(s.width);
  out->Varint(s.height);
  WriteBase(s.sample_aspect, out);
  WriteBase(s.frame_rate, out);
  out->Block(AsBytes(s.pixel_format));
  out->U8(s.bit_depth);
  out->U8(s.has_alpha ? 1 : 0);
  out->U8(s.field_order);
  out->U8(s.reorder_depth);
  out->U8(s.colour.primaries);
  out->U8(s.colour.transfer);
  out->U8(s.colour.matrix);
  out->U8(s.colour.range);
  out->U8(s.colour.chroma_location);
  for (int32_t m : s.matrix) out->Signed(m);
}

void ReadPicture(ByteReader* in, Stream* s) {
  s->width = in->Varint32(kSideMax);
  s->height = in->Varint32(kSideMax);
  s->sample_aspect = ReadBase(in);
  s->frame_rate = ReadBase(in);
  s->pixel_format = in->Text(kTextMax);
  s->bit_depth = in->U8();
  s->has_alpha = in->U8() != 0;
  s->field_order = in->U8();
  s->reorder_depth = in->U8();
  s->colour.primaries = in->U8();
  s->colour.transfer = in->U8();
  s->colour.matrix = in->U8();
  s->colour.range = in->U8();
  s->colour.chroma_location = in->U8();
  for (int32_t& m : s->matrix) m = ReadInt32(in);
}

void WriteSound(const Stream& s, ByteWriter* out) {
  out->Varint(s.sample_rate);
  out->Varint(s.channels);
  out->U64(s.channel_mask);
  out->Varint(s.block_align);
  out->Varint(s.frame_size);
  out->Varint(s.initial_padding);
  out->Varint(s.trailing_padding);
  out->Varint(s.seek_preroll);
}

void ReadSound(ByteReader* in, Stream* s) {
  s->sample_rate = in->Varint32();
  s->channels = static_cast<uint16_t>(in->Varint(UINT16_MAX));
  s->channel_mask = in->U64();
  s->block_align = static_cast<uint16_t>(in->Varint(UINT16_MAX));
  s->frame_size = in->Varint32();
  s->initial_padding = in->Varint32();
  s->trailing_padding = in->Varint32();
  s->seek_preroll = in->Varint32();
}

bool IsPicture(const Stream& s) {
  return s.kind == StreamKind::kVideo || s.kind == StreamKind::kPicture;
}

void WriteStream(const Stream& s, ByteWriter* out) {
  out->U8(static_cast<uint8_t>(s.kind));
  out->U8(s.is_default ? 1 : 0);
  out->U8(static_cast<uint8_t>(s.nal));
  out->U8(s.nal_length_size);
  out->U8(static_cast<uint8_t>(s.pes.kind));
  out->U16(s.pes.id);
  out->U8(s.pes.packet_size);
  out->Block(AsBytes(s.codec));
  out->U32(s.fourcc);
  out->Signed(s.profile);
  out->Signed(s.level);
  WriteBase(s.time_base, out);
  out->Signed(s.bit_rate);
  out->Varint(s.bits_per_sample);
  out->Block(AsBytes(s.language));
  out->Block(AsBytes(s.title));
  out->Varint(s.extradata.size());
  for (const Bytes& e : s.extradata) out->Block(e);
  out->Varint(s.entries.size());
  for (const CodecEntries& e : s.entries) {
    out->Block(e.mp4);
    out->U8(e.quicktime ? 1 : 0);
    out->Block(e.matroska);
  }
  if (IsPicture(s)) WritePicture(s, out);
  if (s.kind == StreamKind::kAudio) WriteSound(s, out);
  out->Signed(s.first_tick);
  out->Signed(s.end_tick);
  out->Varint(s.packets.size());
}

Stream ReadStream(ByteReader* in, uint32_t* packet_count) {
  Stream s;
  const uint8_t kind = in->U8();
  s.is_default = in->U8() != 0;
  const uint8_t nal = in->U8();
  s.nal_length_size = in->U8();
  const uint8_t pes = in->U8();
  s.pes.id = in->U16();
  s.pes.packet_size = in->U8();
  if (pes > static_cast<uint8_t>(PesKind::kProgram) ||
      s.pes.packet_size < 188) {
    in->Fail();
    return s;
  }
  s.pes.kind = static_cast<PesKind>(pes);
  if (kind > static_cast<uint8_t>(StreamKind::kPicture) ||
      nal > static_cast<uint8_t>(NalFormat::kAnnexB) || s.nal_length_size < 1 ||
      s.nal_length_size > 4) {
    in->Fail();
    return s;
  }
  s.kind = static_cast<StreamKind>(kind);
  s.nal = static_cast<NalFormat>(nal);
  s.codec = in->Text(kTextMax);
  s.fourcc = in->U32();
  s.profile = ReadInt32(in);
  s.level = ReadInt32(in);
  s.time_base = ReadBase(in);
  if (s.time_base.num < 1) in->Fail();
  s.bit_rate = in->Signed();
  s.bits_per_sample = static_cast<uint16_t>(in->Varint(UINT16_MAX));
  s.language = in->Text(kTextMax);
  s.title = in->Text(kTextMax);
  const uint32_t extradata = in->Varint32(kExtradataMax);
  for (uint32_t i = 0; i < extradata && in->ok(); ++i) {
    const ByteSpan e = in->Block(kExtradataBytesMax);
    s.extradata.emplace_back(e.begin(), e.end());
  }
  const uint32_t entries = in->Varint32(kExtradataMax);
  for (uint32_t i = 0; i < entries && in->ok(); ++i) {
    CodecEntries e;
    const ByteSpan mp4 = in->Block(kCodecEntryBytesMax);
    e.mp4.assign(mp4.begin(), mp4.end());
    e.quicktime = in->U8() != 0;
    const ByteSpan matroska = in->Block(kCodecEntryBytesMax);
    e.matroska.assign(matroska.begin(), matroska.end());
    s.entries.push_back(std::move(e));
  }
  if (IsPicture(s)) ReadPicture(in, &s);
  if (s.kind == StreamKind::kAudio) ReadSound(in, &s);
  s.first_tick = ReadTick(in);
  s.end_tick = ReadTick(in);
  *packet_count = in->Varint32(kPacketsMax);
  return s;
}

}  // namespace

void WriteStreams(const MediaIndex& index, ByteWriter* out) {
  out->Block(AsBytes(index.source_format));
  out->Varint(index.source_size);
  out->Varint(index.tags.size());
  for (const auto& [key, value] : index.tags) {
    out->Block(AsBytes(key));
    out->Block(AsBytes(value));
  }
  out->Varint(index.streams.size());
  out->Varint(index.main);
  for (const Stream& s : index.streams) WriteStream(s, out);
}

Status ReadStreams(ByteReader* in, MediaIndex* index,
                   std::vector<uint32_t>* counts) {
  index->source_format = in->Text(kTextMax);
  index->source_size = in->Varint();
  const uint32_t tags = in->Varint32(kTagsMax);
  for (uint32_t i = 0; i < tags && in->ok(); ++i) {
    std::string key = in->Text(kTextMax);
    index->tags.emplace_back(std::move(key), in->Text(kTextMax));
  }
  const uint32_t streams = in->Varint32(kStreamsMax);
  index->main = in->Varint32(kStreamsMax);
  uint64_t total = 0;
  for (uint32_t i = 0; i < streams && in->ok(); ++i) {
    uint32_t count = 0;
    index->streams.push_back(ReadStream(in, &count));
    counts->push_back(count);
    total += count;
  }
  if (!in->ok() || in->remaining() != 0 || total > kPacketsMax ||
      index->main >= index->streams.size() ||
      index->video().kind != StreamKind::kVideo) {
    return Corrupt("the streams of stream_info are damaged");
  }
  return {};
}

}  // namespace rowfs::plugin
