#include <algorithm>
#include <csetjmp>
#include <cstdio>
#include <cstdlib>

// jpeglib.h needs stdio.h first.
#include <jpeglib.h>

#include "index/plugins/common/image_codecs.h"

namespace rowfs::plugin {
namespace {

constexpr uint32_t kSideMaxJpeg = 65'500;

struct ErrorManager {
  jpeg_error_mgr base;  // first: libjpeg hands out a pointer to it
  jmp_buf leave;
  char message[JMSG_LENGTH_MAX];
};

void LeaveOnError(j_common_ptr info) {
  auto* errors = static_cast<ErrorManager*>(static_cast<void*>(info->err));
  errors->base.format_message(info, errors->message);
  longjmp(errors->leave, 1);
}

void Silence(j_common_ptr) {}

struct Settings {
  int quality;
  uint32_t restart_interval;  // in MCUs, 0 is none
};

struct Output {
  unsigned char* data = nullptr;  // malloc'ed by libjpeg
  unsigned long size = 0;
  ~Output() { std::free(data); }
};

// Rows of a block of 4:2:0 and of the smallest picture that is worth two bands.
constexpr uint32_t kMcu = 16;
constexpr uint64_t kBandPixelsMin = uint64_t{320} * 240;
constexpr uint32_t kIntervalMax = 65'535;  // what its header has room for

uint32_t Mcus(uint32_t pixels) { return (pixels + kMcu - 1) / kMcu; }

void Start(jpeg_compress_struct* c, uint32_t width, uint32_t height,
           J_COLOR_SPACE space, const Settings& settings) {
  c->image_width = width;
  c->image_height = height;
  c->input_components = space == JCS_GRAYSCALE ? 1 : 3;
  c->in_color_space = space;
  jpeg_set_defaults(c);
  jpeg_set_quality(c, settings.quality, TRUE);
  c->restart_interval = settings.restart_interval;
  c->dct_method = JDCT_ISLOW;  // the same bits with and without SIMD
}

void WriteRows(jpeg_compress_struct* c, const Picture& picture) {
  const uint8_t* rows = picture.samples.data();
  const size_t stride = size_t{picture.shape.width} * picture.shape.channels();
  jpeg_start_compress(c, TRUE);
  if (!picture.icc.empty()) {
    jpeg_write_icc_profile(c, picture.icc.data(),
                           static_cast<unsigned>(picture.icc.size()));
  }
  while (c->next_scanline < c->image_height) {
    JSAMPROW row = const_cast<JSAMPROW>(rows + c->next_scanline * stride);
    jpeg_write_scanlines(c, &row, 1);
  }
  jpeg_finish_compress(c);
}

// Rows past the last one repeat it: libjpeg wants whole MCU rows.
void WritePlanes(jpeg_compress_struct* c, const JpegPlanes& planes) {
  c->raw_data_in = TRUE;
  jpeg_start_compress(c, TRUE);
  JSAMPROW rows[3][16];
  JSAMPARRAY components[3] = {rows[0], rows[1], rows[2]};
  while (c->next_scanline < c->image_height) {
    for (uint32_t p = 0; p < 3; ++p) {
      const uint32_t count = p == 0 ? 16 : 8;
      const uint32_t height = p == 0 ? planes.height : (planes.height + 1) / 2;
      const uint32_t first = p == 0 ? c->next_scanline : c->next_scanline / 2;
      for (uint32_t i = 0; i < count; ++i) {
        const size_t y = std::min(first + i, height - 1);
        rows[p][i] =
            const_cast<JSAMPROW>(planes.data[p] + y * planes.stride[p]);
      }
    }
    jpeg_write_raw_data(c, components, 16);
  }
  jpeg_finish_compress(c);
}

// Everything that longjmp may leave; nothing here has a destructor.
bool Compress(const Picture* rgb, const JpegPlanes* planes,
              const Settings& settings, ErrorManager* errors, Output* out) {
  jpeg_compress_struct c;
  c.err = jpeg_std_error(&errors->base);
  errors->base.error_exit = LeaveOnError;
  errors->base.output_message = Silence;
  if (setjmp(errors->leave) != 0) {
    jpeg_destroy_compress(&c);
    return false;
  }
  jpeg_create_compress(&c);
  jpeg_mem_dest(&c, &out->data, &out->size);
  if (rgb != nullptr) {
    Start(&c, rgb->shape.width, rgb->shape.height,
          rgb->shape.gray ? JCS_GRAYSCALE : JCS_RGB, settings);
    WriteRows(&c, *rgb);
  } else {
    Start(&c, planes->width, planes->height, JCS_YCbCr, settings);
    WritePlanes(&c, *planes);
  }
  jpeg_destroy_compress(&c);
  return true;
}

Result<Bytes> Encode(const Picture* rgb, const JpegPlanes* planes,
                     const Settings& settings) {
  ErrorManager errors;
  Output out;
  if (!Compress(rgb, planes, settings, &errors, &out)) {
    return Internal(std::string("libjpeg: ") + errors.message);
  }
  return Bytes(out.data, out.data + out.size);
}

// Where segment `marker` begins in a file of libjpeg's; its size if there is
// none.
size_t FindSegment(ByteSpan file, uint8_t marker) {
  size_t at = 2;
  while (at + 4 <= file.size() && file[at + 1] != marker) {
    at += 2 + (size_t{file[at + 2]} << 8 | file[at + 3]);
  }
  return std::min(at, file.size());
}

// What lies between the last header and the end marker.
ByteSpan ScanOf(ByteSpan file) {
  const size_t at = FindSegment(file, 0xda);
  const size_t head = 2 + (size_t{file[at + 2]} << 8 | file[at + 3]);
  return file.subspan(at + head, file.size() - at - head - 2);
}

JpegPlanes BandOf(const JpegPlanes& planes, uint32_t first, uint32_t rows) {
  JpegPlanes band = planes;
  band.height = std::min(rows, planes.height - first);
  for (size_t p = 0; p < 3; ++p) {
    band.data[p] += (p == 0 ? first : first / 2) * planes.stride[p];
  }
  return band;
}

}  // namespace

Result<Bytes> EncodeJpegRgb(const Picture& picture, int quality) {
  if (std::max(picture.shape.width, picture.shape.height) > kSideMaxJpeg) {
    return Unsupported("JPEG pictures end at 65500 pixels a side");
  }
  return Encode(&picture, nullptr, {quality, 0});
}

Result<Bytes> EncodeJpegPlanes(const JpegPlanes& planes, int quality) {
  const uint32_t rows = JpegBandRows(planes.width, planes.height);
  if (std::max(planes.width, planes.height) > kSideMaxJpeg) {
    return Unsupported("JPEG pictures end at 65500 pixels a side");
  }
  if (rows >= planes.height) return Encode(nullptr, &planes, {quality, 0});
  std::vector<Bytes> bands;
  for (uint32_t y = 0; y < planes.height; y += rows) {
    PLUGIN_ASSIGN_OR_RETURN(Bytes band,
                            EncodeJpegBand(BandOf(planes, y, rows), quality));
    bands.push_back(std::move(band));
  }
  return JoinJpegBands(bands, planes.height);
}

uint32_t JpegBandRows(uint32_t width, uint32_t height) {
  if (uint64_t{width} * height < kBandPixelsMin) return height;
  const uint32_t half = (Mcus(height) + 1) / 2;
  return kMcu * std::min(half, std::max(1u, kIntervalMax / Mcus(width)));
}

Result<Bytes> EncodeJpegBand(const JpegPlanes& band, int quality) {
  if (std::max(band.width, band.height) > kSideMaxJpeg) {
    return Unsupported("JPEG pictures end at 65500 pixels a side");
  }
  // Exactly its length, so that no marker comes within.
  return Encode(nullptr, &band,
                {quality, Mcus(band.width) * Mcus(band.height)});
}

Bytes JoinJpegBands(const std::vector<Bytes>& bands, uint32_t height) {
  Bytes file(bands[0].begin(), bands[0].end() - 2);
  const size_t frame = FindSegment(file, 0xc0);
  file[frame + 5] = static_cast<uint8_t>(height >> 8);
  file[frame + 6] = static_cast<uint8_t>(height);
  for (size_t i = 1; i < bands.size(); ++i) {
    file.push_back(0xff);
    file.push_back(static_cast<uint8_t>(0xd0 + (i - 1) % 8));
    const ByteSpan scan = ScanOf(bands[i]);
    file.insert(file.end(), scan.begin(), scan.end());
  }
  file.push_back(0xff);
  file.push_back(0xd9);
  return file;
}

}  // namespace rowfs::plugin
