// The index of one video file in memory: every packet of every stream, where
// it lies in the blob, when it is shown and from where it can be decoded; and
// its two byte forms, `stream_info` and `entries`.
//
// Everything the plugin shows is computed from this and from nothing else.
//
// stream_info = a fixed head of kHeadSize bytes, then the streams; entries =
// the packets, in columns. The head alone lists the files beside a blob. Both
// carry checksums: an index that was changed does not parse.
//
// Values without locks; immutable once parsed or built.
#ifndef ROWFS_INDEX_PLUGINS_VIDEO_MEDIA_INDEX_H_
#define ROWFS_INDEX_PLUGINS_VIDEO_MEDIA_INDEX_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "index/plugins/audio/sound_index.h"
#include "index/plugins/common/bytes.h"
#include "index/plugins/common/exact_time.h"
#include "index/plugins/common/status.h"

namespace rowfs::plugin {

inline constexpr char kMagic[] = "RVI1";
inline constexpr size_t kHeadSize = 256;
// Caps on what an index may say; a real file is far below each.
inline constexpr uint32_t kStreamsMax = 64;
inline constexpr uint32_t kPacketsMax = 1u << 24;  // of all streams
inline constexpr uint32_t kExtradataMax = 4096;    // versions in one stream
inline constexpr uint32_t kExtradataBytesMax = 1u << 20;
inline constexpr uint32_t kCodecEntryBytesMax = (1u << 20) + 4096;
inline constexpr uint32_t kTagsMax = 256;
inline constexpr uint32_t kTextMax = 4096;
inline constexpr uint32_t kSideMax = 65'535;  // pixels
inline constexpr int64_t kTicksMax = int64_t{1} << 60;

enum class Layout : uint8_t {
  kStored = 0,    // packets GOP by GOP: [other streams of the GOP][main stream]
  kContainer = 1  // the file as it was; packets where they lie in it
};

enum class StreamKind : uint8_t {
  kVideo = 0,
  kAudio = 1,
  kSubtitle = 2,
  kData = 3,
  kPicture = 4  // cover art: one packet, a whole JPEG or PNG
};

// How NAL units are framed in the packets of H.264 and HEVC streams.
enum class NalFormat : uint8_t {
  kNone = 0,  // not a NAL codec
  kLengthPrefixed =
      1,       // extradata is avcC or hvcC and says how long lengths are
  kAnnexB = 2  // start codes; only in Layout::kContainer
};

// In kept transport and program streams packets do not lie in one piece.
enum class PesKind : uint8_t { kNone = 0, kTransport = 1, kProgram = 2 };

struct PesStream {
  PesKind kind = PesKind::kNone;
  uint16_t id = 0;            // PID or stream id
  uint8_t packet_size = 188;  // of the transport stream
};

// Where a packet lies when it is in pieces: its payload starts `skip` bytes of
// payload behind Packet::offset and all of it is within `span` bytes of the
// file.
struct Scatter {
  uint32_t skip = 0;
  uint32_t span = 0;
};

// The container of synthesized files (whole, GOPs, clips). kNone: these streams
// fit into none, and there are no such views.
enum class FileType : uint8_t { kNone = 0, kMp4 = 1, kMatroska = 2, kWebm = 3 };

// What the packet that starts a GOP is.
enum class KeyKind : uint8_t {
  kNone = 0,      // packets before the first key: not decodable on their own
  kIdr = 1,       // closed: also any key of a codec without open GOPs
  kOpen = 2,      // leading pictures may need the GOP before (CRA, open GOP I)
  kRecovery = 3,  // recovery point: frames in the window need the GOP before
  kIntra = 4      // every packet is a key
};

// Packet::flags.
enum : uint8_t {
  kPacketKey = 1,      // decoding may start here (main: the first of a GOP)
  kPacketNonRef = 2,   // no other packet needs it
  kPacketShown = 4,    // it is one frame (main stream) or is heard
  kPacketCorrupt = 8,  // the decoder complained about this frame at ingest
  kPacketSkipped = 16  // decoded but trimmed away by an edit list
};

struct Packet {
  uint64_t offset = 0;  // first byte in the blob
  uint32_t size = 0;
  uint16_t extradata = 0;  // index into Stream::extradata, if it has any
  uint8_t flags = 0;
  // Ticks of the stream. dts strictly increases (repaired at ingest); pts is
  // after edit lists, of the frame as it is shown. Not relative to the start of
  // the media: MediaIndex::start() is.
  int64_t dts = 0;
  int64_t pts = 0;
  int64_t duration = 0;  // up to the next dts when the container says nothing

