// What goes into a synthesized file: which packets of which streams, and which
// part of the time line they are shown for. The whole file, a GOP and a clip
// are three ways to choose; MP4 and Matroska two ways to write what was chosen.
//
// Thread-safe: no state.
#ifndef ROWFS_INDEX_PLUGINS_VIDEO_CONTAINER_CUT_H_
#define ROWFS_INDEX_PLUGINS_VIDEO_CONTAINER_CUT_H_

#include <cstdint>
#include <vector>

#include "index/plugins/common/exact_time.h"
#include "index/plugins/common/status.h"
#include "index/plugins/video/container.h"
#include "index/plugins/video/media_index.h"

namespace rowfs::plugin {

// A stream in a file. Points into the index it was cut from.
struct TrackCut {
  const Stream* stream = nullptr;
  bool is_main = false;
  std::vector<uint32_t> packets;  // ordinals, ascending, not empty
  // The part that is shown, on the source's time line; from < to.
  ExactTime from;
  ExactTime to;
  // Decoding must start at the first packet: no other up to `from` may pass for
  // a place to start at, or players would (a recovery point is one).
  bool from_first = false;
};

struct FileCut {
  // The moment of the source's time line that is 0 in the file.
  ExactTime origin;
  // All of the blob in one piece up to the last packet, instead of the packets
  // alone: one range to read, and what lies between them does no harm.
  bool whole_blob = false;
  // The same for packets that lie this near: the sound of a window before its
  // pictures. One range, one request.
  uint64_t gap_bytes_max = 0;
  std::vector<TrackCut> tracks;  // the main stream first
};

// Whether an MP4 file can hold `stream` at all.
bool FitsMp4(const Stream& stream);

// Everything `type` carries. Times stay what they are in the source, as players
// of the source show them.
FileCut CutWhole(const MediaIndex& index, FileType type);

// The frames of one GOP, from the first of them on. Where some need GOPs before
// (leading pictures of an open GOP, a recovery window), these come along, not
// shown; a container without edit lists goes without leading pictures instead.
// ROWFS_E_NOT_FOUND past the last and for one that shows no frame.
Result<FileCut> CutGop(const MediaIndex& index, FileType type, uint32_t gop);

// Frames with from <= time < to, from the start of the media; when none starts
// in the window, the one shown there. Begins at the GOP they are decodable
// from. MP4 takes along all that fits into it.
// ROWFS_E_INVALID when to <= from, ROWFS_E_NOT_FOUND outside the media.
Result<FileCut> CutClip(const MediaIndex& index, FileType type,
                        const ExactTime& from, const ExactTime& to);

// The cut as a file.
Result<FilePlan> WriteMp4(const MediaIndex& index, const FileCut& cut);
Result<FilePlan> WriteMatroska(const FileCut& cut, bool webm);

}  // namespace rowfs::plugin
#endif  // ROWFS_INDEX_PLUGINS_VIDEO_CONTAINER_CUT_H_
