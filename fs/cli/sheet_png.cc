#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string>
#include <string_view>

#include "fs/cli/sheet.h"
#include "storage/base/hash.h"

namespace rowfs {
namespace {

constexpr uint32_t kCellWidth = 200;
constexpr uint32_t kCellHeight = 170;
constexpr uint32_t kMargin = 5;
constexpr uint32_t kPictureHeight = 135;
constexpr uint32_t kTextScale = 2;
constexpr uint32_t kGlyphWidth = 3;
constexpr uint32_t kGlyphHeight = 5;
constexpr size_t kPicturesShown = 3;
constexpr uint32_t kSideMax = 1 << 16;

struct Picture {
  uint32_t width = 0;
  uint32_t height = 0;
  std::string_view rgb;
};

// A P6 file with maxval 255.
std::optional<Picture> ParsePpm(std::string_view text) {
  std::array<uint32_t, 3> numbers{};
  if (!text.starts_with("P6")) return std::nullopt;
  size_t at = 2;
  for (uint32_t& number : numbers) {
    while (at < text.size() && (text[at] == ' ' || text[at] == '\n')) ++at;
    const size_t begin = at;
    for (; at < text.size() && text[at] >= '0' && text[at] <= '9'; ++at) {
      number = number * 10 + static_cast<uint32_t>(text[at] - '0');
      if (number > kSideMax) return std::nullopt;
    }
    if (at == begin) return std::nullopt;
  }
  ++at;
  const Picture picture{numbers[0], numbers[1],
                        text.substr(std::min(at, text.size()))};
  const uint64_t need = uint64_t{3} * picture.width * picture.height;
  if (numbers[2] != 255 || need == 0 || picture.rgb.size() < need) {
    return std::nullopt;
  }
  return picture;
}

// Five rows of three pixels, the topmost in the highest bits.
uint16_t GlyphOf(char c) {
  constexpr std::array<uint16_t, 10> kDigits = {0x7b6f, 0x2c97, 0x73e7, 0x73cf,
                                                0x5bc9, 0x79cf, 0x79ef, 0x7292,
                                                0x7bef, 0x7bcf};
  constexpr std::array<uint16_t, 26> kLetters = {
      0x2bed, 0x6bae, 0x3923, 0x6b6e, 0x79a7, 0x79a4, 0x396b, 0x5bed, 0x7497,
      0x126a, 0x5bad, 0x4927, 0x5fed, 0x6b6d, 0x2b6a, 0x6ba4, 0x2b73, 0x6bad,
      0x388e, 0x7492, 0x5b6f, 0x5b6a, 0x5bfd, 0x5aad, 0x5a92, 0x72a7};
  if (c >= '0' && c <= '9') return kDigits[static_cast<size_t>(c - '0')];
  if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  if (c >= 'A' && c <= 'Z') return kLetters[static_cast<size_t>(c - 'A')];
  switch (c) {
    case ' ':
      return 0;
    case '.':
      return 0x0002;
    case ',':
      return 0x0014;
    case '-':
      return 0x01c0;
    case '_':
      return 0x0007;
    case '/':
      return 0x12a4;
    case ':':
      return 0x0410;
    default:
      return 0x7fff;
  }
}

class PngSheet final : public Sheet {
 public:
  explicit PngSheet(uint64_t rows) {
    const auto side = std::ceil(std::sqrt(static_cast<double>(rows)));
    columns_ = std::max(1u, static_cast<uint32_t>(side));
    const auto lines = static_cast<uint32_t>((rows + columns_ - 1) / columns_);
    width_ = columns_ * kCellWidth;
    height_ = std::max(1u, lines) * kCellHeight;
    pixels_.assign(size_t{width_} * height_ * 3, '\xff');
  }

  std::string Begin() override { return {}; }

  std::string Add(const PreviewRow& row) override {
    const auto cell = static_cast<uint32_t>(rows_++);
    const uint32_t x = cell % columns_ * kCellWidth + kMargin;
    const uint32_t y = cell / columns_ * kCellHeight + kMargin;
    const size_t count = std::min(row.pictures.size(), kPicturesShown);
    const uint32_t inner = kCellWidth - 2 * kMargin;
    for (size_t i = 0; i < count; ++i) {
      const auto box = inner / static_cast<uint32_t>(count);
      if (const auto picture = ParsePpm(AsText(row.pictures[i].bytes))) {
        Draw(*picture, x + static_cast<uint32_t>(i) * box, y, box);
      }
    }
    const uint32_t line = kTextScale * (kGlyphHeight + 1) + 1;
    Write(std::to_string(row.number), x, y + kPictureHeight);
    const std::string text =
        row.captions.empty() ? "" : row.captions.front().second;
    Write(row.errors.empty() ? text : "FAILED", x, y + kPictureHeight + line);
    return {};
  }

  std::string End(uint64_t row_count) override;

 private:
  char* At(uint32_t x, uint32_t y) {
    return pixels_.data() + (size_t{y} * width_ + x) * 3;
  }

