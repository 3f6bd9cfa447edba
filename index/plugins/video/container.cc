#include "index/plugins/video/container.h"

#include <algorithm>

#include "index/plugins/video/container_cut.h"

namespace rowfs::plugin {
namespace {

Result<FilePlan> Write(const MediaIndex& index, FileType type,
                       const FileCut& cut) {
  switch (type) {
    case FileType::kNone:
      break;
    case FileType::kMp4:
      return WriteMp4(index, cut);
    case FileType::kMatroska:
    case FileType::kWebm:
      return WriteMatroska(cut, type == FileType::kWebm);
  }
  return Unsupported("no container carries this video");
}

// MP4 can carry these too, but players look for them in Matroska.
bool RatherInMatroska(const Stream& stream) {
  constexpr std::string_view kCodecs[] = {
      "vp8",     "ffv1",    "theora",    "vorbis",    "huffyuv",
      "ffvhuff", "utvideo", "msmpeg4v2", "msmpeg4v3",
  };
  return std::find(std::begin(kCodecs), std::end(kCodecs), stream.codec) !=
         std::end(kCodecs);
}

bool InWebm(const Stream& stream) {
  constexpr std::string_view kCodecs[] = {"vp8", "vp9", "av1", "vorbis",
                                          "opus"};
  return std::find(std::begin(kCodecs), std::end(kCodecs), stream.codec) !=
         std::end(kCodecs);
}

// Whether all that is seen and heard fits into `type`.
bool CarriesAll(FileType type, const MediaIndex& index) {
  if (!Carries(type, index.video())) return false;
  return std::all_of(
      index.streams.begin(), index.streams.end(), [&](const Stream& stream) {
        return stream.kind != StreamKind::kAudio || Carries(type, stream);
      });
}

// Matroska cannot hide the frames between a key frame and the window, so it
// only takes clips that need none.
Status CheckStartsClean(const FileCut& cut) {
  const TrackCut& track = cut.tracks[0];
  const Packet& first = track.stream->packets[track.packets.front()];
  const ExactTime time =
      ExactTime::FromTicks(first.pts, track.stream->time_base);
  if (time >= track.from) return {};
  return Unsupported(
      "a clip of this codec can only start at a key frame: its container has "
      "no edit lists");
}

Result<uint64_t> SizeOf(const Result<FilePlan>& plan) {
  if (!plan.ok()) return plan.status();
  return plan.value().size();
}

}  // namespace

uint64_t FilePlan::size() const {
  uint64_t sum = 0;
  for (const FilePiece& piece : pieces) sum += piece.size();
  return sum;
}

const char* ExtensionOf(FileType type) {
  switch (type) {
    case FileType::kNone:
      return "";
    case FileType::kMp4:
      return "mp4";
    case FileType::kMatroska:
      return "mkv";
    case FileType::kWebm:
      return "webm";
  }
  return "";
}

const char* MediaTypeOf(FileType type) {
  switch (type) {
    case FileType::kNone:
      return "";
    case FileType::kMp4:
      return "video/mp4";
    case FileType::kMatroska:
      return "video/x-matroska";
    case FileType::kWebm:
      return "video/webm";
  }
  return "";
}

bool Carries(FileType type, const Stream& stream) {
  if (stream.kind == StreamKind::kPicture || stream.entries.empty() ||
      stream.nal == NalFormat::kAnnexB) {
    return false;
  }
  const CodecEntries& entry = stream.entries[0];
  switch (type) {
    case FileType::kNone:
      return false;
    case FileType::kMp4:
      // Alpha of VP8 and VP9 is a second picture that only Matroska has.
      return FitsMp4(stream) && !RatherInMatroska(stream) &&
             !(stream.has_alpha && InWebm(stream));
    case FileType::kMatroska:
      return !entry.matroska.empty() && stream.kind != StreamKind::kData;
    case FileType::kWebm:
      return !entry.matroska.empty() && InWebm(stream);
  }
  return false;
}

bool FitsMp4(const Stream& stream) {
  return stream.kind != StreamKind::kPicture &&
         stream.kind != StreamKind::kData && stream.nal != NalFormat::kAnnexB &&
         !stream.entries.empty() && !stream.entries[0].mp4.empty();
}

FileType ClipType(const MediaIndex& index) {
  const FileType type = index.head.file_type;
  return type != FileType::kNone && FitsMp4(index.video()) ? FileType::kMp4
                                                           : type;
}

FileType ChooseFileType(const MediaIndex& index) {
  for (const FileType type :
       {FileType::kMp4, FileType::kWebm, FileType::kMatroska}) {
    if (CarriesAll(type, index)) return type;
  }
  for (const FileType type : {FileType::kMp4, FileType::kMatroska}) {
    if (Carries(type, index.video())) return type;
  }
  return FileType::kNone;
}

Result<FilePlan> PlanWhole(const MediaIndex& index) {
  const FileType type = index.head.file_type;
  if (!Carries(type, index.video())) {
    return Unsupported("no container carries this video");
  }
  const FileCut cut = CutWhole(index, type);
  if (cut.tracks.empty() || !cut.tracks[0].is_main) {
    return Unsupported("the video shows nothing");
  }
  return Write(index, type, cut);
}

Result<uint64_t> WholeSize(const MediaIndex& index) {
  return SizeOf(PlanWhole(index));
}

Result<FilePlan> PlanGop(const MediaIndex& index, uint32_t gop) {
  const FileType type = index.head.file_type;
  if (!Carries(type, index.video())) {
    return Unsupported("no container carries this video");
  }
  PLUGIN_ASSIGN_OR_RETURN(const FileCut cut, CutGop(index, type, gop));
  return Write(index, type, cut);
}

Result<uint64_t> GopSize(const MediaIndex& index, uint32_t gop) {
  return SizeOf(PlanGop(index, gop));
}

Result<FilePlan> PlanClip(const MediaIndex& index, const ExactTime& from,
                          const ExactTime& to) {
  const FileType type = ClipType(index);
  if (type != FileType::kMp4 && !Carries(type, index.video())) {
    return Unsupported("no container carries this video");
  }
  PLUGIN_ASSIGN_OR_RETURN(const FileCut cut, CutClip(index, type, from, to));
  if (type != FileType::kMp4) PLUGIN_RETURN_IF_ERROR(CheckStartsClean(cut));
  return Write(index, type, cut);
}

Result<uint64_t> ClipSize(const MediaIndex& index, const ExactTime& from,
                          const ExactTime& to) {
  return SizeOf(PlanClip(index, from, to));
}

}  // namespace rowfs::plugin
