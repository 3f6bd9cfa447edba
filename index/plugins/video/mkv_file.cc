// A cut as a Matroska file (RFC 9559): everything a player wants to know in
// front, then clusters whose blocks are a few bytes of header and a packet as
// it lies in the blob.
//
// Matroska has no edit lists: a cut starts at the first packet, and what would
// have to be hidden is left out by whoever makes the cut.
#include <algorithm>
#include <cstdlib>
#include <utility>

#include "index/plugins/video/container_cut.h"
#include "index/plugins/video/ebml.h"
#include "index/plugins/video/mp4_boxes.h"

namespace rowfs::plugin {
namespace {

constexpr uint32_t kEbml = 0x1A45DFA3;
constexpr uint32_t kSegment = 0x18538067;
constexpr uint32_t kSeekHead = 0x114D9B74;
constexpr uint32_t kSeek = 0x4DBB;
constexpr uint32_t kSeekId = 0x53AB;
constexpr uint32_t kSeekPosition = 0x53AC;
constexpr uint32_t kInfo = 0x1549A966;
constexpr uint32_t kTracks = 0x1654AE6B;
constexpr uint32_t kTrackEntry = 0xAE;
constexpr uint32_t kCodecDelay = 0x56AA;
constexpr uint32_t kCues = 0x1C53BB6B;
constexpr uint32_t kCuePoint = 0xBB;
constexpr uint32_t kCluster = 0x1F43B675;
constexpr uint32_t kTimestamp = 0xE7;
constexpr uint32_t kSimpleBlock = 0xA3;
constexpr uint32_t kBlockGroup = 0xA0;
constexpr uint32_t kBlock = 0xA1;
constexpr uint32_t kBlockDuration = 0x9B;
constexpr uint32_t kReferenceBlock = 0xFB;
constexpr uint32_t kDiscardPadding = 0x75A2;

constexpr int64_t kNano = 1'000'000'000;
constexpr int64_t kMilli = 1'000'000;  // nanoseconds
constexpr int64_t kTenthMilli = 100'000;
// Times in a cluster are 16 bits from its own; half of that leaves room for
// reordered frames.
constexpr int64_t kClusterTicksMax = 16'000;
constexpr int64_t kClusterTicksMin = 500;
constexpr uint64_t kClusterBytesMax = 4 << 20;
constexpr size_t kTracksMax = 126;  // numbers of one byte
// Each packet takes a piece of some 80 bytes in memory.
constexpr uint64_t kBlocksMax = 2'000'000;

// A packet on its way into a cluster.
struct BlockEntry {
  const Packet* packet = nullptr;
  uint32_t track = 0;  // from 0
  bool last = false;   // of its track
  int64_t dts = 0;     // in ticks of the file
  int64_t pts = 0;
};

struct Cluster {
  size_t first = 0;  // of the blocks
  size_t count = 0;
  int64_t timestamp = 0;
  bool key = false;  // starts with a key packet of the main stream
};

int64_t Nanos(const ExactTime& time) {
  return time.FloorTicks(TimeBase{1, static_cast<int32_t>(kNano)});
}

// CodecDelay in a stored track entry; 0 when there is none.
int64_t StoredDelay(const Bytes& entry) {
  ByteSpan rest = entry;
  while (const std::optional<EbmlElement> element = FirstEbmlElement(rest)) {
    if (element->id == kCodecDelay && element->content.size() <= 8) {
      uint64_t value = 0;
      for (const uint8_t byte : element->content) value = value << 8 | byte;
      // An hour of delay is damage.
      return value < uint64_t{3600} * kNano ? static_cast<int64_t>(value) : 0;
    }
    rest = rest.subspan(element->whole.size());
  }
  return 0;
}

// Lays one file out: first all sizes, then the bytes in front, then blocks.
class MatroskaWriter {
 public:
  MatroskaWriter(const FileCut& cut, bool webm) : cut_(cut), webm_(webm) {}

  Result<FilePlan> Write() {
    ChooseScale();
    ChooseDelays();
    PLUGIN_RETURN_IF_ERROR(CollectBlocks());
    CutClusters();
    FilePlan plan;
    plan.pieces.push_back({Head(), {}});
    for (size_t i = 0; i < clusters_.size(); ++i) PutCluster(i, &plan);
    return plan;
  }

 private:
  const Stream& StreamOf(const BlockEntry& block) const {
    return *cut_.tracks[block.track].stream;
  }

  // Milliseconds, as everybody expects, unless frames fall between them.
  void ChooseScale() {
    scale_ = kMilli;
    const TrackCut& main = cut_.tracks[0];
    const TimeBase milli{1, 1000};
    for (const uint32_t i : main.packets) {
      const ExactTime time = ExactTime::FromTicks(main.stream->packets[i].pts,
                                                  main.stream->time_base);
      if (ExactTime::FromTicks(time.FloorTicks(milli), milli) != time) {
        scale_ = kTenthMilli;
        return;
      }
    }
  }

