#include "index/plugins/video/source.h"

#include <algorithm>

#include "index/plugins/video/pes.h"

namespace rowfs::plugin {
namespace {

// Bytes of framing between the position a demuxer tells and the packet.
constexpr size_t kFramingMax = 512;
// How far the pieces of one packet may lie apart.
constexpr size_t kScatterMax = 64 << 20;
// Demuxers that read one local stream and nothing else. Playlists, image
// sequences, devices and text formats are not among them.
constexpr char kFormats[] =
    "mov,matroska,mpegts,avi,mpeg,mpegvideo,m4v,h264,hevc,ivf,obu,flv,ogg,asf,"
    "mxf,nut,dv";
// What probing may decode with. Everything else is carried, not opened.
constexpr char kCodecs[] =
    "h264,hevc,vp8,vp9,libdav1d,mpeg2video,mpeg1video,mpeg4,h263,flv,mjpeg,"
    "prores,ffv1,theora,dnxhd,vc1,wmv1,wmv2,wmv3,msmpeg4v2,msmpeg4v3,msmpeg4,"
    "dvvideo,svq3,cinepak,"
    "huffyuv,ffvhuff,utvideo,magicyuv,png,"
    "aac,aac_latm,mp3float,mp3,mp2float,mp2,ac3,eac3,dca,opus,vorbis,flac,alac,"
    "pcm_s16le,pcm_s16be,pcm_s24le,pcm_s24be,pcm_s32le,pcm_s32be,pcm_u8,"
    "pcm_f32le,pcm_f32be,pcm_f64le,pcm_alaw,pcm_mulaw,pcm_bluray,adpcm_ms,"
    "adpcm_ima_wav,adpcm_ima_qt";

}  // namespace

Result<std::unique_ptr<SourceFile>> SourceFile::Open(const rowfs_reader& reader,
                                                     const std::string& name) {
  std::unique_ptr<SourceFile> file(new SourceFile(reader));
  PLUGIN_RETURN_IF_ERROR(file->OpenFormat(name, {kFormats, kCodecs}));
  return file;
}

PesStream SourceFile::PesOf(const AVStream& stream) {
  const std::string demuxer = format()->iformat->name;
  PesStream pes;
  pes.id = static_cast<uint16_t>(stream.id);
  if (demuxer == "mpegts") pes.kind = PesKind::kTransport;
  if (demuxer == "mpeg") pes.kind = PesKind::kProgram;
  return pes;
}

Result<std::optional<Scatter>> SourceFile::LocatePieces(const PesStream& pes,
                                                        int64_t hint,
                                                        uint32_t skip,
                                                        ByteSpan data) {
  if (hint < 0 || static_cast<uint64_t>(hint) >= size()) {
    return std::optional<Scatter>();
  }
  const uint64_t begin = static_cast<uint64_t>(hint);
  const uint64_t left = size() - begin;
  uint64_t window = uint64_t{skip} + data.size() + (64 << 10);
  for (;; window *= 4) {
    Bytes bytes(static_cast<size_t>(std::min(window, left)));
    PLUGIN_RETURN_IF_ERROR(ReadAt(begin, bytes));
    // A parser may find the start of a picture a little later than the packet
    // it names.
    const uint64_t most = uint64_t{skip} + data.size() + kFramingMax;
    const std::optional<Scatter> found =
        FindPieces(pes, bytes, skip, data, static_cast<size_t>(most));
    if (found || bytes.size() == left || bytes.size() > kScatterMax) {
      return found;
    }
  }
}

}  // namespace rowfs::plugin
