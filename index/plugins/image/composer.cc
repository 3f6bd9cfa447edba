#include "index/plugins/image/composer.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

namespace rowfs::plugin {
namespace {

Result<Raster> DecodeFrame(const Animation& animation, uint32_t frame,
                           ByteSpan bytes) {
  switch (animation.kind) {
    case AnimationKind::kGif:
      return DecodeGifFrame(animation, frame, bytes);
    case AnimationKind::kApng:
      return DecodeApngFrame(animation, frame, bytes);
    case AnimationKind::kWebp:
      return DecodeWebpFrame(animation, frame, bytes);
    case AnimationKind::kNone:
      break;
  }
  return Corrupt("the picture is no animation");
}

// `over` onto `under`, neither multiplied by alpha.
void Blend(const uint8_t* over, uint8_t* under) {
  const uint32_t a = over[3];
  if (a == 255 || under[3] == 0) {
    std::memcpy(under, over, 4);
    return;
  }
  if (a == 0) return;
  const uint32_t rest = under[3] * (255 - a);  // of 255 * 255
  const uint32_t all = a * 255 + rest;
  for (int c = 0; c < 3; ++c) {
    under[c] = static_cast<uint8_t>(
        (over[c] * a * 255 + under[c] * rest + all / 2) / all);
  }
  under[3] = static_cast<uint8_t>((all + 127) / 255);
}

}  // namespace

uint32_t Composer::Start(const Animation& animation, uint32_t frame) {
  while (frame > 0 && !animation.frames[frame].key) --frame;
  return frame;
}

void Composer::Dispose(const Animation& animation, uint32_t frame) {
  const Frame& f = animation.frames[frame];
  if (f.dispose == Frame::Dispose::kRestore) {
    canvas_ = std::move(before_);
    before_ = Raster();
  } else if (f.dispose == Frame::Dispose::kClear) {
    for (uint32_t y = 0; y < f.rect.height; ++y) {
      std::memset(canvas_.samples.data() + (f.rect.y + y) * canvas_.stride() +
                      4 * size_t{f.rect.x},
                  0, 4 * size_t{f.rect.width});
    }
  }
}

Status Composer::Draw(const Animation& animation, uint32_t frame,
                      const FrameReader& read) {
  const Frame& f = animation.frames[frame];
  PLUGIN_ASSIGN_OR_RETURN(const ByteSpan bytes, read(frame));
  if (f.dispose == Frame::Dispose::kRestore) before_ = canvas_;
  auto decoded = DecodeFrame(animation, frame, bytes);
  if (!decoded.ok()) {
    return Status(
        decoded.status().code(),
        "frame " + std::to_string(frame) + ": " + decoded.status().message());
  }
  const Raster& picture = decoded.value();
  if (picture.width != f.rect.width || picture.height != f.rect.height) {
    return Corrupt("frame " + std::to_string(frame) + " has another size");
  }
  for (uint32_t y = 0; y < f.rect.height; ++y) {
    const uint8_t* from = picture.samples.data() + y * picture.stride();
    uint8_t* to = canvas_.samples.data() + (f.rect.y + y) * canvas_.stride() +
                  4 * size_t{f.rect.x};
    if (!f.blend) {
      std::memcpy(to, from, picture.stride());
      continue;
    }
    for (uint32_t x = 0; x < f.rect.width; ++x) Blend(from + 4 * x, to + 4 * x);
  }
  return {};
}

Result<Raster> Composer::Show(const Animation& animation, uint32_t frame,
                              const FrameReader& read) {
  const uint32_t start = Start(animation, frame);
  if (!shown_ || *shown_ > frame || *shown_ < start) {
    PLUGIN_ASSIGN_OR_RETURN(
        canvas_,
        MakeRaster(animation.width, animation.height, 4, SampleType::kU8));
    shown_.reset();
  }
  uint32_t next = shown_ ? *shown_ + 1 : start;
  for (; next <= frame; ++next) {
    if (shown_) Dispose(animation, *shown_);
    shown_.reset();  // a canvas that failed half way is none
    PLUGIN_RETURN_IF_ERROR(Draw(animation, next, read));
    shown_ = next;
  }
  return canvas_;
}

}  // namespace rowfs::plugin