  bool key() const { return (flags & kPacketKey) != 0; }
  bool nonref() const { return (flags & kPacketNonRef) != 0; }
  bool shown() const { return (flags & kPacketShown) != 0; }
};

// Colour as in ITU-T H.273 (AVCOL_*); 2 = unspecified. range: 0 unspecified,
// 1 limited, 2 full.
struct Colour {
  uint8_t primaries = 2;
  uint8_t transfer = 2;
  uint8_t matrix = 2;
  uint8_t range = 0;
  uint8_t chroma_location = 0;
};

// How synthesized files describe a codec; made by MakeCodecEntries at ingest.
struct CodecEntries {
  // One entry of an MP4 stsd, a complete box. Empty: MP4 does not carry this
  // codec.
  Bytes mp4;
  // The entry is QuickTime's; the file must say that it is one.
  bool quicktime = false;
  // Elements of a Matroska TrackEntry from TrackType on: codec, private data,
  // delays, picture and sound properties; no number, language or name. Empty:
  // Matroska does not carry it.
  Bytes matroska;
  bool operator==(const CodecEntries&) const = default;
};

struct Stream {
  StreamKind kind = StreamKind::kData;
  bool is_default = false;
  NalFormat nal = NalFormat::kNone;
  uint8_t nal_length_size = 4;
  std::string codec;    // libavcodec's name: "h264", "vp9", "aac"
  uint32_t fourcc = 0;  // codec tag of the source, first character lowest
  int32_t profile = -99;
  int32_t level = -99;
  TimeBase time_base;
  int64_t bit_rate = 0;
  uint16_t bits_per_sample = 0;  // coded; 0 = unknown
  std::string language;          // "" = unknown
  std::string title;             // "" = none
  std::vector<Bytes> extradata;  // as libavcodec takes it; may be empty
  // One for each extradata, at least one; empty: in no synthesized file.
  std::vector<CodecEntries> entries;

  // kVideo and kPicture. Coded size of the first frame before rotation.
  uint32_t width = 0;
  uint32_t height = 0;
  TimeBase sample_aspect{1, 1};  // 1/1 also when unknown
  TimeBase frame_rate{0, 1};     // average; 0/1 = unknown
  std::string pixel_format;      // libavutil's name: "yuv420p10le"
  uint8_t bit_depth = 8;         // of the largest component
  bool has_alpha = false;
  uint8_t field_order = 0;  // AV_FIELD_
  uint8_t reorder_depth = 0;
  Colour colour;
  // Display matrix as in MP4 tkhd; identity when absent.
  std::array<int32_t, 9> matrix{65536, 0, 0, 0, 65536, 0, 0, 0, 1 << 30};

  // kAudio.
  uint32_t sample_rate = 0;
  uint16_t channels = 0;
  uint64_t channel_mask = 0;  // 0 = unspecified order
  uint16_t block_align = 0;
  uint32_t frame_size = 0;        // samples in a packet, 0 = varies
  uint32_t initial_padding = 0;   // samples to drop at the start
  uint32_t trailing_padding = 0;  // and at the end
  uint32_t seek_preroll = 0;      // samples

  std::vector<Packet> packets;  // decode order
  PesStream pes;
  std::vector<Scatter> scattered;  // one a packet, if pes.kind is not kNone
  // Layout::kStored, not the main stream: packets [gop_first[g],
  // gop_first[g+1]) lie before GOP g. Size gops + 1; empty otherwise.
  std::vector<uint32_t> gop_first;

