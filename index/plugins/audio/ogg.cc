#include "index/plugins/audio/ogg.h"

#include <array>

namespace rowfs::plugin {
namespace {

constexpr size_t kFixedHeader = 27;
constexpr size_t kTableAt = 26;
constexpr uint32_t kSerial = 0x52574653;  // any number will do
constexpr size_t kPacketMax = 1u << 24;
// Bytes that are no page, at most, before the stream counts as ended.
constexpr size_t kGapMax = 64 << 10;

std::array<uint32_t, 256> MakeCrcTable() {
  std::array<uint32_t, 256> table{};
  for (uint32_t i = 0; i < 256; ++i) {
    uint32_t crc = i << 24;
    for (int bit = 0; bit < 8; ++bit) {
      crc = (crc << 1) ^ ((crc & 0x80000000u) != 0 ? 0x04c11db7u : 0);
    }
    table[i] = crc;
  }
  return table;
}

}  // namespace

uint32_t OggCrc(ByteSpan bytes, uint32_t crc) {
  static const std::array<uint32_t, 256> table = MakeCrcTable();
  for (const uint8_t byte : bytes) {
    crc = (crc << 8) ^ table[(crc >> 24) ^ byte];
  }
  return crc;
}

OggPageHead ReadOggHead(ByteSpan bytes) {
  OggPageHead head;
  if (bytes.size() < kFixedHeader || AsText(bytes.first(4)) != "OggS") {
    return head;
  }
  head.table = bytes[kTableAt];
  if (bytes.size() < kFixedHeader + head.table) return head;
  head.continued = (bytes[5] & 1) != 0;
  head.first = (bytes[5] & 2) != 0;
  head.serial = ByteReader(bytes.subspan(14, 4)).U32();
  head.size = kFixedHeader + head.table;
  for (size_t i = 0; i < head.table; ++i) head.size += bytes[kFixedHeader + i];
  return head;
}

Bytes OggHeader(const OggPageText& page, uint32_t crc) {
  ByteWriter out;
  out.Text("OggS");
  out.U8(0);
  out.U8(page.flags);
  out.U64(page.granule);
  out.U32(kSerial);
  out.U32(page.sequence);
  out.U32(crc);
  ByteWriter table;
  for (const uint32_t size : page.sizes) {
    for (uint32_t left = size;; left -= 255) {
      table.U8(static_cast<uint8_t>(left < 255 ? left : 255));
      if (left < 255) break;
    }
  }
  out.U8(static_cast<uint8_t>(table.size()));
  out.Raw(table.bytes());
  return std::move(out.bytes());
}

Result<std::optional<OggPacket>> OggWalker::Next() {
  while (ready_.empty()) {
    PLUGIN_ASSIGN_OR_RETURN(const bool more, ReadPage());
    if (!more) return std::optional<OggPacket>();
  }
  std::optional<OggPacket> packet(std::move(ready_.front()));
  ready_.pop_front();
  return packet;
}

Result<bool> OggWalker::ReadPage() {
  for (size_t gap = 0; gap < kGapMax; ++gap, ++offset_) {
    Bytes page(kOggHeaderMax);
    PLUGIN_ASSIGN_OR_RETURN(const size_t got, read_(offset_, page));
    if (got < kFixedHeader) return false;
    page.resize(got);
    const OggPageHead head = ReadOggHead(page);
    if (head.size == 0) continue;
    if (!serial_) serial_ = head.serial;
    const uint64_t at = offset_;
    offset_ += head.size;
    if (head.serial == *serial_) {
      page.resize(head.size);
      PLUGIN_ASSIGN_OR_RETURN(const size_t whole, read_(at, page));
      if (whole < page.size()) return false;
      Cut(page, at, head);
    }
    if (open_ && open_->data.size() > kPacketMax) {
      return Corrupt("an Ogg packet is too long");
    }
    return true;
  }
  return false;
}

void OggWalker::Cut(const Bytes& page, uint64_t at, const OggPageHead& head) {
  // The rest of a packet whose start was not seen belongs to nobody.
  bool dropping = head.continued && !open_;
  if (!head.continued) open_.reset();
  size_t from = kFixedHeader + head.table;
  uint32_t started = 0;
  for (size_t i = 0; i < head.table; ++i) {
    if (!open_ && !dropping) {
      open_.emplace();
      open_->offset = at;
      open_->skip = started++;
    }
    const size_t size = page[kFixedHeader + i];
    if (open_) {
      open_->data.insert(open_->data.end(),
                         page.begin() + static_cast<ptrdiff_t>(from),
                         page.begin() + static_cast<ptrdiff_t>(from + size));
    }
    from += size;
    if (size == 255) continue;
    if (open_) {
      open_->end = at + page.size();
      ready_.push_back(*std::move(open_));
    }
    open_.reset();
    dropping = false;
  }
}

}  // namespace rowfs::plugin