  // Scaled into a box by averaging, its proportions kept, never enlarged.
  void Draw(const Picture& picture, uint32_t left, uint32_t top, uint32_t box) {
    const double scale =
        std::min({1.0, static_cast<double>(box - 2) / picture.width,
                  static_cast<double>(kPictureHeight - 5) / picture.height});
    const auto scaled = [&](uint32_t side) {
      return std::max(1u, static_cast<uint32_t>(side * scale));
    };
    const uint32_t width = scaled(picture.width);
    const uint32_t height = scaled(picture.height);
    for (uint32_t y = 0; y < height; ++y) {
      for (uint32_t x = 0; x < width; ++x) {
        Average(picture, x, y, width, height, At(left + x, top + y));
      }
    }
  }

  static void Average(const Picture& picture, uint32_t x, uint32_t y,
                      uint32_t width, uint32_t height, char* out) {
    const auto cut = [](uint32_t at, uint32_t side, uint32_t count) {
      return static_cast<uint32_t>(uint64_t{at} * side / count);
    };
    const uint32_t x0 = cut(x, picture.width, width);
    const uint32_t y0 = cut(y, picture.height, height);
    const uint32_t x1 = std::max(x0 + 1, cut(x + 1, picture.width, width));
    const uint32_t y1 = std::max(y0 + 1, cut(y + 1, picture.height, height));
    std::array<uint64_t, 3> sums{};
    for (uint32_t v = y0; v < y1; ++v) {
      for (uint32_t u = x0; u < x1; ++u) {
        const size_t at = (size_t{v} * picture.width + u) * 3;
        for (size_t c = 0; c < 3; ++c)
          sums[c] += static_cast<uint8_t>(picture.rgb[at + c]);
      }
    }
    const uint64_t area = uint64_t{x1 - x0} * (y1 - y0);
    for (size_t c = 0; c < 3; ++c) out[c] = static_cast<char>(sums[c] / area);
  }

  void Write(std::string_view text, uint32_t left, uint32_t top) {
    const uint32_t step = kTextScale * (kGlyphWidth + 1);
    const size_t fits = (kCellWidth - 2 * kMargin) / step;
    for (const char c : text.substr(0, fits)) {
      const uint16_t glyph = GlyphOf(c);
      for (uint32_t i = 0; i < kGlyphWidth * kGlyphHeight; ++i) {
        if ((glyph >> (14 - i) & 1) == 0) continue;
        const uint32_t x = left + i % kGlyphWidth * kTextScale;
        const uint32_t y = top + i / kGlyphWidth * kTextScale;
        for (uint32_t dot = 0; dot < kTextScale * kTextScale; ++dot) {
          std::fill_n(At(x + dot % kTextScale, y + dot / kTextScale), 3, '\0');
        }
      }
      left += step;
    }
  }

  uint32_t columns_ = 1;
  uint32_t width_ = 0;
  uint32_t height_ = 0;
  uint64_t rows_ = 0;
  std::string pixels_;  // RGB
};

void PutBig32(uint32_t v, std::string* out) {
  for (int shift = 24; shift >= 0; shift -= 8) {
    *out += static_cast<char>(v >> shift & 0xff);
  }
}

void PutChunk(std::string_view type, std::string_view data, std::string* out) {
  PutBig32(static_cast<uint32_t>(data.size()), out);
  const size_t begin = out->size();
  *out += type;
  *out += data;
  PutBig32(Crc32(AsBytes(std::string_view(*out).substr(begin))), out);
}

// A zlib stream of stored blocks.
std::string Stored(std::string_view data) {
  constexpr size_t kBlockMax = 65535;
  std::string out = "\x78\x01";
  uint32_t a = 1;
  uint32_t b = 0;
  for (const char c : data) {
    a = (a + static_cast<uint8_t>(c)) % 65521;
    b = (b + a) % 65521;
  }
  while (!data.empty()) {
    const auto size = std::min(kBlockMax, data.size());
    out += size == data.size() ? '\1' : '\0';
    for (const size_t v : {size, ~size}) {
      out += static_cast<char>(v & 0xff);
      out += static_cast<char>(v >> 8 & 0xff);
    }
    out += data.substr(0, size);
    data.remove_prefix(size);
  }
  PutBig32(b << 16 | a, &out);
  return out;
}

std::string PngSheet::End(uint64_t) {
  std::string rows;
  rows.reserve((size_t{width_} * 3 + 1) * height_);
  for (uint32_t y = 0; y < height_; ++y) {
    rows += '\0';  // no filter
    rows += std::string_view(At(0, y), size_t{width_} * 3);
  }
  std::string header;
  PutBig32(width_, &header);
  PutBig32(height_, &header);
  header += std::string("\x08\x02\x00\x00\x00", 5);  // 8 bits, RGB
  std::string out = "\x89PNG\r\n\x1a\n";
  PutChunk("IHDR", header, &out);
  PutChunk("IDAT", Stored(rows), &out);
  PutChunk("IEND", "", &out);
  return out;
}

}  // namespace

std::unique_ptr<Sheet> MakePngSheet(uint64_t rows) {
  return std::make_unique<PngSheet>(rows);
}

}  // namespace rowfs
