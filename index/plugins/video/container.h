// Files synthesized around the packets of a blob without touching them: the
// whole playable file, one GOP, a clip; and the texts and copies beside them.
//
// Everything here is a pure function of the index (and knows nothing of libav).
// Sizes are exact and equal the sum of the planned pieces. Never decodes, never
// reads. A MediaIndex whose head.file_type is kNone has no whole, GOPs or
// clips.
//
// Thread-safe: no state.
#ifndef ROWFS_INDEX_PLUGINS_VIDEO_CONTAINER_H_
#define ROWFS_INDEX_PLUGINS_VIDEO_CONTAINER_H_

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "index/plugins/common/bytes.h"
#include "index/plugins/common/exact_time.h"
#include "index/plugins/common/status.h"
#include "index/plugins/video/media_index.h"

namespace rowfs::plugin {

// One piece of a file: literal bytes, or, when `literal` is empty, a range of
// the blob.
struct FilePiece {
  Bytes literal;
  BlobRange range;

  uint64_t size() const {
    return literal.empty() ? range.size() : literal.size();
  }
};

struct FilePlan {
  std::vector<FilePiece> pieces;  // none empty; neighbouring ranges merged
  uint64_t size() const;
};

// "mp4", "mkv", "webm"; "" for kNone.
const char* ExtensionOf(FileType type);
// "video/mp4", ...
const char* MediaTypeOf(FileType type);

// The container that can carry the main stream and as many of the others as
// possible; kNone when none can (Annex B in its own container, unknown codec).
FileType ChooseFileType(const MediaIndex& index);
// Whether `stream` goes along in synthesized files of `type`.
bool Carries(FileType type, const Stream& stream);
// The container of clips: MP4 also for codecs that players rather look for in
// Matroska, as only edit lists can start between key frames.
FileType ClipType(const MediaIndex& index);

// The playable file: every carried stream, whole. The result of PlanWhole is
// one long literal, then, as far as the container allows, ranges.
// ROWFS_E_UNSUPPORTED when there is no file type.
Result<FilePlan> PlanWhole(const MediaIndex& index);
Result<uint64_t> WholeSize(const MediaIndex& index);

// GOP `gop` as a file that plays alone, its first frame at time 0, with the
// sound of its time. It shows exactly the GOP's frames: where some need the GOP
// before (leading pictures of an open GOP), that comes along hidden by the edit
// list; Matroska, which has none, goes without them.
// ROWFS_E_NOT_FOUND past the last.
Result<FilePlan> PlanGop(const MediaIndex& index, uint32_t gop);
Result<uint64_t> GopSize(const MediaIndex& index, uint32_t gop);

// The window [from, to), times from the start of the media, cut at the end of
// the media: from the key frame that decoding needs to the last packet that is,
// and an edit list, so that a player shows exactly the frames with
// from <= time < to, the first of them at time 0, sound in step. A window
// between two frames shows the first of them. ROWFS_E_NOT_FOUND outside the
// media, ROWFS_E_INVALID when to <= from, ROWFS_E_UNSUPPORTED when ClipType has
// no edit lists and the window does not start at a key frame.
Result<FilePlan> PlanClip(const MediaIndex& index, const ExactTime& from,
                          const ExactTime& to);
Result<uint64_t> ClipSize(const MediaIndex& index, const ExactTime& from,
                          const ExactTime& to);

// The text of .info.json, one object and a newline.
std::string InfoJson(const MediaIndex& index);

// The source file out of MediaIndex::original.
Result<FilePlan> PlanOriginal(const MediaIndex& index);

// A packet that is in the payload byte for byte as it was in the source.
struct StoredPiece {
  uint64_t source_offset = 0;
  uint64_t size = 0;
  uint64_t blob_offset = 0;
};

// Make MediaIndex::original for a source of `source_size` bytes whose `pieces`
// (sorted by source_offset) are in the blob already: everything between them is
// read by `read` and appended to the payload by `append`, which returns where
// in the blob the bytes went. Fails when these do.
Result<std::vector<BlobRange>> KeepContainer(
    uint64_t source_size, std::span<const StoredPiece> pieces,
    const std::function<Status(uint64_t offset, std::span<uint8_t> out)>& read,
    const std::function<Result<uint64_t>(ByteSpan bytes)>& append);

}  // namespace rowfs::plugin
#endif  // ROWFS_INDEX_PLUGINS_VIDEO_CONTAINER_H_