  // Sound before the first that is to be heard, which a player decodes and
  // drops. All times of that track are later by this much.
  void ChooseDelays() {
    for (const TrackCut& track : cut_.tracks) {
      int64_t delay = StoredDelay(track.stream->entries[0].matroska);
      if (track.stream->kind == StreamKind::kAudio && delay == 0) {
        const Packet& first = track.stream->packets[track.packets.front()];
        const auto lead = track.from.Minus(
            ExactTime::FromTicks(first.pts, track.stream->time_base));
        if (lead.has_value()) delay = std::max<int64_t>(Nanos(*lead), 0);
      }
      delays_.push_back(delay);
    }
  }

  // Ticks of the file for a tick of `track`, rounded to the nearest.
  int64_t FileTicks(uint32_t track, int64_t tick) const {
    const TrackCut& cut = cut_.tracks[track];
    const auto time =
        ExactTime::FromTicks(tick, cut.stream->time_base).Minus(cut_.origin);
    const int64_t nanos = time.has_value() ? Nanos(*time) : 0;
    const Int128 shifted = Int128{nanos} + delays_[track] + scale_ / 2;
    const Int128 ticks =
        shifted >= 0 ? shifted / scale_ : -((-shifted + scale_ - 1) / scale_);
    return static_cast<int64_t>(ticks);
  }

  Status CollectBlocks() {
    if (cut_.tracks.size() > kTracksMax) {
      return Unsupported("too many streams for a Matroska file");
    }
    uint64_t count = 0;
    for (const TrackCut& track : cut_.tracks) count += track.packets.size();
    if (count > kBlocksMax) {
      return Limit("too many packets for a Matroska file");
    }
    blocks_.reserve(static_cast<size_t>(count));
    for (uint32_t t = 0; t < cut_.tracks.size(); ++t) {
      const TrackCut& track = cut_.tracks[t];
      for (const uint32_t i : track.packets) {
        const Packet& packet = track.stream->packets[i];
        blocks_.push_back({&packet, t, i == track.packets.back(),
                           FileTicks(t, packet.dts), FileTicks(t, packet.pts)});
      }
    }
    // Players want streams side by side in time; within one stream the order is
    // that of decoding, even where times go back.
    std::stable_sort(
        blocks_.begin(), blocks_.end(),
        [](const BlockEntry& a, const BlockEntry& b) { return a.dts < b.dts; });
    // Nothing may lie before 0; a lead-in that would moves everything.
    int64_t earliest = 0;
    for (const BlockEntry& block : blocks_) {
      earliest = std::min(earliest, block.pts);
    }
    for (BlockEntry& block : blocks_) {
      block.pts -= earliest;
      block.dts -= earliest;
    }
    return {};
  }

  bool StartsCluster(const BlockEntry& block, uint64_t bytes) const {
    if (clusters_.empty()) return true;
    const int64_t since = block.pts - clusters_.back().timestamp;
    const bool key = block.track == 0 && block.packet->key();
    return (key && since >= kClusterTicksMin) || bytes > kClusterBytesMax ||
           since > kClusterTicksMax || since < -kClusterTicksMax;
  }

  void CutClusters() {
    uint64_t bytes = 0;
    for (size_t i = 0; i < blocks_.size(); ++i) {
      const BlockEntry& block = blocks_[i];
      if (StartsCluster(block, bytes)) {
        clusters_.push_back(
            {i, 0, block.pts, block.track == 0 && block.packet->key()});
        bytes = 0;
      }
      ++clusters_.back().count;
      bytes += block.packet->size;
    }
  }

  // ProRes in Matroska goes without the frame header that QuickTime has.
  size_t Skipped(const BlockEntry& block) const {
    return StreamOf(block).codec == "prores" && block.packet->size > 8 ? 8 : 0;
  }

  // The bytes in front of the packet.
  Bytes BlockHeader(const Cluster& cluster, const BlockEntry& block) const {
    const Stream& stream = StreamOf(block);
    const uint64_t payload = 4 + block.packet->size - Skipped(block);
    const bool key = block.packet->key() || stream.kind != StreamKind::kVideo;
    // Only the end of a track and texts need to say how long they last.
    const bool group = block.last || stream.kind == StreamKind::kSubtitle;
    Bytes out;
    if (group) {
      const Bytes tail = GroupTail(block, key);
      PutEbmlId(&out, kBlockGroup);
      PutEbmlSize(&out, tail.size() + 1 + EbmlSizeWidth(payload) + payload);
      PutBytes(&out, tail);
    }
    PutEbmlId(&out, group ? kBlock : kSimpleBlock);
    PutEbmlSize(&out, payload);
    PutBig(&out, 0x80 | (block.track + 1), 1);
    PutBig(&out, static_cast<uint64_t>(block.pts - cluster.timestamp), 2);
    const uint64_t disposable = block.packet->nonref() && !key ? 1 : 0;
    PutBig(&out, group ? 0 : (key ? 0x80u : 0u) | disposable, 1);
    return out;
  }

