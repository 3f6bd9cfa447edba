// ISO base media boxes in memory (ISO/IEC 14496-12): big-endian fields, boxes
// whose size is filled in when they end, and the sample tables of one track.
// Knows the format only; what the samples are is the caller's matter.
//
// Values; not thread-safe to mutate concurrently.
#ifndef ROWFS_INDEX_PLUGINS_VIDEO_MP4_BOXES_H_
#define ROWFS_INDEX_PLUGINS_VIDEO_MP4_BOXES_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "index/plugins/common/bytes.h"

namespace rowfs::plugin {

// Append `width` (1..8) bytes of `value`, most significant first.
void PutBig(Bytes* out, uint64_t value, size_t width);
// Append `width` (1..8) bytes of `value`, least significant first.
void PutLittle(Bytes* out, uint64_t value, size_t width);
void PutText(Bytes* out, std::string_view text);
void PutBytes(Bytes* out, std::span<const uint8_t> bytes);
void PutZeros(Bytes* out, size_t count);

// A box being written: the constructor appends its header to `out`, the
// destructor fills in its size. Boxes nest as scopes do.
// Requires: `type` has four characters; the box ends below 4 GiB.
class Box {
 public:
  Box(Bytes* out, std::string_view type);
  // A full box, with version and flags.
  Box(Bytes* out, std::string_view type, uint8_t version, uint32_t flags);
  ~Box();
  Box(const Box&) = delete;
  Box& operator=(const Box&) = delete;

 private:
  Bytes* out_;
  size_t start_;
};

// One sample of a track, in decode order. Times are in ticks of the track.
struct Mp4Sample {
  uint64_t offset = 0;  // of its first byte, from the start of the mdat payload
  uint32_t size = 0;
  int64_t dts = 0;  // strictly increasing
  int64_t pts = 0;
  bool sync = false;
  // A sync sample whose leading pictures need the GOP before it.
  bool open = false;
  uint32_t entry = 0;  // index into Mp4Track::entries
};

// A piece of the presentation: `duration` in ticks of the movie; `media_time`
// in ticks of the track, counted from the first sample's dts; -1 shows nothing.
struct Mp4Edit {
  uint64_t duration = 0;
  int64_t media_time = 0;

  bool operator==(const Mp4Edit&) const = default;
};

enum class Mp4Kind : uint8_t { kVideo, kAudio, kText };

struct Mp4Track {
  Mp4Kind kind = Mp4Kind::kVideo;
  uint32_t timescale = 1;
  std::string language;        // ISO 639-2; empty: undetermined
  std::vector<Bytes> entries;  // stsd entries, complete boxes; not empty
  std::vector<Mp4Sample> samples;
  uint32_t last_duration = 0;  // of the last sample, in ticks
  // PCM: bytes of one moment of sound. Every sample is then size / unit_bytes
  // entries of one tick each, as players expect of PCM. 0: all else.
  uint32_t unit_bytes = 0;
  std::vector<Mp4Edit> edits;
  int16_t roll_distance = 0;  // samples to decode before one is right (Opus)
  uint32_t width = 0;         // as displayed, 16.16
  uint32_t height = 0;        // as displayed, 16.16
  // Display matrix as tkhd stores it; all zero stands for identity.
  int32_t matrix[9] = {};
  bool enabled = true;
};

struct Mp4Movie {
  bool quicktime = false;  // ftyp "qt  ", for codecs ISO does not name
  uint32_t timescale = 1000;
  std::vector<Mp4Track> tracks;
};

// The bytes in front of the mdat payload: ftyp, moov and a 16-byte mdat header.
// The same movie gives the same bytes. A file that ends behind 4 GiB gets
// 64-bit chunk offsets, durations above 32 bits get version 1 boxes.
// Cost: linear in samples, a few bytes of output each.
// Requires: `payload_size` covers every sample; dts deltas and pts - dts fit
// 32 bits; no sample of more than 4 GiB.
Bytes EncodeMp4Head(const Mp4Movie& movie, uint64_t payload_size);

}  // namespace rowfs::plugin
#endif  // ROWFS_INDEX_PLUGINS_VIDEO_MP4_BOXES_H_
