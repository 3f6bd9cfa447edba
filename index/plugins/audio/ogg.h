// Ogg pages (RFC 3533): taking packets out of the pages of a source, and the
// pages of the file that is put together from stored packets.
//
// One thread at a time.
#ifndef ROWFS_INDEX_PLUGINS_AUDIO_OGG_H_
#define ROWFS_INDEX_PLUGINS_AUDIO_OGG_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "index/plugins/common/bytes.h"
#include "index/plugins/common/status.h"

namespace rowfs::plugin {

inline constexpr size_t kOggHeaderMax = 27 + 255;

struct OggPageHead {
  size_t size = 0;   // of the whole page; 0 when it is none
  size_t table = 0;  // segments
  uint32_t serial = 0;
  bool continued = false;
  bool first = false;
};
// The head of the page that `bytes` start with; a whole header is enough.
OggPageHead ReadOggHead(ByteSpan bytes);

// A packet among the pages of a source.
struct OggPacket {
  uint64_t offset = 0;  // of the page it starts in
  uint32_t skip = 0;    // packets that start in that page before it
  uint64_t end = 0;     // of the page it ends in
  Bytes data;
};

// Goes through the packets of one stream of an Ogg file.
class OggWalker {
 public:
  // Reads up to out.size() bytes at `offset`; the number read, 0 at the end.
  using Read =
      std::function<Result<size_t>(uint64_t offset, std::span<uint8_t> out)>;

  // Starts at `offset`, where a page begins. `serial`: the stream; the one of
  // the first page when absent.
  OggWalker(Read read, uint64_t offset, std::optional<uint32_t> serial)
      : read_(std::move(read)), offset_(offset), serial_(serial) {}

  // The next packet that starts and ends in pages from the start on; nullopt
  // at the end. ROWFS_E_CORRUPT for a packet that is too long.
  Result<std::optional<OggPacket>> Next();

 private:
  // False at the end.
  Result<bool> ReadPage();
  void Cut(const Bytes& page, uint64_t at, const OggPageHead& head);

  const Read read_;
  uint64_t offset_;
  std::optional<uint32_t> serial_;
  std::optional<OggPacket> open_;  // its start was seen, not its end
  std::deque<OggPacket> ready_;
};

// A page of the file that is put together.
struct OggPageText {
  uint8_t flags = 0;  // 2: first page, 4: last page
  uint64_t granule = 0;
  uint32_t sequence = 0;
  std::vector<uint32_t> sizes;  // of its packets, all of them whole
};
inline constexpr size_t kOggSegmentsMax = 255;
// Segments that a packet of `size` bytes takes in a page.
inline size_t OggSegments(uint64_t size) {
  return static_cast<size_t>(size / 255 + 1);
}
// The header of `page` with `crc` in its place.
Bytes OggHeader(const OggPageText& page, uint32_t crc);
// The checksum over `bytes`, continued from `crc`.
uint32_t OggCrc(ByteSpan bytes, uint32_t crc);

}  // namespace rowfs::plugin
#endif  // ROWFS_INDEX_PLUGINS_AUDIO_OGG_H_
