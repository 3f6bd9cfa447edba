#include "index/plugins/common/av_input.h"

#include <algorithm>
#include <cstring>
#include <new>

namespace rowfs::plugin {
namespace {

constexpr size_t kIoBuffer = 256 << 10;
// Bytes of framing between the position a demuxer tells and the packet.
constexpr size_t kFramingMax = 512;

int RefuseToOpen(AVFormatContext*, AVIOContext**, const char*, int,
                 AVDictionary**) {
  return AVERROR(EPERM);
}

}  // namespace

int AvInput::ReadCallback(void* opaque, uint8_t* out, int size) {
  auto* self = static_cast<AvInput*>(opaque);
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

int64_t AvInput::SeekCallback(void* opaque, int64_t offset, int whence) {
  auto* self = static_cast<AvInput*>(opaque);
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

AvInput::~AvInput() {
  avformat_close_input(&format_);
  if (io_ != nullptr) av_freep(&io_->buffer);
  avio_context_free(&io_);
}

Status AvInput::OpenFormat(const std::string& name, const AvAllowed& allowed) {
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
  format_->format_whitelist = av_strdup(allowed.formats);
  format_->codec_whitelist = av_strdup(allowed.codecs);
  format_->protocol_whitelist = av_strdup("");
  format_->max_streams = 256;
  // Frees the context on failure.
  const int opened =
      avformat_open_input(&format_, name.c_str(), nullptr, nullptr);
  if (opened < 0) {
    if (read_error_ != ROWFS_OK) return Status(read_error_, "reading failed");
    if (opened == AVERROR(EINVAL)) {
      return Unsupported("not a container this plugin reads");
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

Result<bool> AvInput::NextPacket(AVPacket* packet) {
  av_packet_unref(packet);
  const int code = av_read_frame(format_, packet);
  if (read_error_ != ROWFS_OK) return Status(read_error_, "reading failed");
  return code >= 0;
}

Status AvInput::ReadAt(uint64_t offset, std::span<uint8_t> out) {
  if (offset > reader_.size || out.size() > reader_.size - offset) {
    return Corrupt("the file ends inside a packet");
  }
  if (out.empty()) return {};
  const int32_t code =
      reader_.read_at(reader_.ctx, offset, out.data(), out.size());
  return code == ROWFS_OK ? Status() : Status(code, "reading failed");
}

Result<std::optional<uint64_t>> AvInput::Locate(int64_t hint, ByteSpan data) {
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

}  // namespace rowfs::plugin
