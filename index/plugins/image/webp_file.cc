// WebP by libwebp. A frame of an animation is put into a file of its own.
#include <webp/decode.h>

#include <algorithm>
#include <cstring>

#include "index/plugins/image/composer.h"
#include "index/plugins/image/formats.h"
#include "index/plugins/image/tiff_directory.h"

namespace rowfs::plugin {
namespace {

constexpr uint64_t kMetadataMax = 16 << 20;

uint32_t Little24(const uint8_t* at) {
  return at[0] | uint32_t{at[1]} << 8 | uint32_t{at[2]} << 16;
}

Result<Raster> DecodeRgba(ByteSpan bytes, bool alpha) {
  WebPBitstreamFeatures features;
  if (WebPGetFeatures(bytes.data(), bytes.size(), &features) != VP8_STATUS_OK) {
    return Corrupt("libwebp: not a sound file");
  }
  PLUGIN_ASSIGN_OR_RETURN(Raster out,
                          MakeRaster(static_cast<uint32_t>(features.width),
                                     static_cast<uint32_t>(features.height),
                                     alpha ? 4 : 3, SampleType::kU8));
  const int stride = static_cast<int>(out.stride());
  const uint8_t* done =
      alpha ? WebPDecodeRGBAInto(bytes.data(), bytes.size(), out.samples.data(),
                                 out.samples.size(), stride)
            : WebPDecodeRGBInto(bytes.data(), bytes.size(), out.samples.data(),
                                out.samples.size(), stride);
  if (done == nullptr) return Corrupt("libwebp: cannot decode it");
  return out;
}

class WebpIndexer {
 public:
  WebpIndexer(ByteSource* file, ImageIndex* index)
      : file_(file), index_(index) {}
  Status Run();

 private:
  Status ReadChunk(std::string_view type, uint64_t at, uint64_t size);
  Status ReadFrame(uint64_t at, uint64_t size);

  ByteSource* file_;
  ImageIndex* index_;
  uint8_t orientation_ = 1;
  bool animated_ = false;
};

Status WebpIndexer::ReadFrame(uint64_t at, uint64_t size) {
  Animation& a = index_->animation;
  PLUGIN_ASSIGN_OR_RETURN(const Bytes h, file_->Read(at, 16, 16));
  if (a.frames.size() >= kFramesMax) return Limit("too many frames");
  Frame f;
  f.rect = {2 * Little24(h.data()), 2 * Little24(h.data() + 3),
            Little24(h.data() + 6) + 1, Little24(h.data() + 9) + 1};
  f.delay_ms = Little24(h.data() + 12);
  f.blend = (h[15] & 2) == 0;
  if ((h[15] & 1) != 0) f.dispose = Frame::Dispose::kClear;
  f.key = !f.blend;
  f.piece = {at + 16, size - 16};
  a.frames.push_back(f);
  return {};
}

Status WebpIndexer::ReadChunk(std::string_view type, uint64_t at,
                              uint64_t size) {
  Animation& a = index_->animation;
  if (type == "VP8X" && size >= 10) {
    PLUGIN_ASSIGN_OR_RETURN(const Bytes h, file_->Read(at, 10, 10));
    animated_ = (h[0] & 2) != 0;
    a.width = Little24(h.data() + 4) + 1;
    a.height = Little24(h.data() + 7) + 1;
  } else if (type == "ANIM" && size >= 6) {
    PLUGIN_ASSIGN_OR_RETURN(const Bytes h, file_->Read(at, 6, 6));
    a.loops = h[4] | uint32_t{h[5]} << 8;
  } else if (type == "ANMF" && animated_ && size > 16) {
    return ReadFrame(at, size);
  } else if (type == "EXIF") {
    PLUGIN_ASSIGN_OR_RETURN(const Bytes exif,
                            file_->Read(at, size, kMetadataMax));
    orientation_ = ExifOrientation(exif);
  } else if (type == "ICCP") {
    PLUGIN_ASSIGN_OR_RETURN(index_->icc, file_->Read(at, size, kMetadataMax));
  }
  return {};
}

Status WebpIndexer::Run() {
  index_->format = "webp";
  index_->head.extension = "webp";
  uint64_t at = 12;
  uint32_t chunks = 0;
  while (at + 8 <= file_->size() && ++chunks < 2 * kFramesMax) {
    uint8_t start[8];
    PLUGIN_RETURN_IF_ERROR(file_->ReadAt(at, start));
    const uint64_t size = start[4] | uint64_t{start[5]} << 8 |
                          uint64_t{start[6]} << 16 | uint64_t{start[7]} << 24;
    if (size > file_->size() - at - 8) break;
    const std::string_view type = AsText(ByteSpan(start).first(4));
    const Status status = ReadChunk(type, at + 8, size);
    if (status.code() == ROWFS_E_IO) return status;
    if (!status.ok()) break;
    at += 8 + size + size % 2;
  }
  Animation& a = index_->animation;
  if (animated_) {
    if (a.frames.empty()) return Corrupt("it holds no picture");
    a.kind = AnimationKind::kWebp;
    SetKeys(&a);
    AddFramePage(index_, "webp, 8 bits");
    return {};
  }
  a = Animation();
  const uint64_t head_size = std::min<uint64_t>(file_->size(), 64 << 10);
  PLUGIN_ASSIGN_OR_RETURN(const Bytes head,
                          file_->Read(0, head_size, head_size));
  WebPBitstreamFeatures features;
  if (WebPGetFeatures(head.data(), head.size(), &features) != VP8_STATUS_OK) {
    return Corrupt("libwebp: not a sound file");
  }
  StoredRaster r;
  r.codec = RasterCodec::kWebp;
  r.width = r.cell_width = static_cast<uint32_t>(features.width);
  r.height = r.cell_height = static_cast<uint32_t>(features.height);
  r.alpha = features.has_alpha != 0;
  r.channels = r.alpha ? 4 : 3;
  r.pieces = {{0, file_->size()}};
  r.description =
      features.format == 2 ? "webp lossless, 8 bits" : "webp, 8 bits";
  index_->rasters.push_back(std::move(r));
  index_->pages.push_back({0, orientation_, {}});
  return {};
}

}  // namespace

Status IndexWebp(ByteSource* file, ImageIndex* index) {
  return WebpIndexer(file, index).Run();
}

Result<Raster> DecodeWebp(ByteSpan bytes, bool alpha) {
  return DecodeRgba(bytes, alpha);
}

Result<Raster> DecodeWebpFrame(const Animation& animation, uint32_t frame,
                               ByteSpan bytes) {
  const PixelRect& rect = animation.frames[frame].rect;
  ByteWriter body;
  body.Text("WEBP");
  const bool has_alpha = AsText(bytes).starts_with("ALPH");
  if (has_alpha) {
    body.Text("VP8X");
    body.U32(10);
    body.U32(0x10);
    for (const uint32_t side : {rect.width - 1, rect.height - 1}) {
      body.U8(static_cast<uint8_t>(side));
      body.U16(static_cast<uint16_t>(side >> 8));
    }
  }
  body.Raw(bytes);
  ByteWriter file;
  file.Text("RIFF");
  file.U32(static_cast<uint32_t>(body.size()));
  file.Raw(body.bytes());
  return DecodeRgba(file.bytes(), true);
}

}  // namespace rowfs::plugin
