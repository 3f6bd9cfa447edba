#include "index/plugins/video/source.h"

#include <algorithm>
#include <cstring>
#include <new>

#include "index/plugins/video/pes.h"

namespace rowfs::plugin {
namespace {

constexpr size_t kIoBuffer = 256 << 10;
// Bytes of framing between the position a demuxer tells and the packet.
constexpr size_t kFramingMax = 512;
// How far the pieces of one packet may lie apart.
constexpr size_t kScatterMax = 64 << 20;
// Demuxers that read one local stream and nothing else. Playlists, image
// sequences, devices and text formats are not among them.
constexpr char kFormats[] =
    "mov,matroska,mpegts,avi,mpeg,mpegvideo,m4v,h264,hevc,ivf,obu,flv,ogg";
// What probing may decode with. Everything else is carried, not opened.
constexpr char kCodecs[] =
    "h264,hevc,vp8,vp9,libdav1d,mpeg2video,mpeg1video,mpeg4,h263,flv,mjpeg,"
    "prores,ffv1,theora,dnxhd,vc1,wmv3,msmpeg4v3,msmpeg4,svq3,cinepak,"
    "huffyuv,ffvhuff,utvideo,magicyuv,png,"
    "aac,aac_latm,mp3float,mp3,mp2float,mp2,ac3,eac3,dca,opus,vorbis,flac,alac,"
    "pcm_s16le,pcm_s16be,pcm_s24le,pcm_s24be,pcm_s32le,pcm_s32be,pcm_u8,"
    "pcm_f32le,pcm_f32be,pcm_f64le,pcm_alaw,pcm_mulaw,pcm_bluray,adpcm_ms,"
    "adpcm_ima_wav,adpcm_ima_qt";

int RefuseToOpen(AVFormatContext*, AVIOContext**, const char*, int,
                 AVDictionary**) {
  return AVERROR(EPERM);
}

}  // namespace

int SourceFile::ReadCallback(void* opaque, uint8_t* out, int size) {
  auto* self = static_cast<SourceFile*>(opaque);
  const uint64_t left = self->position_ < self->reader_.size
                            ? self->reader_.size - self->position_
                            : 0;
  const size_t want =
      static_cast<size_t>(std::min<uint64_t>(left, static_cast<size_t>(size)));
  if (want == 0) return AVERROR_EOF;
  const int32_t code =
      self->reader_.read_at(self->reader_.ctx, self->position_, out, want);
  if (code != ROWFS_OK) {
    self->read_error_ = code;
    return AVERROR(EIO);
  }
  self->position_ += want;
  return static_cast<int>(want);
}

int64_t SourceFile::SeekCallback(void* opaque, int64_t offset, int whence) {
  auto* self = static_cast<SourceFile*>(opaque);
  const int64_t size =
      static_cast<int64_t>(std::min<uint64_t>(self->reader_.size, INT64_MAX));
  if ((whence & AVSEEK_SIZE) != 0) return size;
  int64_t base = 0;
  whence &= ~AVSEEK_FORCE;
  if (whence == SEEK_CUR) base = static_cast<int64_t>(self->position_);
  if (whence == SEEK_END) base = size;
  int64_t target = 0;
  if (__builtin_add_overflow(base, offset, &target) || target < 0) {
    return AVERROR(EINVAL);
  }
  self->position_ = static_cast<uint64_t>(target);
  return target;
}

Result<std::unique_ptr<SourceFile>> SourceFile::Open(const rowfs_reader& reader,
                                                     const std::string& name) {
  std::unique_ptr<SourceFile> file(new SourceFile(reader));
  PLUGIN_RETURN_IF_ERROR(file->OpenFormat(name));
  return file;
}

SourceFile::~SourceFile() {
  avformat_close_input(&format_);
  if (io_ != nullptr) av_freep(&io_->buffer);
  avio_context_free(&io_);
}

Status SourceFile::OpenFormat(const std::string& name) {
  void* buffer = av_malloc(kIoBuffer);
  if (buffer == nullptr) throw std::bad_alloc();
  io_ = avio_alloc_context(static_cast<uint8_t*>(buffer), kIoBuffer, 0, this,
                           ReadCallback, nullptr, SeekCallback);
  if (io_ == nullptr) av_free(buffer);
  format_ = avformat_alloc_context();
  if (io_ == nullptr || format_ == nullptr) throw std::bad_alloc();
  format_->pb = io_;
  format_->flags |= AVFMT_FLAG_CUSTOM_IO;
  format_->io_open = RefuseToOpen;
  format_->format_whitelist = av_strdup(kFormats);
  format_->codec_whitelist = av_strdup(kCodecs);
  format_->protocol_whitelist = av_strdup("");
  format_->max_streams = 256;
  // Frees the context on failure.
  const int opened =
      avformat_open_input(&format_, name.c_str(), nullptr, nullptr);
  if (opened < 0) {
    if (read_error_ != ROWFS_OK) return Status(read_error_, "reading failed");
    if (opened == AVERROR(EINVAL)) {
      return Unsupported("not a video container this plugin reads");
    }
    return Corrupt("the container does not open: " + AvError(opened));
  }
  const int found = avformat_find_stream_info(format_, nullptr);
  if (read_error_ != ROWFS_OK) return Status(read_error_, "reading failed");
  if (found < 0) {
    return Corrupt("the streams cannot be told: " + AvError(found));
  }
  return {};
}

Result<bool> SourceFile::NextPacket(AVPacket* packet) {
  av_packet_unref(packet);
  const int code = av_read_frame(format_, packet);
  if (read_error_ != ROWFS_OK) return Status(read_error_, "reading failed");
  return code >= 0;
}

Status SourceFile::ReadAt(uint64_t offset, std::span<uint8_t> out) {
  if (offset > reader_.size || out.size() > reader_.size - offset) {
    return Corrupt("the file ends inside a packet");
  }
  if (out.empty()) return {};
  const int32_t code =
      reader_.read_at(reader_.ctx, offset, out.data(), out.size());
  return code == ROWFS_OK ? Status() : Status(code, "reading failed");
}

Result<std::optional<uint64_t>> SourceFile::Locate(int64_t hint,
                                                   ByteSpan data) {
  if (hint < 0 || static_cast<uint64_t>(hint) >= size() || data.empty()) {
    return std::optional<uint64_t>();
  }
  const uint64_t begin = static_cast<uint64_t>(hint);
  const uint64_t want =
      std::min<uint64_t>(size() - begin, data.size() + kFramingMax);
  Bytes window(static_cast<size_t>(want));
  PLUGIN_RETURN_IF_ERROR(ReadAt(begin, window));
  const void* at =
      memmem(window.data(), window.size(), data.data(), data.size());
  if (at == nullptr) return std::optional<uint64_t>();
  const auto skipped = static_cast<const uint8_t*>(at) - window.data();
  return std::optional<uint64_t>(begin + static_cast<uint64_t>(skipped));
}

PesStream SourceFile::PesOf(const AVStream& stream) {
  const std::string format = format_->iformat->name;
  PesStream pes;
  pes.id = static_cast<uint16_t>(stream.id);
  if (format == "mpegts") pes.kind = PesKind::kTransport;
  if (format == "mpeg") pes.kind = PesKind::kProgram;
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