  // First tick at which something of this stream is seen or heard, after edit
  // lists and padding; and the tick at which the last thing ends.
  int64_t first_tick = 0;
  int64_t end_tick = 0;
};

// A run of packets of the main stream that starts with a key packet (only GOP 0
// may start with another).
struct Gop {
  uint32_t first_packet = 0;
  uint32_t packet_count = 0;
  KeyKind kind = KeyKind::kNone;
  // Packets after the key that are not clean when decoding starts at it.
  uint32_t recovery_count = 0;
  // GOPs to go back for frames shown before the key, and for frames inside the
  // recovery window.
  uint8_t decode_back_lead = 0;
  uint8_t decode_back_body = 0;
};

// What the decoder gives for frames from `first_frame` on, before rotation.
struct FrameShape {
  uint32_t first_frame = 0;
  uint32_t width = 0;
  uint32_t height = 0;
  uint8_t bit_depth = 8;
  bool has_alpha = false;
  bool operator==(const FrameShape&) const = default;
};

struct BlobRange {
  uint64_t begin = 0;
  uint64_t end = 0;
  uint64_t size() const { return end - begin; }
  bool operator==(const BlobRange&) const = default;
};

// The fixed head: what list("") needs.
struct IndexHead {
  Layout layout = Layout::kStored;
  uint64_t blob_size = 0;
  uint32_t frame_count = 0;
  uint32_t key_frame_count = 0;
  uint32_t gop_count = 0;
  FileType file_type = FileType::kNone;
  uint64_t whole_size = 0;       // of the synthesized file; 0 = none
  uint64_t info_size = 0;        // of .info.json
  uint64_t original_size = 0;    // of .original.EXT; 0 = not kept
  std::string source_extension;  // "mp4", without the point, <= 8 bytes
  uint64_t cover_size = 0;       // of the cover picture; 0 = none
  bool cover_is_png = false;
  int64_t start_tick = 0;  // start of the media
  TimeBase start_base;
  int64_t duration_us = 0;  // rounded; exact times come from the entries
  uint32_t width = 0;       // upright
  uint32_t height = 0;
  bool has_sound = false;  // MediaIndex::sound is there
};

// The stream that is heard, packet by packet as `streams[stream].packets`.
struct MediaSound {
  uint32_t stream = 0;
  SoundIndex index;
};

struct MediaIndex {
  IndexHead head;
  std::string source_format;  // libavformat's name of the demuxer
  uint64_t source_size = 0;
  std::vector<std::pair<std::string, std::string>> tags;  // of the file
  std::vector<Stream> streams;                            // in source order
  uint32_t main = 0;      // the stream that is shown as frames
  std::vector<Gop> gops;  // of the main stream
  // Frame number -> packet of the main stream, in presentation order.
  std::vector<uint32_t> shown;
  // Sorted, the first from frame 0; more than one when the size changes on the
  // way. Empty only without frames.
  std::vector<FrameShape> shapes;
  // The source file, as pieces of the blob; empty = not kept.
  std::vector<BlobRange> original;
  std::optional<MediaSound> sound;
  // Derived from the above by Derive, which parsing calls:
  // bytes of the main stream's packets before packet i; size packets + 1.
  std::vector<uint64_t> bytes_before;
  bool ordered = false;  // packets of the main stream lie in decode order

  void Derive();

  const Stream& video() const { return streams[main]; }
  const Packet& packet(uint32_t frame) const {
    return video().packets[shown[frame]];
  }
  // The GOP of packet `ordinal` of the main stream. O(log gops).
  uint32_t GopOfPacket(uint32_t ordinal) const;
  // The bytes of the blob that hold packet `ordinal` of the main stream.
  BlobRange RangeOf(uint32_t ordinal) const;
  const FrameShape& ShapeOf(uint32_t frame) const;
  // -1 when the stream of that kind does not exist.
  int FirstStream(StreamKind kind) const;
  // Time of a tick of `stream`, counted from the start of the media.
  ExactTime TimeOf(const Stream& stream, int64_t tick) const;
  ExactTime FrameTime(uint32_t frame) const {
    return TimeOf(video(), packet(frame).pts);
  }
  // When the last frame ends.
  ExactTime EndTime() const { return TimeOf(video(), video().end_tick); }
  // Samples from the start of the media to the first one that is heard; 0 when
  // the container cannot tell them apart. Requires: sound.
  uint64_t SoundLate() const;
  // The frame shown at `time`; -1 before the first or from EndTime() on.
  int64_t FrameAt(const ExactTime& time) const;
  // Frames shown at some moment of [from, to), as [first, last); empty when
  // none is. A frame is shown until the next one.
  std::pair<uint32_t, uint32_t> FramesIn(const ExactTime& from,
                                         const ExactTime& to) const;
};

// Read the head out of `stream_info` or a prefix of at least kHeadSize bytes.
// ROWFS_E_CORRUPT when it is not one, ROWFS_E_UNSUPPORTED for another version.
Result<IndexHead> ParseHead(ByteSpan stream_info);

// Read a whole index. ROWFS_E_CORRUPT when a checksum, a count, an order or an
// offset is wrong, when a packet points past `blob_size`, or when the blob of a
// stored layout has another size than the index says.
Result<MediaIndex> ParseIndex(ByteSpan stream_info, ByteSpan entries,
                              uint64_t blob_size);

struct EncodedIndex {
  Bytes stream_info;
  Bytes entries;
};

// Write `index`, whose head is complete. In Layout::kStored offsets are not
// written: packets must lie as the layout says, or ROWFS_E_INTERNAL.
Result<EncodedIndex> EncodeIndex(const MediaIndex& index);

}  // namespace rowfs::plugin
#endif  // ROWFS_INDEX_PLUGINS_VIDEO_MEDIA_INDEX_H_
