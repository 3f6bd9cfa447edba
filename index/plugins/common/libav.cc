#include "index/plugins/common/libav.h"

#include <array>
#include <cstring>
#include <new>

namespace rowfs::plugin {

PacketPtr NewPacket() {
  PacketPtr p(av_packet_alloc());
  if (p == nullptr) throw std::bad_alloc();
  return p;
}

FramePtr NewFrame() {
  FramePtr f(av_frame_alloc());
  if (f == nullptr) throw std::bad_alloc();
  return f;
}

FramePtr ShareFrame(const AVFrame& frame) {
  FramePtr f(av_frame_clone(&frame));
  if (f == nullptr) throw std::bad_alloc();
  return f;
}

FramePtr CopyFrame(const AVFrame& frame) {
  FramePtr f = NewFrame();
  f->format = frame.format;
  f->width = frame.width;
  f->height = frame.height;
  if (av_frame_get_buffer(f.get(), 0) < 0 ||
      av_frame_copy(f.get(), &frame) < 0 ||
      av_frame_copy_props(f.get(), &frame) < 0) {
    throw std::bad_alloc();
  }
  return f;
}

bool SetExtradata(ByteSpan bytes, AVCodecParameters* parameters) {
  if (bytes.empty()) return true;
  void* data = av_mallocz(bytes.size() + AV_INPUT_BUFFER_PADDING_SIZE);
  if (data == nullptr) return false;
  std::memcpy(data, bytes.data(), bytes.size());
  parameters->extradata = static_cast<uint8_t*>(data);
  parameters->extradata_size = static_cast<int>(bytes.size());
  return true;
}

std::string AvError(int code) {
  std::array<char, AV_ERROR_MAX_STRING_SIZE> text{};
  av_strerror(code, text.data(), text.size());
  return text.data();
}

void SilenceLibav() { av_log_set_level(AV_LOG_QUIET); }

}  // namespace rowfs::plugin
