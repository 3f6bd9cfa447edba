// PNG and APNG by libpng. A frame of an APNG is put into a file of its own:
// the chunks that all share, its size, its data.
#include <png.h>

#include <algorithm>
#include <csetjmp>
#include <cstring>

#include "index/plugins/image/composer.h"
#include "index/plugins/image/formats.h"
#include "index/plugins/image/tiff_directory.h"

namespace rowfs::plugin {
namespace {

constexpr uint8_t kSignature[8] = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'};
constexpr uint64_t kHeadMax = 16 << 20;  // of palettes, profiles, EXIF
constexpr uint32_t kChunksWalked = 1u << 22;

uint32_t Big32(const uint8_t* at) {
  return uint32_t{at[0]} << 24 | uint32_t{at[1]} << 16 | uint32_t{at[2]} << 8 |
         at[3];
}
uint32_t Big16(const uint8_t* at) { return uint32_t{at[0]} << 8 | at[1]; }

void PutChunk(std::string_view type, ByteSpan data, ByteWriter* out) {
  out->Big32(static_cast<uint32_t>(data.size()));
  const size_t from = out->size();
  out->Text(type);
  out->Raw(data);
  out->Big32(Crc32(ByteSpan(out->bytes()).subspan(from)));
}

class PngIndexer {
 public:
  PngIndexer(ByteSource* file, ImageIndex* index)
      : file_(file), index_(index) {}

  Status Run();

 private:
  Status ReadHead(const Bytes& ihdr);
  Status ReadChunk(std::string_view type, uint64_t at, uint64_t size);
  Status StartFrame(const Bytes& fctl, uint64_t at);