  // Nanoseconds of `last`, the last packet of `track`, that are not heard.
  static int64_t DiscardedAtEnd(const Packet& last, const TrackCut& track) {
    const Stream& stream = *track.stream;
    const auto surplus =
        ExactTime::FromTicks(last.pts + last.duration, stream.time_base)
            .Minus(track.to);
    if (!surplus.has_value()) return 0;
    const int64_t nanos = Nanos(*surplus);
    if (stream.sample_rate == 0) return nanos;
    // In samples, where that is known: finer than a clock of milliseconds.
    const int64_t exact =
        int64_t{stream.trailing_padding} * kNano / int64_t{stream.sample_rate};
    return std::abs(exact - nanos) <= kMilli ? exact : nanos;
  }

  // What a BlockGroup says besides its block. Order is free in EBML; in front
  // it spares a piece behind.
  Bytes GroupTail(const BlockEntry& block, bool key) const {
    const TrackCut& track = cut_.tracks[block.track];
    Bytes out;
    const int64_t end =
        FileTicks(block.track, block.packet->pts + block.packet->duration);
    const int64_t start = FileTicks(block.track, block.packet->pts);
    PutEbmlUint(&out, kBlockDuration,
                static_cast<uint64_t>(std::max<int64_t>(end - start, 1)));
    if (!key) PutEbmlSint(&out, kReferenceBlock, -1);
    if (block.last && track.stream->kind == StreamKind::kAudio) {
      const int64_t padding = DiscardedAtEnd(*block.packet, track);
      if (padding > 0) PutEbmlSint(&out, kDiscardPadding, padding);
    }
    return out;
  }

  uint64_t ClusterContentSize(const Cluster& cluster) const {
    Bytes timestamp;
    PutEbmlUint(&timestamp, kTimestamp,
                static_cast<uint64_t>(cluster.timestamp));
    uint64_t size = timestamp.size();
    for (size_t i = cluster.first; i < cluster.first + cluster.count; ++i) {
      size += BlockHeader(cluster, blocks_[i]).size() +
              blocks_[i].packet->size - Skipped(blocks_[i]);
    }
    return size;
  }

  static uint64_t ElementSize(uint32_t id, uint64_t content) {
    Bytes out;
    PutEbmlId(&out, id);
    PutEbmlSize(&out, content);
    return out.size() + content;
  }

  Bytes Info() const {
    int64_t end = 0;
    for (uint32_t t = 0; t < cut_.tracks.size(); ++t) {
      const auto to = cut_.tracks[t].to.Minus(cut_.origin);
      if (to.has_value()) end = std::max(end, Nanos(*to));
    }
    Bytes out;
    {
      const EbmlMaster info(&out, kInfo);
      PutEbmlUint(&out, 0x2AD7B1, static_cast<uint64_t>(scale_));
      PutEbmlText(&out, 0x4D80, "rowfs");  // MuxingApp
      PutEbmlText(&out, 0x5741, "rowfs");  // WritingApp
      PutEbmlFloat(&out, 0x4489,
                   static_cast<double>(end) / static_cast<double>(scale_));
    }
    return out;
  }

  void PutTrackEntry(uint32_t t, Bytes* out) const {
    const Stream& stream = *cut_.tracks[t].stream;
    const Bytes& entry = stream.entries[0].matroska;
    const EbmlMaster master(out, kTrackEntry);
    PutEbmlUint(out, 0xD7, t + 1);    // TrackNumber
    PutEbmlUint(out, 0x73C5, t + 1);  // TrackUID
    PutEbmlUint(out, 0x9C, 0);        // FlagLacing
    const bool is_default = cut_.tracks[t].is_main || stream.is_default;
    PutEbmlUint(out, 0x88, is_default ? 1 : 0);  // FlagDefault
    PutEbmlText(out, 0x22B59C,
                stream.language.size() == 3 ? stream.language : "und");
    if (!stream.title.empty()) PutEbmlText(out, 0x536E, stream.title);
    if (delays_[t] > 0 && StoredDelay(entry) == 0) {
      PutEbmlUint(out, kCodecDelay, static_cast<uint64_t>(delays_[t]));
    }
    PutBytes(out, entry);
  }

  Bytes Tracks() const {
    Bytes out;
    {
      const EbmlMaster tracks(&out, kTracks);
      for (uint32_t t = 0; t < cut_.tracks.size(); ++t) PutTrackEntry(t, &out);
    }
    return out;
  }

