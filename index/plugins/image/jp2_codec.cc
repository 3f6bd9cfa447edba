#include "index/plugins/image/jp2_codec.h"

#include <openjpeg.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>

namespace rowfs::plugin {
namespace {

struct Input {
  ByteSpan bytes;
  size_t at = 0;
};

OPJ_SIZE_T ReadInput(void* out, OPJ_SIZE_T size, void* user) {
  auto* in = static_cast<Input*>(user);
  const size_t n = std::min<size_t>(size, in->bytes.size() - in->at);
  if (n == 0) return static_cast<OPJ_SIZE_T>(-1);
  std::memcpy(out, in->bytes.data() + in->at, n);
  in->at += n;
  return n;
}

OPJ_OFF_T SkipInput(OPJ_OFF_T size, void* user) {
  auto* in = static_cast<Input*>(user);
  if (size < 0) return -1;
  const size_t n =
      std::min<size_t>(static_cast<size_t>(size), in->bytes.size() - in->at);
  in->at += n;
  return static_cast<OPJ_OFF_T>(n);
}

OPJ_BOOL SeekInput(OPJ_OFF_T at, void* user) {
  auto* in = static_cast<Input*>(user);
  if (at < 0 || static_cast<size_t>(at) > in->bytes.size()) return OPJ_FALSE;
  in->at = static_cast<size_t>(at);
  return OPJ_TRUE;
}

void KeepMessage(const char* message, void* user) {
  auto* text = static_cast<std::string*>(user);
  if (!text->empty()) return;
  *text = message;
  while (!text->empty() && text->back() == '\n') text->pop_back();
}

void DropMessage(const char*, void*) {}

struct Free {
  void operator()(opj_codec_t* c) const { opj_destroy_codec(c); }
  void operator()(opj_image_t* i) const { opj_image_destroy(i); }
};
using CodecPtr = std::unique_ptr<opj_codec_t, Free>;
using ImagePtr = std::unique_ptr<opj_image_t, Free>;

struct FreeStream {
  void operator()(opj_stream_t* s) const { opj_stream_destroy(s); }
};
using StreamPtr = std::unique_ptr<opj_stream_t, FreeStream>;

Result<ImagePtr> DecodeImage(ByteSpan bytes) {
  Input input{bytes};
  const bool bare = bytes.size() > 1 && bytes[0] == 0xff && bytes[1] == 0x4f;
  const CodecPtr codec(
      opj_create_decompress(bare ? OPJ_CODEC_J2K : OPJ_CODEC_JP2));
  const StreamPtr stream(opj_stream_create(1 << 16, OPJ_TRUE));
  if (codec == nullptr || stream == nullptr) return Limit("out of memory");
  std::string error;
  opj_set_error_handler(codec.get(), KeepMessage, &error);
  opj_set_warning_handler(codec.get(), DropMessage, nullptr);
  opj_set_info_handler(codec.get(), DropMessage, nullptr);
  opj_stream_set_read_function(stream.get(), ReadInput);
  opj_stream_set_skip_function(stream.get(), SkipInput);
  opj_stream_set_seek_function(stream.get(), SeekInput);
  opj_stream_set_user_data(stream.get(), &input, nullptr);
  opj_stream_set_user_data_length(stream.get(), bytes.size());
  opj_dparameters_t parameters;
  opj_set_default_decoder_parameters(&parameters);
  opj_image_t* raw = nullptr;
  bool ok = opj_setup_decoder(codec.get(), &parameters) == OPJ_TRUE &&
            opj_read_header(stream.get(), codec.get(), &raw) == OPJ_TRUE;
  ImagePtr image(raw);
  if (ok) {
    const uint64_t pixels = uint64_t{raw->x1 - raw->x0} * (raw->y1 - raw->y0);
    if (raw->x1 <= raw->x0 || raw->y1 <= raw->y0 ||
        pixels * raw->numcomps > uint64_t{1} << 28) {
      return Limit("the picture has too many pixels");
    }
    ok = opj_decode(codec.get(), stream.get(), raw) == OPJ_TRUE;
  }
  if (!ok) {
    return Corrupt("openjpeg: " + (error.empty() ? "cannot decode it" : error));
  }
  return image;
}

// Sample `c` of pixel (x, y) over the full range of 16 bits, or as it is.
uint32_t SampleAt(const opj_image_comp_t& c, uint32_t x, uint32_t y, bool raw) {
  const uint32_t cx = std::min(x / c.dx, c.w - 1);
  const uint32_t cy = std::min(y / c.dy, c.h - 1);
  const int64_t most = (int64_t{1} << c.prec) - 1;
  int64_t value = c.data[size_t{cy} * c.w + cx];
  if (raw) return static_cast<uint32_t>(value);
  if (c.sgnd != 0) value += int64_t{1} << (c.prec - 1);
  value = std::clamp<int64_t>(value, 0, most);
  if (c.prec == 16) return static_cast<uint32_t>(value);
  return static_cast<uint32_t>((value * 65535 + most / 2) / most);
}

}  // namespace

Result<Raster> DecodeJp2(ByteSpan bytes, uint32_t channels, SampleType type,
                         Jp2Colors colors) {
  PLUGIN_ASSIGN_OR_RETURN(const ImagePtr image, DecodeImage(bytes));
  for (uint32_t c = 0; c < image->numcomps; ++c) {
    const opj_image_comp_t& comp = image->comps[c];
    if (comp.data == nullptr || comp.w == 0 || comp.h == 0 || comp.dx == 0 ||
        comp.dy == 0 || comp.prec == 0 || comp.prec > 31) {
      return Corrupt("a component of the picture is missing");
    }
  }
  if (image->numcomps < channels) {
    return Corrupt("the picture has fewer components than it says");
  }
  const uint32_t width = image->x1 - image->x0;
  const uint32_t height = image->y1 - image->y0;
  PLUGIN_ASSIGN_OR_RETURN(Raster out,
                          MakeRaster(width, height, channels, type));
  const bool raw = colors == Jp2Colors::kRaw;
  const bool ycc =
      !raw && channels >= 3 &&
      (colors == Jp2Colors::kYcc || image->color_space == OPJ_CLRSPC_SYCC ||
       image->comps[1].dx != image->comps[0].dx);
  uint8_t* to = out.samples.data();
  for (uint32_t y = 0; y < height; ++y) {
    for (uint32_t x = 0; x < width; ++x) {
      uint32_t v[4] = {};
      for (uint32_t c = 0; c < channels; ++c) {
        v[c] = SampleAt(image->comps[c], x, y, raw);
      }
      if (ycc) {
        const double luma = v[0], b = v[1] - 32768.0, r = v[2] - 32768.0;
        const double rgb[3] = {luma + 1.402 * r,
                               luma - 0.344136 * b - 0.714136 * r,
                               luma + 1.772 * b};
        for (size_t c = 0; c < 3; ++c) {
          v[c] = static_cast<uint32_t>(std::clamp(rgb[c] + 0.5, 0.0, 65535.0));
        }
      }
      for (uint32_t c = 0; c < channels; ++c) {
        if (type == SampleType::kU8) {
          *to++ = static_cast<uint8_t>(raw ? v[c] : (v[c] + 128) / 257);
        } else {
          const auto wide = static_cast<uint16_t>(v[c]);
          std::memcpy(to, &wide, 2);
          to += 2;
        }
      }
    }
  }
  return out;
}

}  // namespace rowfs::plugin