  ByteSource* file_;
  ImageIndex* index_;
  ByteWriter shared_;  // chunks before the data that frames need
  StoredRaster raster_;
  uint8_t orientation_ = 1;
  bool has_alpha_chunk_ = false;
  bool in_data_ = false;
  bool animated_ = false;
};

Status PngIndexer::ReadHead(const Bytes& ihdr) {
  raster_.codec = RasterCodec::kPng;
  raster_.width = raster_.cell_width = Big32(ihdr.data());
  raster_.height = raster_.cell_height = Big32(ihdr.data() + 4);
  const uint8_t depth = ihdr[8];
  const uint8_t color = ihdr[9];
  raster_.type = depth == 16 ? SampleType::kU16 : SampleType::kU8;
  raster_.colors = (color & 2) != 0 ? 3 : 1;
  raster_.alpha = (color & 4) != 0;
  raster_.pieces = {{0, file_->size()}};
  raster_.description = "png, color type " + std::to_string(color) + ", " +
                        std::to_string(depth) + " bits";
  return {};
}

Status PngIndexer::StartFrame(const Bytes& c, uint64_t at) {
  Animation& a = index_->animation;
  Frame f;
  f.rect = {Big32(c.data() + 12), Big32(c.data() + 16), Big32(c.data() + 4),
            Big32(c.data() + 8)};
  const uint32_t over = Big16(c.data() + 20);
  const uint32_t under = Big16(c.data() + 22);
  f.delay_ms = over * 1000 / (under == 0 ? 100 : under);
  const uint8_t dispose = c[24];
  if (dispose == 1) f.dispose = Frame::Dispose::kClear;
  if (dispose == 2) {
    f.dispose =
        a.frames.empty() ? Frame::Dispose::kClear : Frame::Dispose::kRestore;
  }
  f.blend = c[25] == 1;
  f.key = !f.blend;
  f.piece = {at, 0};
  if (a.frames.size() >= kFramesMax) return Limit("too many frames");
  a.frames.push_back(f);
  return {};
}

Status PngIndexer::ReadChunk(std::string_view type, uint64_t at,
                             uint64_t size) {
  Animation& a = index_->animation;
  if (type == "IDAT") in_data_ = true;
  if (type == "acTL" && size == 8 && !in_data_) {
    PLUGIN_ASSIGN_OR_RETURN(const Bytes c, file_->Read(at + 8, size, 8));
    animated_ = true;
    a.loops = Big32(c.data() + 4);
  } else if (type == "fcTL" && size == 26 && animated_) {
    PLUGIN_ASSIGN_OR_RETURN(const Bytes c, file_->Read(at + 8, size, 26));
    PLUGIN_RETURN_IF_ERROR(StartFrame(c, at));
  } else if (type == "tRNS") {
    has_alpha_chunk_ = true;
  } else if (type == "eXIf") {
    PLUGIN_ASSIGN_OR_RETURN(const Bytes exif,
                            file_->Read(at + 8, size, kHeadMax));
    orientation_ = ExifOrientation(exif);
  }
  const bool data = type == "IDAT" || type == "fdAT";
  if (data && !a.frames.empty()) {
    a.frames.back().piece.size = at + size + 12 - a.frames.back().piece.offset;
  }
  const bool shared = type == "PLTE" || type == "tRNS" || type == "gAMA" ||
                      type == "sBIT" || type == "iCCP";
  if (shared && !in_data_) {
    PLUGIN_ASSIGN_OR_RETURN(const Bytes chunk,
                            file_->Read(at, size + 12, kHeadMax));
    shared_.Raw(chunk);
  }
  return {};
}

Status PngIndexer::Run() {
  index_->format = "png";
  index_->head.extension = "png";
  PLUGIN_ASSIGN_OR_RETURN(const Bytes head, file_->Read(0, 33, 33));
  if (std::memcmp(head.data(), kSignature, 8) != 0 ||
      std::memcmp(head.data() + 12, "IHDR", 4) != 0) {
    return Corrupt("it does not start as a PNG file does");
  }
  const Bytes ihdr(head.begin() + 16, head.begin() + 29);
  PLUGIN_RETURN_IF_ERROR(ReadHead(ihdr));
  uint64_t at = 33;
  for (uint32_t i = 0; i < kChunksWalked; ++i) {
    uint8_t start[8];
    if (at + 8 > file_->size()) break;
    PLUGIN_RETURN_IF_ERROR(file_->ReadAt(at, start));
    const uint64_t size = Big32(start);
    const std::string_view type = AsText(ByteSpan(start).subspan(4));
    if (type == "IEND" || at + size + 12 > file_->size()) break;
    const Status status = ReadChunk(type, at, size);
    if (status.code() == ROWFS_E_IO) return status;
    if (!status.ok()) break;
    // A still picture says all it has to say before its data.
    if (in_data_ && !animated_) break;
    at += size + 12;
  }
  raster_.alpha = raster_.alpha || has_alpha_chunk_;
  raster_.channels =
      static_cast<uint8_t>(raster_.colors + (raster_.alpha ? 1 : 0));
  const bool palette = ihdr[9] == 3;
  if (palette) raster_.type = SampleType::kU8;
  Animation& a = index_->animation;
  std::erase_if(a.frames, [](const Frame& f) { return f.piece.size == 0; });
  if (animated_ && !a.frames.empty()) {
    a.kind = AnimationKind::kApng;
    a.width = raster_.width;
    a.height = raster_.height;
    a.head = ihdr;
    a.head.insert(a.head.end(), shared_.bytes().begin(), shared_.bytes().end());
    SetKeys(&a);
  } else {
    a = Animation();
  }
  index_->pages.push_back({0, orientation_, {}});
  index_->rasters.push_back(std::move(raster_));
  return {};
}

struct Input {
  ByteSpan bytes;
  size_t at = 0;
};

void ReadInput(png_structp png, png_bytep out, png_size_t size) {
  auto* in = static_cast<Input*>(png_get_io_ptr(png));
  if (size > in->bytes.size() - in->at) png_error(png, "the file ends early");
  std::memcpy(out, in->bytes.data() + in->at, size);
  in->at += size;
}

struct Message {
  char text[128] = "";
};

void KeepError(png_structp png, png_const_charp text) {
  auto* message = static_cast<Message*>(png_get_error_ptr(png));
  std::strncpy(message->text, text, sizeof(message->text) - 1);
  longjmp(png_jmpbuf(png), 1);
}
void DropWarning(png_structp, png_const_charp) {}

// What a decode made, owned outside of what longjmp may leave.
struct Decoded {
  Raster raster;
  Message message;
  bool too_large = false;
};

// Rows of 8 or 16 bits, gray or RGB, with alpha where the file has any.
void SetTransforms(png_structp png, png_infop info) {
  const int color = png_get_color_type(png, info);
  const int depth = png_get_bit_depth(png, info);
  if (color == PNG_COLOR_TYPE_PALETTE) png_set_palette_to_rgb(png);
  if (color == PNG_COLOR_TYPE_GRAY && depth < 8) {
    png_set_expand_gray_1_2_4_to_8(png);
  }
  if (png_get_valid(png, info, PNG_INFO_tRNS) != 0) {
    png_set_tRNS_to_alpha(png);
  }
  if (depth == 16) png_set_swap(png);
  png_set_interlace_handling(png);
  png_read_update_info(png, info);
}

void KeepProfile(png_structp png, png_infop info, Raster* out) {
  png_charp name = nullptr;
  png_bytep profile = nullptr;
  png_uint_32 size = 0;
  int kind = 0;
  if (png_get_iCCP(png, info, &name, &kind, &profile, &size) != 0) {
    out->icc.assign(profile, profile + size);
  }
}

// Everything that longjmp may leave; nothing here has a destructor.
bool ReadPng(Input* input, Decoded* out) {
  png_structp png = png_create_read_struct(PNG_LIBPNG_VER_STRING, &out->message,
                                           KeepError, DropWarning);
  if (png == nullptr) return false;
  png_infop info = png_create_info_struct(png);
  if (info == nullptr || setjmp(png_jmpbuf(png)) != 0) {
    png_destroy_read_struct(&png, &info, nullptr);
    return false;
  }
  png_set_read_fn(png, input, ReadInput);
  png_set_user_limits(png, 0x7fffffff, 0x7fffffff);
  png_set_chunk_malloc_max(png, 64 << 20);
  png_set_crc_action(png, PNG_CRC_ERROR_QUIT, PNG_CRC_WARN_DISCARD);
  png_read_info(png, info);
  SetTransforms(png, info);
  auto raster = MakeRaster(
      png_get_image_width(png, info), png_get_image_height(png, info),
      png_get_channels(png, info),
      png_get_bit_depth(png, info) == 16 ? SampleType::kU16 : SampleType::kU8);
  if (!raster.ok()) {
    out->too_large = true;
    png_destroy_read_struct(&png, &info, nullptr);
    return false;
  }
  out->raster = std::move(raster).value();
  KeepProfile(png, info, &out->raster);
  const int passes =
      png_get_interlace_type(png, info) == PNG_INTERLACE_ADAM7 ? 7 : 1;
  for (int pass = 0; pass < passes; ++pass) {
    for (uint32_t y = 0; y < out->raster.height; ++y) {
      png_read_row(png, out->raster.samples.data() + y * out->raster.stride(),
                   nullptr);
    }
  }
  png_destroy_read_struct(&png, &info, nullptr);
  return true;
}

}  // namespace

Status IndexPng(ByteSource* file, ImageIndex* index) {
  return PngIndexer(file, index).Run();
}

Result<Raster> DecodePng(ByteSpan bytes) {
  Input input{bytes};
  Decoded out;
  if (!ReadPng(&input, &out)) {
    if (out.too_large) return Limit("the picture has too many pixels");
    return Corrupt("libpng: " + std::string(out.message.text));
  }
  return std::move(out.raster);
}

Result<Raster> DecodeApngFrame(const Animation& animation, uint32_t frame,
                               ByteSpan bytes) {
  const PixelRect& rect = animation.frames[frame].rect;
  if (animation.head.size() < 13) return Corrupt("the index has no PNG header");
  ByteWriter ihdr;
  ihdr.Big32(rect.width);
  ihdr.Big32(rect.height);
  ihdr.Raw(ByteSpan(animation.head).subspan(8, 5));
  ByteWriter out;
  out.Raw(kSignature);
  PutChunk("IHDR", ihdr.bytes(), &out);
  out.Raw(ByteSpan(animation.head).subspan(13));
  for (size_t at = 0; at + 12 <= bytes.size();) {
    const size_t size = Big32(bytes.data() + at);
    if (size > bytes.size() - at - 12) break;
    const std::string_view type = AsText(bytes.subspan(at + 4, 4));
    const ByteSpan data = bytes.subspan(at + 8, size);
    if (type == "IDAT") PutChunk("IDAT", data, &out);
    if (type == "fdAT" && size > 4) PutChunk("IDAT", data.subspan(4), &out);
    at += size + 12;
  }
  PutChunk("IEND", {}, &out);
  PLUGIN_ASSIGN_OR_RETURN(const Raster picture, DecodePng(out.bytes()));
  PLUGIN_ASSIGN_OR_RETURN(
      Raster rgba, MakeRaster(rect.width, rect.height, 4, SampleType::kU8));
  if (picture.width != rect.width || picture.height != rect.height) {
    return Corrupt("the frame has another size");
  }
  const size_t sample = SampleSize(picture.type);
  const size_t high = sample - 1;  // of a 16-bit sample the upper byte
  for (size_t i = 0; i < size_t{rect.width} * rect.height; ++i) {
    const uint8_t* from = picture.samples.data() + i * picture.pixel_size();
    uint8_t* to = rgba.samples.data() + 4 * i;
    for (size_t c = 0; c < 3; ++c) {
      to[c] = from[(picture.colors == 1 ? 0 : c) * sample + high];
    }
    to[3] = picture.alpha ? from[picture.colors * sample + high] : uint8_t{255};
  }
  return rgba;
}

}  // namespace rowfs::plugin