  // A seek point for every cluster that starts with a key packet; the first
  // cluster is `at` bytes into the segment.
  Bytes Cues(uint64_t at) const {
    Bytes out;
    {
      const EbmlMaster cues(&out, kCues);
      for (size_t i = 0; i < clusters_.size(); ++i) {
        if (clusters_[i].key) {
          const EbmlMaster point(&out, kCuePoint);
          PutEbmlUint(&out, 0xB3,
                      static_cast<uint64_t>(clusters_[i].timestamp));
          const EbmlMaster positions(&out, 0xB7);
          PutEbmlUint(&out, 0xF7, 1);    // CueTrack
          PutEbmlFixed(&out, 0xF1, at);  // CueClusterPosition
        }
        at += ElementSize(kCluster, sizes_[i]);
      }
    }
    return out;
  }

  // Positions count from the content of the segment.
  static Bytes SeekHead(uint64_t info_at, uint64_t tracks_at,
                        uint64_t cues_at) {
    Bytes out;
    {
      const EbmlMaster master(&out, kSeekHead);
      PutSeek(&out, kInfo, info_at);
      PutSeek(&out, kTracks, tracks_at);
      PutSeek(&out, kCues, cues_at);
    }
    return out;
  }

  static void PutSeek(Bytes* out, uint32_t id, uint64_t position) {
    const EbmlMaster seek(out, kSeek);
    Bytes name;
    PutEbmlId(&name, id);
    PutEbmlBytes(out, kSeekId, name);
    PutEbmlFixed(out, kSeekPosition, position);
  }

  static void PutEbmlHeader(bool webm, Bytes* out) {
    const EbmlMaster ebml(out, kEbml);
    PutEbmlUint(out, 0x4286, 1);  // EBMLVersion
    PutEbmlUint(out, 0x42F7, 1);  // EBMLReadVersion
    PutEbmlUint(out, 0x42F2, 4);  // EBMLMaxIDLength
    PutEbmlUint(out, 0x42F3, 8);  // EBMLMaxSizeLength
    PutEbmlText(out, 0x4282, webm ? "webm" : "matroska");
    PutEbmlUint(out, 0x4287, 4);  // DocTypeVersion
    PutEbmlUint(out, 0x4285, 2);  // DocTypeReadVersion
  }

  // Everything in front of the first cluster. Positions have a fixed width, so
  // each part's size is known before its content.
  Bytes Head() {
    uint64_t clusters = 0;
    for (const Cluster& cluster : clusters_) {
      sizes_.push_back(ClusterContentSize(cluster));
      clusters += ElementSize(kCluster, sizes_.back());
    }
    const Bytes info = Info();
    const Bytes tracks = Tracks();
    const uint64_t info_at = SeekHead(0, 0, 0).size();
    const uint64_t tracks_at = info_at + info.size();
    const uint64_t cues_at = tracks_at + tracks.size();
    const Bytes cues = Cues(cues_at + Cues(0).size());
    Bytes out;
    PutEbmlHeader(webm_, &out);
    PutEbmlId(&out, kSegment);
    PutEbmlSize(&out, cues_at + cues.size() + clusters, 8);
    PutBytes(&out, SeekHead(info_at, tracks_at, cues_at));
    PutBytes(&out, info);
    PutBytes(&out, tracks);
    PutBytes(&out, cues);
    return out;
  }

  void PutCluster(size_t index, FilePlan* plan) const {
    const Cluster& cluster = clusters_[index];
    Bytes literal;
    PutEbmlId(&literal, kCluster);
    PutEbmlSize(&literal, sizes_[index]);
    PutEbmlUint(&literal, kTimestamp, static_cast<uint64_t>(cluster.timestamp));
    for (size_t i = cluster.first; i < cluster.first + cluster.count; ++i) {
      const Packet& packet = *blocks_[i].packet;
      PutBytes(&literal, BlockHeader(cluster, blocks_[i]));
      const uint64_t begin = packet.offset + Skipped(blocks_[i]);
      const uint64_t end = packet.offset + packet.size;
      if (begin == end) continue;  // the next header joins this one
      plan->pieces.push_back({std::move(literal), {}});
      plan->pieces.push_back({{}, {begin, end}});
      literal.clear();
    }
    if (!literal.empty()) plan->pieces.push_back({std::move(literal), {}});
  }

  const FileCut& cut_;
  const bool webm_;
  int64_t scale_ = kMilli;          // nanoseconds of a tick
  std::vector<int64_t> delays_;     // by track, nanoseconds
  std::vector<BlockEntry> blocks_;  // as they follow each other in the file
  std::vector<Cluster> clusters_;
  std::vector<uint64_t> sizes_;  // of the contents of clusters_
};

}  // namespace

Result<FilePlan> WriteMatroska(const FileCut& cut, bool webm) {
  return MatroskaWriter(cut, webm).Write();
}

}  // namespace rowfs::plugin
