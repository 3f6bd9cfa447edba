// What the first bytes of a coded picture tell: whether others refer to it,
// whether decoding may start at it, and how NAL units are framed.
//
// Pure functions on untrusted bytes; damaged ones give the careful answer (a
// picture that others need and where decoding may not start).
#ifndef ROWFS_INDEX_PLUGINS_VIDEO_BITSTREAM_H_
#define ROWFS_INDEX_PLUGINS_VIDEO_BITSTREAM_H_

#include <cstdint>
#include <string>
#include <vector>

#include "index/plugins/common/bytes.h"
#include "index/plugins/video/media_index.h"

namespace rowfs::plugin {

// Most-significant bit first; zero past the end.
class BitReader {
 public:
  explicit BitReader(ByteSpan bytes) : bytes_(bytes) {}
  uint32_t Bits(unsigned count);
  uint32_t ExpGolomb();  // ue(v), UINT32_MAX when it is none
  bool past_end() const { return at_ > 8 * bytes_.size(); }

 private:
  ByteSpan bytes_;
  size_t at_ = 0;
};

// The NAL units of a packet, without start codes or lengths.
std::vector<ByteSpan> SplitNals(ByteSpan packet, NalFormat format,
                                unsigned length_size);
// `nal` without emulation prevention bytes, at most `max` bytes of it.
Bytes Unescape(ByteSpan nal, size_t max);

struct PictureFacts {
  bool nonref = false;
  bool key = false;
  KeyKind kind = KeyKind::kNone;  // when key
  uint32_t recovery_frames = 0;   // kRecovery: reference frames to wait for
  uint8_t temporal_id = 0;        // HEVC
};

// `flagged_key`: what the container says.
PictureFacts InspectPicture(const std::string& codec, ByteSpan packet,
                            NalFormat format, unsigned length_size,
                            bool flagged_key);

}  // namespace rowfs::plugin
#endif  // ROWFS_INDEX_PLUGINS_VIDEO_BITSTREAM_H_
