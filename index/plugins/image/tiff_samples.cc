#include "index/plugins/image/tiff_samples.h"

#include <bit>
#include <cmath>
#include <cstring>

namespace rowfs::plugin {
namespace {

constexpr uint32_t kJpeg = 7;

enum : uint16_t {
  kBits = 258,
  kCompression = 259,
  kPhotometric = 262,
  kSamples = 277,
  kPlanar = 284,
  kColorMap = 320,
  kInkSet = 332,
  kExtraSamples = 338,
  kSampleFormat = 339
};

bool IsJpeg2000(uint32_t compression) {
  return compression == 33003 || compression == 33005 || compression == 34712;
}

bool EqualBits(const TiffDirectory& d, const TiffSamples& s) {
  for (uint32_t i = 1; i < s.samples; ++i) {
    if (d.Number(kBits, s.bits, i) != s.bits) return false;
    if (d.Number(kSampleFormat, s.format, i) != s.format) return false;
  }
  return true;
}

bool IsPlainFormat(const TiffSamples& s) {
  if (s.format == 3) {
    return s.bits == 16 || s.bits == 24 || s.bits == 32 || s.bits == 64;
  }
  if (s.format == 2) return s.bits == 8 || s.bits == 16 || s.bits == 32;
  return s.format == 1 && ((s.bits >= 1 && s.bits <= 32) || s.bits == 64);
}

SampleType TypeOf(const TiffSamples& s) {
  if (s.format == 3) return s.bits == 64 ? SampleType::kF64 : SampleType::kF32;
  if (s.format == 2) {
    return s.bits == 8    ? SampleType::kI8
           : s.bits == 16 ? SampleType::kI16
                          : SampleType::kI32;
  }
  if (s.bits == 64) return SampleType::kF64;
  return s.bits <= 8    ? SampleType::kU8
         : s.bits <= 16 ? SampleType::kU16
                        : SampleType::kU32;
}

void ClassifyPlain(const TiffDirectory& d, TiffSamples* s) {
  const bool color = s->photometric == 2 || s->photometric == 6;
  s->colors = color ? 3 : 1;
  s->channels = s->samples;
  s->type = TypeOf(*s);
  s->invert = s->photometric == 0 && s->format == 1;
  const uint32_t extra = s->samples - s->colors;
  if (extra == 0) return;
  // Four samples of color without a word about the fourth: alpha, as readers
  // agree; "unspecified" is said on purpose.
  const uint64_t missing = extra == 1 && !d.Has(kExtraSamples) ? 2 : 0;
  const uint64_t kind = d.Number(kExtraSamples, missing);
  s->alpha = kind == 1 || kind == 2;
  s->premultiplied = kind == 1 && s->format == 1 && s->bits <= 16;
}

// libtiff makes opaque 8-bit RGBA of it, alpha only where it is declared.
void ClassifyRgba(const TiffDirectory& d, TiffSamples* s) {
  s->way = TiffSamples::Way::kRgba;
  const uint64_t kind = d.Number(kExtraSamples, 0);
  s->alpha = kind == 1 || kind == 2;
  s->colors = 3;
  s->channels = s->alpha ? 4 : 3;
  s->type = SampleType::kU8;
}

float FromHalf(uint16_t half) {
  const uint32_t exponent = (half >> 10) & 31;
  const uint32_t fraction = half & 1023;
  float value = 0;
  if (exponent == 31) {
    value = fraction != 0 ? NAN : INFINITY;
  } else if (exponent == 0) {
    value = std::ldexp(static_cast<float>(fraction), -24);
  } else {
    value = std::ldexp(static_cast<float>(fraction | 1024),
                       static_cast<int>(exponent) - 25);
  }
  return (half & 0x8000) != 0 ? -value : value;
}

// 1 sign bit, 7 of exponent (bias 63), 16 of fraction.
float From24(uint32_t bits) {
  const uint32_t exponent = (bits >> 16) & 127;
  const uint32_t fraction = bits & 0xffff;
  float value = 0;
  if (exponent == 127) {
    value = fraction != 0 ? NAN : INFINITY;
  } else if (exponent == 0) {
    value = std::ldexp(static_cast<float>(fraction), -62 - 16);
  } else {
    value = std::ldexp(static_cast<float>(fraction | 0x10000),
                       static_cast<int>(exponent) - 63 - 16);
  }
  return (bits & 0x800000) != 0 ? -value : value;
}

uint32_t TakeBits(const uint8_t* row, size_t at, uint32_t bits) {
  uint64_t value = 0;
  const size_t first = at / 8;
  const size_t last = (at + bits - 1) / 8;
  for (size_t i = first; i <= last; ++i) value = value << 8 | row[i];
  value >>= 7 - (at + bits - 1) % 8;
  return static_cast<uint32_t>(value & ((uint64_t{1} << bits) - 1));
}

uint32_t Load24(const uint8_t* at) {  // libtiff has put them in native order
  return at[0] | uint32_t{at[1]} << 8 | uint32_t{at[2]} << 16;
}

template <typename T>
void Put(uint8_t* out, size_t index, T value) {
  std::memcpy(out + index * sizeof(T), &value, sizeof(T));
}

void UnpackFloats(const TiffSamples& s, const uint8_t* row, size_t count,
                  uint8_t* out) {
  for (size_t i = 0; i < count; ++i) {
    if (s.bits == 16) {
      uint16_t half = 0;
      std::memcpy(&half, row + 2 * i, 2);
      Put<float>(out, i, FromHalf(half));
    } else {
      Put<float>(out, i, From24(Load24(row + 3 * i)));
    }
  }
}

}  // namespace

TiffSamples ClassifySamples(const TiffDirectory& d) {
  TiffSamples s;
  s.compression = static_cast<uint32_t>(d.Number(kCompression, 1));
  s.samples = static_cast<uint32_t>(d.Number(kSamples, 1));
  s.bits = static_cast<uint32_t>(d.Number(kBits, 1));
  s.photometric =
      static_cast<uint32_t>(d.Number(kPhotometric, s.samples >= 3 ? 2 : 1));
  s.format = static_cast<uint32_t>(d.Number(kSampleFormat, 1));
  if (s.format == 4) s.format = 1;
  s.planar = d.Number(kPlanar, 1) == 2 && s.samples > 1;
  if (s.samples == 0 || s.samples > 255) {
    ClassifyRgba(d, &s);
    return s;
  }
  const bool even = EqualBits(d, s);
  if (IsJpeg2000(s.compression) && s.bits <= 16) {
    s.way = TiffSamples::Way::kTile;
    s.colors = s.samples >= 3 ? 3 : 1;
    s.channels = s.colors;
    s.type = s.bits > 8 ? SampleType::kU16 : SampleType::kU8;
    return s;
  }
  s.jpeg_to_rgb = s.photometric == 6 && s.compression == kJpeg && !s.planar &&
                  s.samples == 3 && s.bits == 8;
  const bool gray = s.photometric <= 1 || s.photometric == 4 ||
                    s.photometric == 32803 || s.photometric == 34892;
  if (even && IsPlainFormat(s) &&
      (gray || s.jpeg_to_rgb || (s.photometric == 2 && s.samples >= 3))) {
    if (s.photometric == 34892 && s.samples >= 3) s.photometric = 2;
    ClassifyPlain(d, &s);
    return s;
  }
  const bool can_look_up =
      s.bits == 1 || s.bits == 2 || s.bits == 4 || s.bits == 8 || s.bits == 16;
  if (s.photometric == 3 && d.Has(kColorMap) && can_look_up && even) {
    s.way = TiffSamples::Way::kPalette;
    s.colors = 3;
    s.channels = 3;
    return s;
  }
  if (s.photometric == 5 && s.samples >= 4 && even && s.format == 1 &&
      (s.bits == 8 || s.bits == 16) && d.Number(kInkSet, 1) == 1) {
    s.way = TiffSamples::Way::kCmyk;
    s.colors = 3;
    s.channels = 3;
    s.type = s.bits == 8 ? SampleType::kU8 : SampleType::kU16;
    return s;
  }
  ClassifyRgba(d, &s);
  return s;
}

std::string DescribeSamples(const TiffSamples& s) {
  std::string text;
  switch (s.compression) {
    case 1:
      text = "uncompressed";
      break;
    case 2:
    case 3:
    case 4:
      text = "ccitt";
      break;
    case 5:
      text = "lzw";
      break;
    case 6:
    case 7:
      text = "jpeg";
      break;
    case 8:
    case 32946:
      text = "deflate";
      break;
    case 32773:
      text = "packbits";
      break;
    case 34925:
      text = "lzma";
      break;
    case 50000:
      text = "zstd";
      break;
    case 50001:
      text = "webp";
      break;
    default:
      text = IsJpeg2000(s.compression)
                 ? "jpeg2000"
                 : "compression " + std::to_string(s.compression);
  }
  static constexpr const char* kPhotometrics[] = {
      "white is zero", "gray", "rgb", "palette", "mask", "cmyk", "ycbcr"};
  text += ", ";
  text += s.photometric <= 6 ? kPhotometrics[s.photometric]
                             : "photometric " + std::to_string(s.photometric);
  text += ", " + std::to_string(s.samples) + " x " + std::to_string(s.bits) +
          (s.format == 3   ? " bits float"
           : s.format == 2 ? " bits signed"
                           : " bits");
  return text;
}

void UnpackSamples(const TiffSamples& s, const uint8_t* row, size_t count,
                   uint8_t* out) {
  if (s.format == 3 && s.bits < 32) return UnpackFloats(s, row, count, out);
  if (s.bits == 64 && s.format == 1) {
    for (size_t i = 0; i < count; ++i) {
      uint64_t value = 0;
      std::memcpy(&value, row + 8 * i, 8);
      Put<double>(out, i, static_cast<double>(value));
    }
    return;
  }
  if (s.bits == 8 || s.bits == 16 || s.bits == 32 || s.bits == 64) {
    std::memcpy(out, row, count * (s.bits / 8));
    if (!s.invert) return;
    for (size_t i = 0; i < count * (s.bits / 8); ++i) {
      out[i] = static_cast<uint8_t>(~out[i]);
    }
    return;
  }
  const uint32_t most = static_cast<uint32_t>((uint64_t{1} << s.bits) - 1);
  for (size_t i = 0; i < count; ++i) {
    uint32_t value =
        s.bits == 24 ? Load24(row + 3 * i) : TakeBits(row, i * s.bits, s.bits);
    if (s.invert) value = most - value;
    if (s.bits < 8) {
      // Palettes look the number up as it is.
      const bool scale = s.way == TiffSamples::Way::kPlain;
      Put<uint8_t>(out, i,
                   static_cast<uint8_t>(scale ? (value * 255 + most / 2) / most
                                              : value));
    } else if (s.bits < 16) {
      Put<uint16_t>(out, i, static_cast<uint16_t>(value));
    } else {
      Put<uint32_t>(out, i, value);
    }
  }
}

}  // namespace rowfs::plugin
