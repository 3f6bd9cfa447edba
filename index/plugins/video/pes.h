// Streams that lie in a transport or program stream in small pieces: finding
// the pieces of one packet and putting them together.
//
// Pure functions on untrusted bytes.
#ifndef ROWFS_INDEX_PLUGINS_VIDEO_PES_H_
#define ROWFS_INDEX_PLUGINS_VIDEO_PES_H_

#include <cstddef>
#include <cstdint>
#include <optional>

#include "index/plugins/common/bytes.h"
#include "index/plugins/video/media_index.h"

namespace rowfs::plugin {

// Goes through the packets of a multiplex and gives the payload of one stream.
class PesWalker {
 public:
  // `bytes` start at a packet of the multiplex.
  PesWalker(const PesStream& stream, ByteSpan bytes)
      : stream_(stream), bytes_(bytes) {}

  // The next piece of payload; empty at the end of the bytes, or where they are
  // no multiplex any more.
  ByteSpan Next();
  // How many bytes were gone through.
  size_t position() const { return at_; }

 private:
  ByteSpan NextTransport();
  ByteSpan NextProgram();

  PesStream stream_;
  ByteSpan bytes_;
  size_t at_ = 0;
};

// 188, 192 or 204, by the sync bytes in `bytes`, which start with one; 0 when
// there are none.
uint8_t TransportPacketSize(ByteSpan bytes);

// Find `data` in the payload that comes `skip` to `most` bytes after the start
// of `bytes`; nullopt when it is not all there.
std::optional<Scatter> FindPieces(const PesStream& stream, ByteSpan bytes,
                                  uint32_t skip, ByteSpan data, size_t most);

// Put `size` bytes of the stream together that come `skip` bytes of payload
// after the start of `bytes`. Empty when they are not there.
Bytes GatherPacket(const PesStream& stream, ByteSpan bytes, uint32_t skip,
                   uint32_t size);

}  // namespace rowfs::plugin
#endif  // ROWFS_INDEX_PLUGINS_VIDEO_PES_H_
