// GIF: blocks one behind the other, so finding the frames means reading all of
// the file. LZW as GIF89a appendix F has it.
#include <algorithm>
#include <array>

#include "index/plugins/image/composer.h"
#include "index/plugins/image/formats.h"

namespace rowfs::plugin {
namespace {

constexpr uint64_t kChunk = 256 << 10;
constexpr size_t kCodesMax = 4096;

// Walks the file through a window, byte by byte.
class Walker {
 public:
  explicit Walker(ByteSource* file) : file_(file) {}

  uint64_t at() const { return at_; }
  bool AtEnd() const { return at_ >= file_->size(); }
  Result<uint8_t> Next() {
    if (at_ < from_ || at_ >= from_ + window_.size()) {
      const uint64_t left = file_->size() - std::min(at_, file_->size());
      if (left == 0) return Corrupt("the file ends inside a block");
      PLUGIN_ASSIGN_OR_RETURN(window_,
                              file_->Read(at_, std::min(left, kChunk), kChunk));
      from_ = at_;
    }
    return window_[static_cast<size_t>(at_++ - from_)];
  }
  Result<uint16_t> Next16() {
    PLUGIN_ASSIGN_OR_RETURN(const uint8_t low, Next());
    PLUGIN_ASSIGN_OR_RETURN(const uint8_t high, Next());
    return static_cast<uint16_t>(low | high << 8);
  }
  void Skip(uint64_t size) { at_ += size; }

 private:
  ByteSource* file_;
  Bytes window_;
  uint64_t from_ = 0;
  uint64_t at_ = 0;
};

// What a graphic control extension says about the next picture.
struct Control {
  uint8_t dispose = 0;
  bool transparent = false;
  uint32_t delay_ms = 0;
};

class GifIndexer {
 public:
  GifIndexer(ByteSource* file, ImageIndex* index)
      : file_(file), walk_(file), animation_(index->animation) {}

  Status Run();

 private:
  Status SkipBlocks();
  Status ReadExtension();
  Status ReadPicture();

