// The index of one sound in memory: where every packet of the one indexed
// track lies in the blob, how many samples it decodes to, which of them are
// heard and how many packets before it a fresh decoder needs; and its two byte
// forms, `stream_info` and `entries`.
//
// Everything the plugin shows is computed from this and from nothing else.
// Sample 0 is the first one heard: encoder delay and padding are taken away
// when the index is made.
//
// stream_info = a fixed head of kHeadSize bytes, then the description; entries
// = the packets, in columns. The head alone lists the files beside a blob. Both
// carry checksums: an index that was changed does not parse.
//
// Values without locks; immutable once parsed or built.
#ifndef ROWFS_INDEX_PLUGINS_AUDIO_SOUND_INDEX_H_
#define ROWFS_INDEX_PLUGINS_AUDIO_SOUND_INDEX_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "index/plugins/common/bytes.h"
#include "index/plugins/common/status.h"

namespace rowfs::plugin {

inline constexpr char kSoundMagic[] = "RAU1";
inline constexpr size_t kSoundHeadSize = 256;
// Caps on what an index may say; a real file is far below each.
inline constexpr uint32_t kSoundPacketsMax = 1u << 22;
inline constexpr uint32_t kSoundPacketBytesMax = 1u << 26;
inline constexpr uint32_t kSoundPacketSamplesMax = 1u << 24;
inline constexpr uint32_t kSoundRateMax = 1u << 24;
inline constexpr uint16_t kSoundChannelsMax = 64;
inline constexpr uint64_t kSoundSamplesMax = uint64_t{1} << 48;
inline constexpr uint32_t kSoundExtradataMax = 1u << 20;
inline constexpr uint32_t kSoundTagsMax = 256;
inline constexpr uint32_t kSoundTextMax = 4096;
inline constexpr uint32_t kSoundStreamsMax = 64;
inline constexpr uint64_t kSecondNs = 1'000'000'000;
inline constexpr uint64_t kSegmentNsMin = 1'000'000;
inline constexpr uint64_t kSegmentNsMax = 86'400 * kSecondNs;
inline constexpr uint32_t kOggPagePacketsMax = 255;
// Lowest and highest sample of each part of the sound, at most.
inline constexpr uint32_t kEnvelopeMax = 1024;

// What the samples of views are, always little-endian and interleaved.
enum class SampleType : uint8_t {
  kU8 = 0,
  kS16 = 1,
  kS24 = 2,
  kS32 = 3,
  kF32 = 4,
  kF64 = 5
};
uint32_t BytesOf(SampleType type);

// The file that is put together from the stored packets.
enum class SoundFile : uint8_t {
  kVerbatim = 0,  // the blob is the source file
  kWav = 1,
  kAiff = 2,
  kFlac = 3,
  kMp3 = 4,
  kM4a = 5,
  kOgg = 6,
  kRaw = 7  // frames that name themselves, one behind the other
};

struct SoundPacket {
  uint64_t offset = 0;   // in the blob; of the page it starts in, for Ogg
  uint32_t size = 0;     // of the packet
  uint32_t samples = 0;  // what it decodes to
  uint32_t front = 0;    // of these, not heard: at the front
  uint32_t back = 0;     // and at the back
  uint32_t preroll = 0;  // packets to decode before it, or fewer at the start
  // Ogg pages as they are in the source: the packet is number `skip` of those
  // that start in the page at `offset`, and ends in the page that ends `span`
  // bytes later.
  uint32_t skip = 0;
  uint32_t span = 0;

  uint32_t heard() const { return samples - front - back; }
};

// A page of the Ogg file that is put together.
struct OggPage {
  uint32_t packets = 0;
  uint32_t crc = 0;
};

// One line about a stream of the source, for the information file.
struct SoundStream {
  std::string kind;  // "audio", "video", "picture", "subtitle", "data"
  std::string codec;
  std::string language;
  uint32_t sample_rate = 0;
  uint16_t channels = 0;
};

// The fixed head: what list("") needs.
struct SoundHead {
  bool stored = true;      // the blob holds what ingest wrote, not a file as is
  bool exact = true;       // any window equals a decode from the start
  bool linear = false;     // PCM in one piece: no packets, see below
  bool ogg_pages = false;  // packets lie in the pages of an Ogg file
  SoundFile file = SoundFile::kVerbatim;
  SampleType type = SampleType::kS16;
  uint16_t channels = 0;
  uint32_t sample_rate = 0;
  uint64_t blob_size = 0;
  uint64_t samples = 0;        // heard, of each channel
  uint64_t whole_size = 0;     // of the playable file; stored only
  uint64_t info_size = 0;      // of .info.json
  uint64_t original_size = 0;  // of .original.EXT; 0 = not kept
  uint64_t cover_offset = 0;
  uint64_t cover_size = 0;  // 0 = none
  bool cover_is_png = false;
  std::string extension;         // of the playable file, without the point
  std::string source_extension;  // of the source
};

struct SoundIndex {
  SoundHead head;
  // How to decode.
  std::string codec;  // libavcodec's name: "flac", "aac"
  Bytes extradata;
  uint32_t codec_tag = 0;
  int32_t profile = -99;
  uint64_t channel_mask = 0;  // 0 = unspecified order
  uint32_t block_align = 0;
  uint16_t bits_coded = 0;
  uint16_t bits_raw = 0;
  uint32_t frame_size = 0;
  int64_t bit_rate = 0;
  // PCM in one piece: the first byte of sample 0; block_align bytes a sample.
  uint64_t linear_offset = 0;
  uint64_t segment_ns = kSecondNs;  // length of listed segments
  Bytes sample_entry;               // of MP4, for SoundFile::kM4a
  // What the source was.
  std::string source_format;
  uint64_t source_size = 0;
  std::vector<SoundStream> streams;
  std::vector<std::pair<std::string, std::string>> tags;
  // Peaks of equal parts of the sound, as 16-bit values; empty = not known.
  std::vector<std::pair<int16_t, int16_t>> envelope;

  std::vector<SoundPacket> packets;
  std::vector<OggPage> pages;

  // Packets that lie in pieces: puts one together from the `span` bytes at its
  // offset; empty when it is not there. Null: they lie in one piece. Not
  // written.
  std::function<Bytes(ByteSpan, const SoundPacket&)> gather;

  // Derived by Derive, which parsing calls: samples heard before packet i;
  // size packets + 1.
  std::vector<uint64_t> heard_before;

  // ROWFS_E_CORRUPT when the packets do not add up to head.samples.
  Status Derive();
  // Of decoded samples.
  uint32_t FrameBytes() const {
    return BytesOf(head.type) * uint32_t{head.channels};
  }
  // The packet that holds sample `n` < head.samples. O(log packets).
  uint32_t PacketOf(uint64_t n) const;
};

// Read the head out of `stream_info` or a prefix of at least kSoundHeadSize
// bytes. ROWFS_E_CORRUPT when it is not one, ROWFS_E_UNSUPPORTED for another
// version.
Result<SoundHead> ParseSoundHead(ByteSpan stream_info);

// Read a whole index. ROWFS_E_CORRUPT when a checksum, a count or an offset is
// wrong, or when the blob has another size than the index says.
Result<SoundIndex> ParseSoundIndex(ByteSpan stream_info, ByteSpan entries,
                                   uint64_t blob_size);

struct EncodedSound {
  Bytes stream_info;
  Bytes entries;
};
EncodedSound EncodeSoundIndex(const SoundIndex& index);

}  // namespace rowfs::plugin
#endif  // ROWFS_INDEX_PLUGINS_AUDIO_SOUND_INDEX_H_
