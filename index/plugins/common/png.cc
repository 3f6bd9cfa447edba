#include <png.h>

#include <csetjmp>

#include "index/plugins/common/image_codecs.h"

namespace rowfs::plugin {
namespace {

struct Target {
  Bytes bytes;
  bool failed = false;  // no memory: libpng must not see an exception
};

void Append(png_structp png, png_bytep data, png_size_t size) {
  auto* target = static_cast<Target*>(png_get_io_ptr(png));
  try {
    target->bytes.insert(target->bytes.end(), data, data + size);
  } catch (...) {
    target->failed = true;
  }
  if (target->failed) png_error(png, "out of memory");
}

int ColorType(const ImageShape& s) {
  if (s.gray) return s.alpha ? PNG_COLOR_TYPE_GRAY_ALPHA : PNG_COLOR_TYPE_GRAY;
  return s.alpha ? PNG_COLOR_TYPE_RGB_ALPHA : PNG_COLOR_TYPE_RGB;
}

void NoFlush(png_structp) {}
void NoWarning(png_structp, png_const_charp) {}

// Everything that longjmp may leave; nothing here has a destructor.
bool Write(const Picture& p, Target* target) {
  png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, nullptr,
                                            nullptr, NoWarning);
  if (png == nullptr) return false;
  png_infop info = png_create_info_struct(png);
  if (info == nullptr || setjmp(png_jmpbuf(png)) != 0) {
    png_destroy_write_struct(&png, &info);
    return false;
  }
  png_set_write_fn(png, target, Append, NoFlush);
  png_set_user_limits(png, 0x7fffffff, 0x7fffffff);
  png_set_IHDR(png, info, p.shape.width, p.shape.height, p.shape.deep ? 16 : 8,
               ColorType(p.shape), PNG_INTERLACE_NONE,
               PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
  // A profile that libpng finds fault with is left out, not an error.
  png_set_benign_errors(png, 1);
  if (!p.icc.empty()) {
    png_set_iCCP(png, info, "icc", PNG_COMPRESSION_TYPE_BASE, p.icc.data(),
                 static_cast<png_uint_32>(p.icc.size()));
  }
  png_set_compression_level(png, 1);
  png_set_filter(png, PNG_FILTER_TYPE_BASE, PNG_FILTER_SUB);
  png_write_info(png, info);
  if (p.shape.deep) png_set_swap(png);  // samples are little-endian
  const size_t stride =
      size_t{p.shape.width} * p.shape.channels() * (p.shape.deep ? 2 : 1);
  for (uint32_t y = 0; y < p.shape.height; ++y) {
    png_write_row(png, p.samples.data() + y * stride);
  }
  png_write_end(png, info);
  png_destroy_write_struct(&png, &info);
  return true;
}

}  // namespace

Result<Bytes> EncodePng(const Picture& picture) {
  Target target;
  if (!Write(picture, &target)) {
    return target.failed ? Limit("out of memory for a PNG")
                         : Internal("libpng failed");
  }
  return std::move(target.bytes);
}

}  // namespace rowfs::plugin
