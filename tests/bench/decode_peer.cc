// The peer of `rowfs bench frames`: plain libav decoding with the encoder that
// the video plugin uses, one thread, one process, no index, no mount.
//
//   decode_peer FILE all             decode and encode every frame in order
//   decode_peer FILE frames N...     each frame from exactly its packets, which
//                                    are in memory already
//
// Prints {"frames": n, "ms": milliseconds, "bytes": encoded}.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "index/plugins/video/colour.h"
#include "index/plugins/video/render.h"

namespace rowfs::plugin {
namespace {

double NowMs() {
  return std::chrono::duration<double, std::milli>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

[[noreturn]] void Die(const char* what) {
  std::fprintf(stderr, "decode_peer: %s\n", what);
  std::exit(1);
}

class Peer {
 public:
  explicit Peer(const char* path) {
    if (avformat_open_input(&format_, path, nullptr, nullptr) < 0) Die(path);
    avformat_find_stream_info(format_, nullptr);
    index_ =
        av_find_best_stream(format_, AVMEDIA_TYPE_VIDEO, -1, -1, nullptr, 0);
    if (index_ < 0) Die("no video");
    const AVStream& source = *format_->streams[index_];
    codec_ =
        avcodec_alloc_context3(avcodec_find_decoder(source.codecpar->codec_id));
    avcodec_parameters_to_context(codec_, source.codecpar);
    codec_->thread_count = 1;
    if (avcodec_open2(codec_, nullptr, nullptr) < 0) Die("no decoder");
    for (;;) {
      AVPacket* packet = av_packet_alloc();
      if (av_read_frame(format_, packet) < 0) break;
      if (packet->stream_index == index_) packets_.push_back(packet);
    }
  }

  void All() {
    const double begin = NowMs();
    for (AVPacket* packet : packets_) Send(packet, AV_NOPTS_VALUE);
    Send(nullptr, AV_NOPTS_VALUE);
    Print(NowMs() - begin);
  }

  void Frames(const std::vector<size_t>& numbers) {
    std::vector<const AVPacket*> shown(packets_.begin(), packets_.end());
    std::sort(shown.begin(), shown.end(),
              [](const auto* a, const auto* b) { return a->pts < b->pts; });
    double ms = 0;
    for (const size_t number : numbers) {
      if (number >= shown.size()) Die("no such frame");
      const AVPacket* target = shown[number];
      size_t last = 0;
      while (packets_[last] != target) ++last;
      size_t key = last;
      while (key > 0 && !((packets_[key]->flags & AV_PKT_FLAG_KEY) != 0 &&
                          packets_[key]->pts <= target->pts)) {
        --key;
      }
      const double begin = NowMs();
      avcodec_flush_buffers(codec_);
      for (size_t i = key; i <= last; ++i) Send(packets_[i], target->pts);
      Send(nullptr, target->pts);
      ms += NowMs() - begin;
    }
    Print(ms);
  }

 private:
  // Encodes the frame shown at `wanted`, or all when that is no time.
  void Send(const AVPacket* packet, int64_t wanted) {
    avcodec_send_packet(codec_, packet);
    while (avcodec_receive_frame(codec_, frame_) >= 0) {
      if (wanted != AV_NOPTS_VALUE && frame_->pts != wanted) continue;
      Bytes storage;
      if (!HasJpegPlanes(*frame_)) Die("not 4:2:0");
      const JpegPlanes planes =
          ToJpegPlanes(*frame_, YuvKindOf(*frame_, stream_),
                       {0, static_cast<uint32_t>(frame_->height)}, &storage);
      const Result<Bytes> jpeg = EncodeJpegPlanes(planes, 90);
      if (!jpeg.ok()) Die("encoding failed");
      bytes_ += jpeg.value().size();
      ++frames_;
    }
  }

  void Print(double ms) const {
    std::printf("{\"frames\": %zu, \"ms\": %.3f, \"bytes\": %zu}\n", frames_,
                ms, bytes_);
  }

  AVFormatContext* format_ = nullptr;
  AVCodecContext* codec_ = nullptr;
  AVFrame* frame_ = av_frame_alloc();
  int index_ = -1;
  Stream stream_;
  std::vector<AVPacket*> packets_;
  size_t frames_ = 0;
  size_t bytes_ = 0;
};

}  // namespace
}  // namespace rowfs::plugin

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fprintf(stderr, "usage: decode_peer FILE all | frames N...\n");
    return 2;
  }
  rowfs::plugin::Peer peer(argv[1]);
  if (std::strcmp(argv[2], "all") == 0) {
    peer.All();
  } else {
    std::vector<size_t> numbers;
    for (int i = 3; i < argc; ++i)
      numbers.push_back(std::strtoul(argv[i], nullptr, 10));
    peer.Frames(numbers);
  }
  return 0;
}
