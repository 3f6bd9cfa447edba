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

struct Output {
  unsigned char* data = nullptr;  // malloc'ed by libjpeg
  unsigned long size = 0;
  ~Output() { std::free(data); }
};

void Start(jpeg_compress_struct* c, uint32_t width, uint32_t height,
           J_COLOR_SPACE space, int quality) {
  c->image_width = width;
  c->image_height = height;
  c->input_components = space == JCS_GRAYSCALE ? 1 : 3;
  c->in_color_space = space;
  jpeg_set_defaults(c);
  jpeg_set_quality(c, quality, TRUE);
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
bool Compress(const Picture* rgb, const JpegPlanes* planes, int quality,
              ErrorManager* errors, Output* out) {
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
          rgb->shape.gray ? JCS_GRAYSCALE : JCS_RGB, quality);
    WriteRows(&c, *rgb);
  } else {
    Start(&c, planes->width, planes->height, JCS_YCbCr, quality);
    WritePlanes(&c, *planes);
  }
  jpeg_destroy_compress(&c);
  return true;
}

Result<Bytes> Encode(const Picture* rgb, const JpegPlanes* planes,
                     int quality) {
  ErrorManager errors;
  Output out;
  if (!Compress(rgb, planes, quality, &errors, &out)) {
    return Internal(std::string("libjpeg: ") + errors.message);
  }
  return Bytes(out.data, out.data + out.size);
}

}  // namespace

Result<Bytes> EncodeJpegRgb(const Picture& picture, int quality) {
  if (std::max(picture.shape.width, picture.shape.height) > kSideMaxJpeg) {
    return Unsupported("JPEG pictures end at 65500 pixels a side");
  }
  return Encode(&picture, nullptr, quality);
}

Result<Bytes> EncodeJpegPlanes(const JpegPlanes& planes, int quality) {
  if (std::max(planes.width, planes.height) > kSideMaxJpeg) {
    return Unsupported("JPEG pictures end at 65500 pixels a side");
  }
  return Encode(nullptr, &planes, quality);
}

}  // namespace rowfs::plugin