  ByteSource* file_;
  Walker walk_;
  Animation& animation_;
  Control control_;
  uint64_t frame_from_ = 0;  // where what belongs to the next picture starts
};

Status GifIndexer::SkipBlocks() {
  while (true) {
    PLUGIN_ASSIGN_OR_RETURN(const uint8_t size, walk_.Next());
    if (size == 0) return {};
    walk_.Skip(size);
  }
}

Status GifIndexer::ReadExtension() {
  PLUGIN_ASSIGN_OR_RETURN(const uint8_t label, walk_.Next());
  if (label == 0xf9) {
    frame_from_ = walk_.at() - 2;
    PLUGIN_ASSIGN_OR_RETURN(const uint8_t size, walk_.Next());
    if (size != 4) return Corrupt("a graphic control block of another size");
    PLUGIN_ASSIGN_OR_RETURN(const uint8_t flags, walk_.Next());
    PLUGIN_ASSIGN_OR_RETURN(const uint16_t delay, walk_.Next16());
    walk_.Skip(1);
    control_.dispose = flags >> 2 & 7;
    control_.transparent = (flags & 1) != 0;
    control_.delay_ms = uint32_t{delay} * 10;
  } else if (label == 0xff) {
    PLUGIN_ASSIGN_OR_RETURN(const uint8_t size, walk_.Next());
    std::string name;
    for (uint8_t i = 0; i < size; ++i) {
      PLUGIN_ASSIGN_OR_RETURN(const uint8_t c, walk_.Next());
      name += static_cast<char>(c);
    }
    if (name == "NETSCAPE2.0" || name == "ANIMEXTS1.0") {
      PLUGIN_ASSIGN_OR_RETURN(const uint8_t length, walk_.Next());
      if (length == 3) {
        walk_.Skip(1);
        PLUGIN_ASSIGN_OR_RETURN(const uint16_t loops, walk_.Next16());
        animation_.loops = loops;
      } else if (length != 0) {
        walk_.Skip(length);
      } else {
        return {};
      }
    }
  }
  return SkipBlocks();
}

Status GifIndexer::ReadPicture() {
  const uint64_t from = frame_from_ != 0 ? frame_from_ : walk_.at() - 1;
  Frame f;
  PLUGIN_ASSIGN_OR_RETURN(f.rect.x, walk_.Next16());
  PLUGIN_ASSIGN_OR_RETURN(f.rect.y, walk_.Next16());
  PLUGIN_ASSIGN_OR_RETURN(f.rect.width, walk_.Next16());
  PLUGIN_ASSIGN_OR_RETURN(f.rect.height, walk_.Next16());
  PLUGIN_ASSIGN_OR_RETURN(const uint8_t flags, walk_.Next());
  if ((flags & 0x80) != 0) walk_.Skip(uint64_t{3} << ((flags & 7) + 1));
  walk_.Skip(1);  // the size of LZW codes
  PLUGIN_RETURN_IF_ERROR(SkipBlocks());
  f.piece = {from, std::min(walk_.at(), file_->size()) - from};
  f.delay_ms = control_.delay_ms;
  if (control_.dispose == 2) f.dispose = Frame::Dispose::kClear;
  if (control_.dispose == 3) f.dispose = Frame::Dispose::kRestore;
  // A picture past the canvas makes it larger, as players do.
  animation_.width = std::max(animation_.width, f.rect.x + f.rect.width);
  animation_.height = std::max(animation_.height, f.rect.y + f.rect.height);
  f.key = !control_.transparent;  // if it covers everything
  animation_.frames.push_back(f);
  control_ = Control();
  frame_from_ = 0;
  return {};
}

Status GifIndexer::Run() {
  animation_.kind = AnimationKind::kGif;
  animation_.loops = 1;
  walk_.Skip(6);
  PLUGIN_ASSIGN_OR_RETURN(animation_.width, walk_.Next16());
  PLUGIN_ASSIGN_OR_RETURN(animation_.height, walk_.Next16());
  PLUGIN_ASSIGN_OR_RETURN(const uint8_t flags, walk_.Next());
  const uint64_t colors =
      (flags & 0x80) != 0 ? uint64_t{3} << ((flags & 7) + 1) : 0;
  PLUGIN_ASSIGN_OR_RETURN(animation_.head, file_->Read(13, colors, 768));
  walk_.Skip(2 + colors);
  while (!walk_.AtEnd() && animation_.frames.size() < kFramesMax) {
    PLUGIN_ASSIGN_OR_RETURN(const uint8_t block, walk_.Next());
    Status status;
    if (block == 0x3b) break;
    if (block == 0x21) status = ReadExtension();
    if (block == 0x2c) status = ReadPicture();
    if (status.code() == ROWFS_E_IO) return status;
    // What is cut off at the end is left out.
    if (!status.ok()) break;
  }
  if (animation_.frames.empty()) return Corrupt("it holds no picture");
  return {};
}

// Bits from the low end, over the sub-blocks of a picture.
class CodeReader {
 public:
  explicit CodeReader(ByteReader* in) : in_(in) {}
  // -1 at the end.
  int Next(uint32_t width) {
    while (have_ < width) {
      if (block_ == 0) {
        block_ = in_->U8();
        if (!in_->ok() || block_ == 0) return -1;
      }
      bits_ |= uint32_t{in_->U8()} << have_;
      if (!in_->ok()) return -1;
      --block_;
      have_ += 8;
    }
    const int code = static_cast<int>(bits_ & ((1u << width) - 1));
    bits_ >>= width;
    have_ -= width;
    return code;
  }

