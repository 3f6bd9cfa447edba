// The stream that becomes frames, while it is being ingested: its packets, its
// GOPs, which of them are shown, and the proof that decoding from the planned
// start gives what a player shows.
//
// The proof: one decoder runs through the stream from its first packet, as a
// player does. A second one starts at every GOP as the planner would and must
// give the same pixels. Where it does not, the plan goes back more GOPs; where
// that does not help, the key packet is not one, and its GOP becomes a part of
// the one before, of which every frame is compared then. So what the index
// promises has been seen to be true; a stream of which it is not is refused.
//
// Packets are numbered as they come ("ordinal"). One thread at a time.
#ifndef ROWFS_INDEX_PLUGINS_VIDEO_MAIN_TRACK_H_
#define ROWFS_INDEX_PLUGINS_VIDEO_MAIN_TRACK_H_

#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "index/plugins/common/bytes.h"
#include "index/plugins/common/status.h"
#include "index/plugins/video/bitstream.h"
#include "index/plugins/video/converter.h"
#include "index/plugins/video/decoder.h"
#include "index/plugins/video/media_index.h"

namespace rowfs::plugin {

enum class Verify : uint8_t { kOff = 0, kKeys = 1, kFull = 2 };

class MainTrack {
 public:
  // `source` must outlive the track.
  static Result<std::unique_ptr<MainTrack>> Open(const AVStream& source,
                                                 bool convert, Verify verify);

  // Take the next packet of the stream, which lies at `source_offset` of the
  // file when that is known (only told back), in pieces if `scatter` says so.
  // Empty packets are ignored. ROWFS_E_CORRUPT, ROWFS_E_LIMIT (a GOP too large
  // to hold).
  Status Add(const AVPacket& packet, uint64_t source_offset,
             const Scatter& scatter);
  // The packets lie in pieces; `scatter` of each is kept.
  void SetPes(const PesStream& pes) { stream_.pes = pes; }
  // There are no more packets.
  Status Finish();

  // GOPs [0, settled()) will not change any more. Their data can be had until
  // Release. All of them after Finish.
  uint32_t settled() const { return settled_; }
  const std::vector<Gop>& gops() const { return gops_; }
  const std::vector<Packet>& packets() const { return packets_; }
  ByteSpan data(uint32_t ordinal) const {
    return held_[ordinal - held_first_].data;
  }
  bool verbatim(uint32_t ordinal) const {
    return held_[ordinal - held_first_].verbatim;
  }
  uint64_t source_offset(uint32_t ordinal) const {
    return held_[ordinal - held_first_].source_offset;
  }
  uint64_t held_bytes() const { return held_bytes_; }
  // GOPs before `gop` have been written.
  void Release(uint32_t gop) { released_ = gop; }

  // False for packets at the head that nothing can be decoded from; they are
  // left out of the payload. Requires: the GOP is settled.
  bool Wanted(uint32_t ordinal) const;
  void SetOffset(uint32_t ordinal, uint64_t offset) {
    packets_[ordinal].offset = offset;
  }

  // Move what was found into `index`: the main stream, GOPs, frames, shapes,
  // without the packets that are not wanted. ROWFS_E_CORRUPT when no frame can
  // be shown. Requires: Finish, every wanted packet has its offset.
  Status MoveInto(MediaIndex* index);

 private:
  struct Held {
    Bytes data;
    uint64_t source_offset = 0;
    bool verbatim = true;
  };
  // What the sequential decoder gave for a packet.
  struct Seen {
    uint64_t hash = 0;
    Scatter scatter;
    uint16_t shape = 0;
    uint8_t temporal_id = 0;
    bool shown = false;
    bool corrupt = false;
    bool trimmed = false;      // by an edit list
    bool undecodable = false;  // leading picture of the first key
    bool timed = false;        // the container gave a pts
  };

  MainTrack() = default;
  Status AddPacket(const AVPacket& packet, const PictureFacts& facts,
                   uint64_t source_offset);
  void StartGop(const PictureFacts& facts);
  void CloseGop();
  Status Settle(bool all);
  Status VerifyGop(uint32_t gop);
  // Of a GOP that others were added to, whose frames have not been seen to come
  // out from its start. ROWFS_E_CORRUPT when they come out from nowhere.
  Status VerifyMerged(uint32_t gop);
  void TrimHeld();

  // Sequential decoding.
  Status Decode(uint32_t ordinal, const AVPacket* packet);
  Status Collect();
  int64_t GuessPts(uint32_t ordinal, const AVFrame& frame) const;
  void SkipDecoding(uint32_t ordinal);

  // Verification.
  std::vector<uint32_t> Targets(uint32_t gop) const;
  // The first of `targets` that does not come out as seen; -1 when all do.
  Result<int64_t> FindMismatch(const std::vector<uint32_t>& targets,
                               bool skip_nonref);
  Result<bool> Compare(uint32_t start, const std::vector<uint32_t>& targets,
                       bool skip_nonref, int64_t* mismatch);
  void Demote(uint32_t gop);
  uint32_t GopOf(uint32_t ordinal) const;

  // Whether decoding may skip the packet.
  bool Skippable(uint32_t ordinal) const;
  void ClearNonRefsIfDamaged(const Gop& gop);
  void ClearNonRefsOf(const Gop& gop);

  // Finishing.
  void ClearNonRefs();
  void FixTimes();
  std::vector<uint32_t> Renumber(MediaIndex* index);

  Stream stream_;
  std::unique_ptr<StreamConverter> converter_;
  Verify verify_ = Verify::kKeys;
  NalFormat source_nal_ = NalFormat::kNone;
  std::unique_ptr<VideoDecoder> sequential_;  // null when it is not needed
  std::vector<Packet> packets_;
  std::vector<Seen> seen_;
  std::vector<uint32_t> output_;  // ordinals in the order they were shown
  std::vector<FrameShape> shapes_;
  std::vector<Gop> gops_;
  std::vector<uint32_t> recovery_frames_;  // per GOP, as its SEI says
  std::deque<Held> held_;
  uint32_t held_first_ = 0;
  uint64_t held_bytes_ = 0;
  uint32_t settled_ = 0;
  bool merged_ = false;  // GOP settled_ was added to
  uint32_t released_ = 0;
  uint8_t highest_temporal_id_ = 0;
  bool several_frames_ = false;
  bool all_timed_ = true;  // the container gave every packet a pts
};

}  // namespace rowfs::plugin
#endif  // ROWFS_INDEX_PLUGINS_VIDEO_MAIN_TRACK_H_
