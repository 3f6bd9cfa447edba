#include "index/plugins/audio/sound_columns.h"

#include <functional>

namespace rowfs::plugin {
namespace {

enum : uint8_t { kPlain = 0, kRuns = 1 };

// One number per packet: plain varints, or pairs (run, value) when that is
// shorter.
void PutColumn(size_t count, const std::function<uint64_t(size_t)>& get,
               ByteWriter* out) {
  ByteWriter plain;
  ByteWriter runs;
  for (size_t i = 0; i < count;) {
    size_t end = i + 1;
    while (end < count && get(end) == get(i)) ++end;
    runs.Varint(end - i);
    runs.Varint(get(i));
    for (; i < end; ++i) plain.Varint(get(i));
  }
  const bool shorter = runs.size() < plain.size();
  out->U8(shorter ? kRuns : kPlain);
  out->Raw(shorter ? runs.bytes() : plain.bytes());
}

void TakeColumn(size_t count, uint64_t max, ByteReader* in,
                const std::function<void(size_t, uint64_t)>& set) {
  const uint8_t mode = in->U8();
  if (mode > kRuns) in->Fail();
  for (size_t i = 0; i < count && in->ok();) {
    const uint64_t run = mode == kRuns ? in->Varint(count - i) : 1;
    const uint64_t value = in->Varint(max);
    if (run == 0) in->Fail();
    for (uint64_t n = 0; n < run && in->ok(); ++n) set(i++, value);
  }
}

uint64_t ZigZag(int64_t v) {
  return (static_cast<uint64_t>(v) << 1) ^ (v < 0 ? UINT64_MAX : 0);
}
int64_t UnZigZag(uint64_t v) {
  return static_cast<int64_t>(v >> 1) ^ -static_cast<int64_t>(v & 1);
}

// Where a packet would lie if nothing were between it and the one before.
uint64_t Expected(const SoundIndex& index, size_t i) {
  if (i == 0) return 0;
  const SoundPacket& before = index.packets[i - 1];
  return before.offset + (index.head.ogg_pages ? 0 : before.size);
}

using Field = uint32_t SoundPacket::*;

Status CheckPacket(const SoundIndex& index, const SoundPacket& packet) {
  uint64_t end = 0;
  const uint64_t length = index.head.ogg_pages ? packet.span : packet.size;
  if (!AddFits(packet.offset, length, &end) || end > index.head.blob_size) {
    return Corrupt("a packet lies outside the blob");
  }
  if (uint64_t{packet.front} + packet.back > packet.samples) {
    return Corrupt("a packet loses more samples than it has");
  }
  return {};
}

Status ReadPages(ByteReader* in, SoundIndex* index) {
  const uint64_t count = in->Varint(index->packets.size());
  if (count * 4 > in->remaining()) in->Fail();
  if (!in->ok()) return Corrupt("the pages in the index are damaged");
  index->pages.resize(static_cast<size_t>(count));
  uint64_t sum = 0;
  TakeColumn(index->pages.size(), kOggPagePacketsMax, in,
             [&](size_t i, uint64_t v) {
               index->pages[i].packets = static_cast<uint32_t>(v);
               sum += v;
             });
  for (OggPage& page : index->pages) page.crc = in->U32();
  const bool needed = index->head.file == SoundFile::kOgg;
  if (!in->ok() || in->remaining() != 0 ||
      (needed && sum != index->packets.size())) {
    return Corrupt("the pages in the index are damaged");
  }
  return {};
}

}  // namespace

Bytes WriteColumns(const SoundIndex& index) {
  ByteWriter out;
  const auto& packets = index.packets;
  const size_t count = packets.size();
  out.Varint(count);
  for (const Field field :
       {&SoundPacket::size, &SoundPacket::samples, &SoundPacket::front,
        &SoundPacket::back, &SoundPacket::preroll, &SoundPacket::skip,
        &SoundPacket::span}) {
    PutColumn(
        count, [&](size_t i) { return packets[i].*field; }, &out);
  }
  PutColumn(
      count,
      [&](size_t i) {
        return ZigZag(static_cast<int64_t>(packets[i].offset) -
                      static_cast<int64_t>(Expected(index, i)));
      },
      &out);
  out.Varint(index.pages.size());
  PutColumn(
      index.pages.size(), [&](size_t i) { return index.pages[i].packets; },
      &out);
  for (const OggPage& page : index.pages) out.U32(page.crc);
  return std::move(out.bytes());
}

Status ReadColumns(ByteSpan entries, SoundIndex* index) {
  ByteReader in(entries);
  const uint64_t count = in.Varint(kSoundPacketsMax);
  if (!in.ok() || (index->head.linear ? count != 0 : count == 0)) {
    return Corrupt("the packets in the index are damaged");
  }
  index->packets.resize(static_cast<size_t>(count));
  const struct {
    Field field;
    uint64_t max;
  } columns[] = {{&SoundPacket::size, kSoundPacketBytesMax},
                 {&SoundPacket::samples, kSoundPacketSamplesMax},
                 {&SoundPacket::front, kSoundPacketSamplesMax},
                 {&SoundPacket::back, kSoundPacketSamplesMax},
                 {&SoundPacket::preroll, 1u << 16},
                 {&SoundPacket::skip, 1u << 16},
                 {&SoundPacket::span, UINT32_MAX}};
  for (const auto& column : columns) {
    TakeColumn(index->packets.size(), column.max, &in,
               [&](size_t i, uint64_t v) {
                 index->packets[i].*column.field = static_cast<uint32_t>(v);
               });
  }
  TakeColumn(index->packets.size(), UINT64_MAX, &in, [&](size_t i, uint64_t v) {
    index->packets[i].offset =
        Expected(*index, i) + static_cast<uint64_t>(UnZigZag(v));
  });
  if (!in.ok()) return Corrupt("the packets in the index are damaged");
  for (const SoundPacket& packet : index->packets) {
    PLUGIN_RETURN_IF_ERROR(CheckPacket(*index, packet));
  }
  return ReadPages(&in, index);
}

}  // namespace rowfs::plugin