 private:
  ByteReader* in_;
  uint32_t bits_ = 0;
  uint32_t have_ = 0;
  uint32_t block_ = 0;
};

// Up to `out->size()` palette numbers; how many there were.
size_t DecodeLzw(ByteReader* in, uint32_t code_size, Bytes* out) {
  std::array<uint16_t, kCodesMax> prefix{};
  std::array<uint8_t, kCodesMax> suffix{};
  std::array<uint8_t, kCodesMax + 1> stack{};
  const int clear = 1 << code_size;
  const int end = clear + 1;
  int next = end + 1;
  uint32_t width = code_size + 1;
  int last = -1;
  uint8_t first = 0;
  size_t at = 0;
  CodeReader codes(in);
  while (at < out->size()) {
    const int code = codes.Next(width);
    if (code < 0 || code == end) break;
    if (code == clear) {
      next = end + 1;
      width = code_size + 1;
      last = -1;
      continue;
    }
    if (last < 0) {
      if (code > end) break;  // damaged
      first = static_cast<uint8_t>(code);
      (*out)[at++] = first;
      last = code;
      continue;
    }
    if (code > next) break;  // damaged
    size_t depth = 0;
    int walk = code;
    if (code == next) {
      stack[depth++] = first;
      walk = last;
    }
    while (walk > end && depth < kCodesMax) {
      stack[depth++] = suffix[static_cast<size_t>(walk)];
      walk = prefix[static_cast<size_t>(walk)];
    }
    first = static_cast<uint8_t>(walk);
    stack[depth++] = first;
    while (depth > 0 && at < out->size()) (*out)[at++] = stack[--depth];
    if (next < static_cast<int>(kCodesMax)) {
      prefix[static_cast<size_t>(next)] = static_cast<uint16_t>(last);
      suffix[static_cast<size_t>(next)] = first;
      ++next;
      if (next == 1 << width && width < 12) ++width;
    }
    last = code;
  }
  return at;
}

// The row of the picture that row `i` of the data is, when interlaced.
uint32_t InterlacedRow(uint32_t i, uint32_t height) {
  const uint32_t first = (height + 7) / 8;
  const uint32_t second = first + (height + 3) / 8;
  const uint32_t third = second + (height + 1) / 4;
  if (i < first) return i * 8;
  if (i < second) return (i - first) * 8 + 4;
  if (i < third) return (i - second) * 4 + 2;
  return (i - third) * 2 + 1;
}

}  // namespace

void SetKeys(Animation* animation) {
  bool cleared = true;
  for (Frame& f : animation->frames) {
    const bool covers =
        f.rect == PixelRect{0, 0, animation->width, animation->height};
    // "Restore" keeps what is below, so the next frame needs that as well.
    f.key =
        cleared || (covers && f.key && f.dispose != Frame::Dispose::kRestore);
    cleared = covers && f.dispose == Frame::Dispose::kClear;
  }
}

Status IndexGif(ByteSource* file, ImageIndex* index) {
  index->format = "gif";
  index->head.extension = "gif";
  PLUGIN_RETURN_IF_ERROR(GifIndexer(file, index).Run());
  SetKeys(&index->animation);
  AddFramePage(index, "gif, palette, 8 bits");
  return {};
}

Result<Raster> DecodeGifFrame(const Animation& animation, uint32_t frame,
                              ByteSpan bytes) {
  const PixelRect& rect = animation.frames[frame].rect;
  ByteReader in(bytes);
  int transparent = -1;
  while (in.ok() && in.remaining() > 0) {
    const uint8_t block = in.U8();
    if (block == 0x2c) break;
    const uint8_t label = in.U8();
    if (block != 0x21) return Corrupt("a GIF frame does not start as one");
    uint8_t size = in.U8();
    if (label == 0xf9 && size == 4) {
      const uint8_t flags = in.U8();
      in.U16();
      const uint8_t color = in.U8();
      if ((flags & 1) != 0) transparent = color;
      size = in.U8();
    }
    while (size != 0 && in.ok()) {
      in.Take(size);
      size = in.U8();
    }
  }
  in.Take(8);
  const uint8_t flags = in.U8();
  ByteSpan palette = animation.head;
  if ((flags & 0x80) != 0) palette = in.Take(uint64_t{3} << ((flags & 7) + 1));
  const uint8_t code_size = in.U8();
  if (!in.ok() || code_size < 1 || code_size > 11) {
    return Corrupt("a GIF frame is damaged");
  }
  PLUGIN_ASSIGN_OR_RETURN(
      Raster out, MakeRaster(rect.width, rect.height, 4, SampleType::kU8));
  Bytes numbers(size_t{rect.width} * rect.height);
  const size_t count = DecodeLzw(&in, code_size, &numbers);
  if (count < numbers.size()) return Corrupt("a GIF frame is cut short");
  for (uint32_t y = 0; y < rect.height; ++y) {
    const uint32_t row =
        (flags & 0x40) != 0 ? InterlacedRow(y, rect.height) : y;
    uint8_t* to = out.samples.data() + row * out.stride();
    for (uint32_t x = 0; x < rect.width; ++x, to += 4) {
      const size_t i = size_t{y} * rect.width + x;
      const size_t color = numbers[i];
      if (static_cast<int>(color) == transparent) continue;
      for (size_t c = 0; c < 3; ++c) {
        to[c] = 3 * color + c < palette.size() ? palette[3 * color + c]
                                               : uint8_t{0};
      }
      to[3] = 255;
    }
  }
  return out;
}

}  // namespace rowfs::plugin
