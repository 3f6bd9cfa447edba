// Pixels of TIFF cells by libtiff. The cells that are wanted are put into a
// small file in memory, with the tags of their directory, so that libtiff sees
// a sound file of just these and works in proportion to them.
#include <tiffio.h>

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <limits>
#include <memory>

#include "index/plugins/image/formats.h"
#include "index/plugins/image/jp2_codec.h"
#include "index/plugins/image/tiff_samples.h"
#include "index/plugins/image/tiff_tags.h"

namespace rowfs::plugin {
namespace {

// Of one allocation in libtiff, and of the cells decoded at a time.
constexpr tmsize_t kAllocationMax = tmsize_t{1} << 30;
constexpr uint64_t kBatchBytes = 16 << 20;

struct MemoryFile {
  ByteSpan bytes;
  uint64_t at = 0;
  std::string error;  // the first one
};

MemoryFile* FileOf(thandle_t handle) {
  return static_cast<MemoryFile*>(handle);
}

tmsize_t ReadFile(thandle_t handle, void* out, tmsize_t size) {
  MemoryFile* f = FileOf(handle);
  if (size < 0 || f->at >= f->bytes.size()) return 0;
  const size_t n =
      std::min<size_t>(static_cast<size_t>(size), f->bytes.size() - f->at);
  std::memcpy(out, f->bytes.data() + f->at, n);
  f->at += n;
  return static_cast<tmsize_t>(n);
}

tmsize_t WriteFile(thandle_t, void*, tmsize_t) { return 0; }

toff_t SeekFile(thandle_t handle, toff_t offset, int from) {
  MemoryFile* f = FileOf(handle);
  if (from == SEEK_CUR) offset += f->at;
  if (from == SEEK_END) offset += f->bytes.size();
  f->at = offset;
  return offset;
}

int CloseFile(thandle_t) { return 0; }
toff_t SizeFile(thandle_t handle) { return FileOf(handle)->bytes.size(); }

[[gnu::format(printf, 4, 0)]] int KeepError(TIFF*, void* user, const char*,
                                            const char* format, va_list args) {
  auto* f = static_cast<MemoryFile*>(user);
  char text[256];
  std::vsnprintf(text, sizeof(text), format, args);
  if (f->error.empty()) f->error = text;
  return 1;
}

int DropWarning(TIFF*, void*, const char*, const char*, va_list) { return 1; }

struct CloseTiff {
  void operator()(TIFF* tiff) const { TIFFClose(tiff); }
};
using TiffPtr = std::unique_ptr<TIFF, CloseTiff>;

TiffPtr OpenTiff(MemoryFile* file) {
  TIFFOpenOptions* options = TIFFOpenOptionsAlloc();
  if (options == nullptr) return nullptr;
  TIFFOpenOptionsSetMaxSingleMemAlloc(options, kAllocationMax);
  TIFFOpenOptionsSetErrorHandlerExtR(options, KeepError, file);
  TIFFOpenOptionsSetWarningHandlerExtR(options, DropWarning, file);
  // "c": strips stay as they are told, not chopped into smaller ones.
  TiffPtr tiff(TIFFClientOpenExt("picture", "rmc", file, ReadFile, WriteFile,
                                 SeekFile, CloseFile, SizeFile, nullptr,
                                 nullptr, options));
  TIFFOpenOptionsFree(options);
  return tiff;
}

Status TiffError(const MemoryFile& file) {
  return Corrupt("libtiff: " +
                 (file.error.empty() ? "cannot decode it" : file.error));
}

// libtiff packs ABGR into a word: on a little-endian machine R comes first.
Status ReadRgba(TIFF* tiff, const MemoryFile& file, Raster* out) {
  char why[1024] = "";
  if (TIFFRGBAImageOK(tiff, why) == 0) {
    return Corrupt("libtiff: " + std::string(why));
  }
  std::vector<uint32_t> pixels(size_t{out->width} * out->height);
  if (TIFFReadRGBAImageOriented(tiff, out->width, out->height, pixels.data(),
                                ORIENTATION_TOPLEFT, 1) == 0) {
    return TiffError(file);
  }
  uint8_t* to = out->samples.data();
  for (const uint32_t pixel : pixels) {
    const uint32_t alpha = TIFFGetA(pixel);
    for (uint32_t c = 0; c < 3; ++c) {
      uint32_t value = pixel >> (8 * c) & 255;
      // libtiff multiplies by alpha.
      if (out->alpha && alpha != 0) {
        value = std::min(255u, (value * 255 + alpha / 2) / alpha);
      }
      *to++ = static_cast<uint8_t>(value);
    }
    if (out->alpha) *to++ = static_cast<uint8_t>(alpha);
  }
  return {};
}

// Rows of cells become rows of the raster.
class CellDecoder {
 public:
  CellDecoder(const StoredRaster& raster, const TiffDirectory& tags,
              const CellRect& cells, const PieceReader& pieces)
      : raster_(raster),
        tags_(tags),
        samples_(ClassifySamples(tags)),
        cells_(cells),
        pieces_(pieces) {}

  Result<Raster> Run();

 private:
  Status DecodeRows(uint32_t top, uint32_t bottom);
  Status DecodeCell(TIFF* tiff, uint32_t number, uint32_t x, uint32_t y,
                    uint32_t plane);
  Status DecodeFiles();
  void PutCell(const uint8_t* bytes, size_t stride, const PixelRect& at,
               uint32_t plane);
  void PutRow(const uint8_t* row, uint32_t width, uint8_t* to, uint32_t plane);
  uint32_t Left(uint32_t x) const { return x * raster_.cell_width; }
  uint32_t Top(uint32_t y) const { return y * raster_.cell_height; }
  PixelRect RectOf(uint32_t x, uint32_t y) const;
  uint64_t RowBytes(uint32_t y) const;
  const BlobPiece& PieceAt(uint32_t x, uint32_t y, uint32_t plane) const {
    return raster_.pieces[PieceNumber(x, y, plane)];
  }
  size_t PieceNumber(uint32_t x, uint32_t y, uint32_t plane) const {
    return static_cast<size_t>(plane * raster_.cell_count() +
                               uint64_t{y} * raster_.cells_across() + x);
  }

  const StoredRaster& raster_;
  const TiffDirectory& tags_;
  const TiffSamples samples_;
  const CellRect cells_;
  const PieceReader& pieces_;
  std::vector<uint16_t> colors_;  // the palette: red, green, blue
  bool wide_colors_ = false;      // of 16 bits
  Bytes row_;
  Bytes cell_;
  Raster out_;
};

// What of the picture a cell covers.
PixelRect CellDecoder::RectOf(uint32_t x, uint32_t y) const {
  return {Left(x), Top(y),
          std::min(raster_.cell_width, raster_.width - Left(x)),
          std::min(raster_.cell_height, raster_.height - Top(y))};
}

uint64_t CellDecoder::RowBytes(uint32_t y) const {
  uint64_t bytes = 0;
  for (uint32_t x = cells_.left; x < cells_.right; ++x) {
    for (uint32_t p = 0; p < raster_.planes; ++p) {
      bytes += PieceAt(x, y, p).size;
    }
  }
  return bytes;
}

void CellDecoder::PutRow(const uint8_t* row, uint32_t width, uint8_t* to,
                         uint32_t plane) {
  const size_t count = size_t{width} * (samples_.planar ? 1 : samples_.samples);
  const size_t sample =
      SampleSize(samples_.way == TiffSamples::Way::kPalette ? SampleType::kU16
                                                            : samples_.type);
  row_.resize(std::max(row_.size(), count * sample + 8));
  UnpackSamples(samples_, row, count, row_.data());
  switch (samples_.way) {
    case TiffSamples::Way::kPlain:
    case TiffSamples::Way::kCmyk:
      if (!samples_.planar) {
        std::memcpy(to, row_.data(), count * sample);
        return;
      }
      for (uint32_t x = 0; x < width; ++x) {
        std::memcpy(to + (size_t{x} * out_.channels + plane) * sample,
                    row_.data() + x * sample, sample);
      }
      return;
    case TiffSamples::Way::kPalette: {
      const size_t step = samples_.planar ? 1 : samples_.samples;
      const size_t entries = colors_.size() / 3;
      for (uint32_t x = 0; x < width; ++x) {
        size_t color = row_[x * step];
        if (samples_.bits == 16) {
          uint16_t wide = 0;
          std::memcpy(&wide, row_.data() + 2 * x * step, 2);
          color = wide;
        }
        for (size_t c = 0; c < 3; ++c) {
          const uint32_t v =
              color < entries ? colors_[c * entries + color] : 0u;
          to[3 * x + c] = static_cast<uint8_t>(wide_colors_ ? v >> 8 : v);
        }
      }
      return;
    }
    case TiffSamples::Way::kRgba:
    case TiffSamples::Way::kTile:
      return;
  }
}

void CellDecoder::PutCell(const uint8_t* bytes, size_t stride,
                          const PixelRect& at, uint32_t plane) {
  for (uint32_t y = 0; y < at.height; ++y) {
    uint8_t* to = out_.samples.data() +
                  size_t{at.y - Top(cells_.top) + y} * out_.stride() +
                  size_t{at.x - Left(cells_.left)} * out_.pixel_size();
    PutRow(bytes + y * stride, at.width, to, plane);
  }
}

Status CellDecoder::DecodeCell(TIFF* tiff, uint32_t number, uint32_t x,
                               uint32_t y, uint32_t plane) {
  auto* file = FileOf(TIFFClientdata(tiff));
  const BlobPiece& piece = PieceAt(x, y, plane);
  if (piece.size == 0) {
    if (piece.offset == 0) return {};  // sparse: zeros
    return Corrupt("a tile or strip lies past the end of the file");
  }
  const tmsize_t size =
      raster_.tiled ? TIFFTileSize(tiff) : TIFFStripSize(tiff);
  const tmsize_t stride =
      raster_.tiled ? TIFFTileRowSize(tiff) : TIFFScanlineSize(tiff);
  const PixelRect at = RectOf(x, y);
  const uint64_t per_row = uint64_t{at.width} *
                           (samples_.planar ? 1 : samples_.samples) *
                           samples_.bits;
  const uint64_t needed =
      static_cast<uint64_t>(stride) * (at.height - 1) + (per_row + 7) / 8;
  if (size <= 0 || size > kAllocationMax || stride <= 0 ||
      needed > static_cast<uint64_t>(size)) {
    return TiffError(*file);
  }
  cell_.resize(static_cast<size_t>(size) + 8);
  const tmsize_t got =
      raster_.tiled ? TIFFReadEncodedTile(tiff, number, cell_.data(), size)
                    : TIFFReadEncodedStrip(tiff, number, cell_.data(), size);
  if (got < 0 || static_cast<uint64_t>(got) < needed) return TiffError(*file);
  PutCell(cell_.data(), static_cast<size_t>(stride), at, plane);
  return {};
}

Status CellDecoder::DecodeRows(uint32_t top, uint32_t bottom) {
  TiffCells cells;
  cells.width = std::min(Left(cells_.right), raster_.width) - Left(cells_.left);
  cells.height = std::min(Top(bottom), raster_.height) - Top(top);
  cells.cell_width = raster_.tiled ? raster_.cell_width : 0;
  cells.cell_height = raster_.cell_height;
  for (uint32_t p = 0; p < raster_.planes; ++p) {
    for (uint32_t y = top; y < bottom; ++y) {
      for (uint32_t x = cells_.left; x < cells_.right; ++x) {
        Bytes& cell = cells.cells.emplace_back();
        if (PieceAt(x, y, p).size == 0) continue;
        PLUGIN_ASSIGN_OR_RETURN(const ByteSpan bytes,
                                pieces_(PieceNumber(x, y, p)));
        cell.assign(bytes.begin(), bytes.end());
      }
    }
  }
  const Bytes bytes = BuildTiff(tags_, cells);
  cells.cells.clear();
  MemoryFile file;
  file.bytes = bytes;
  const TiffPtr tiff = OpenTiff(&file);
  if (tiff == nullptr) return TiffError(file);
  if (samples_.way == TiffSamples::Way::kRgba) {
    Raster rows = out_;
    rows.height = cells.height;
    rows.samples.resize(rows.stride() * rows.height);
    PLUGIN_RETURN_IF_ERROR(ReadRgba(tiff.get(), file, &rows));
    std::memcpy(out_.samples.data() +
                    size_t{Top(top) - Top(cells_.top)} * out_.stride(),
                rows.samples.data(), rows.samples.size());
    return {};
  }
  if (samples_.jpeg_to_rgb) {
    TIFFSetField(tiff.get(), TIFFTAG_JPEGCOLORMODE, JPEGCOLORMODE_RGB);
  }
  uint32_t number = 0;
  for (uint32_t p = 0; p < raster_.planes; ++p) {
    for (uint32_t y = top; y < bottom; ++y) {
      for (uint32_t x = cells_.left; x < cells_.right; ++x) {
        PLUGIN_RETURN_IF_ERROR(DecodeCell(tiff.get(), number++, x, y, p));
      }
    }
  }
  return {};
}

// Each cell is a picture file of its own.
Status CellDecoder::DecodeFiles() {
  for (uint32_t y = cells_.top; y < cells_.bottom; ++y) {
    for (uint32_t x = cells_.left; x < cells_.right; ++x) {
      if (PieceAt(x, y, 0).size == 0) continue;
      PLUGIN_ASSIGN_OR_RETURN(const ByteSpan bytes,
                              pieces_(PieceNumber(x, y, 0)));
      PLUGIN_ASSIGN_OR_RETURN(
          const Raster cell,
          DecodeJp2(bytes, samples_.channels, samples_.type,
                    samples_.compression == 33003 ? Jp2Colors::kYcc
                                                  : Jp2Colors::kAsStored));
      const PixelRect at = RectOf(x, y);
      if (cell.width < at.width || cell.height < at.height) {
        return Corrupt("a tile is smaller than its place");
      }
      for (uint32_t row = 0; row < at.height; ++row) {
        std::memcpy(out_.samples.data() +
                        size_t{at.y - Top(cells_.top) + row} * out_.stride() +
                        size_t{at.x - Left(cells_.left)} * out_.pixel_size(),
                    cell.samples.data() + row * cell.stride(),
                    at.width * out_.pixel_size());
      }
    }
  }
  return {};
}

Result<Raster> CellDecoder::Run() {
  const uint32_t width =
      std::min(Left(cells_.right), raster_.width) - Left(cells_.left);
  const uint32_t height =
      std::min(Top(cells_.bottom), raster_.height) - Top(cells_.top);
  const bool inks = samples_.way == TiffSamples::Way::kCmyk;
  PLUGIN_ASSIGN_OR_RETURN(
      out_,
      MakeRaster(width, height, inks ? samples_.samples : samples_.channels,
                 samples_.type));
  out_.colors = samples_.colors;
  out_.alpha = samples_.alpha;
  if (samples_.way == TiffSamples::Way::kPlain && samples_.format == 1 &&
      ((samples_.bits > 8 && samples_.bits < 16) ||
       (samples_.bits > 16 && samples_.bits < 32))) {
    out_.bits = static_cast<uint8_t>(samples_.bits);
  }
  if (samples_.format == 3) {
    out_.low = tags_.Real(kTagLowest).value_or(0);
    out_.high = tags_.Real(kTagHighest).value_or(1);
    if (!(out_.high > out_.low)) out_.high = out_.low + 1;
  }
  if (samples_.way == TiffSamples::Way::kPalette) {
    const uint64_t entries = 3 * (uint64_t{1} << samples_.bits);
    for (uint64_t i = 0; i < entries; ++i) {
      colors_.push_back(
          static_cast<uint16_t>(tags_.Number(kTagColorMap, 0, i)));
      wide_colors_ |= colors_.back() > 255;
    }
  }
  if (samples_.way == TiffSamples::Way::kTile) {
    PLUGIN_RETURN_IF_ERROR(DecodeFiles());
    return std::move(out_);
  }
  for (uint32_t y = cells_.top; y < cells_.bottom;) {
    uint32_t end = y + 1;
    uint64_t bytes = RowBytes(y);
    while (end < cells_.bottom && bytes + RowBytes(end) <= kBatchBytes) {
      bytes += RowBytes(end++);
    }
    PLUGIN_RETURN_IF_ERROR(DecodeRows(y, end));
    y = end;
  }
  return std::move(out_);
}

// Inks on white paper.
template <typename T>
Raster InksToRgb(const Raster& inks) {
  Raster out;
  out.width = inks.width;
  out.height = inks.height;
  out.channels = 3;
  out.colors = 3;
  out.type = inks.type;
  out.samples.resize(out.stride() * out.height);
  const uint64_t most = std::numeric_limits<T>::max();
  const auto load = [](const uint8_t* at) {
    T value = 0;
    std::memcpy(&value, at, sizeof(T));
    return uint64_t{value};
  };
  for (size_t i = 0; i < size_t{out.width} * out.height; ++i) {
    const uint8_t* from = inks.samples.data() + i * inks.pixel_size();
    const uint64_t light = most - load(from + 3 * sizeof(T));
    for (size_t c = 0; c < 3; ++c) {
      const auto value =
          static_cast<T>((most - load(from + c * sizeof(T))) * light / most);
      std::memcpy(out.samples.data() + (3 * i + c) * sizeof(T), &value,
                  sizeof(T));
    }
  }
  return out;
}

// Colors that were multiplied by alpha, as they were before.
template <typename T>
void Unmultiply(Raster* r) {
  const uint32_t most = std::numeric_limits<T>::max();
  for (size_t i = 0; i < size_t{r->width} * r->height; ++i) {
    uint8_t* at = r->samples.data() + i * r->pixel_size();
    T alpha = 0;
    std::memcpy(&alpha, at + r->colors * sizeof(T), sizeof(T));
    if (alpha == 0 || alpha == most) continue;
    for (size_t c = 0; c < r->colors; ++c) {
      T value = 0;
      std::memcpy(&value, at + c * sizeof(T), sizeof(T));
      value = static_cast<T>(
          std::min<uint64_t>(most, uint64_t{value} * most / alpha));
      std::memcpy(at + c * sizeof(T), &value, sizeof(T));
    }
  }
}

}  // namespace

CellRect CellsOf(const StoredRaster& raster, const PixelRect& rect) {
  return {rect.x / raster.cell_width, rect.y / raster.cell_height,
          (rect.x + rect.width - 1) / raster.cell_width + 1,
          (rect.y + rect.height - 1) / raster.cell_height + 1};
}

Result<Raster> DecodeTiffCells(const StoredRaster& raster,
                               const CellRect& cells,
                               const PieceReader& pieces) {
  PLUGIN_ASSIGN_OR_RETURN(const TiffDirectory tags, DecodeTags(raster.head));
  const TiffSamples samples = ClassifySamples(tags);
  if (samples.channels != raster.channels || samples.type != raster.type ||
      raster.planes != (samples.planar ? samples.samples : 1)) {
    return Corrupt("the index contradicts itself");
  }
  PLUGIN_ASSIGN_OR_RETURN(Raster out,
                          CellDecoder(raster, tags, cells, pieces).Run());
  if (samples.way == TiffSamples::Way::kCmyk) {
    return samples.bits == 8 ? InksToRgb<uint8_t>(out)
                             : InksToRgb<uint16_t>(out);
  }
  if (samples.way == TiffSamples::Way::kPlain && samples.premultiplied &&
      samples.alpha) {
    if (out.type == SampleType::kU8) Unmultiply<uint8_t>(&out);
    if (out.type == SampleType::kU16) Unmultiply<uint16_t>(&out);
  }
  const auto icc = tags.tags.find(kTagIcc);
  const bool fits = samples.photometric <= 3 || samples.jpeg_to_rgb;
  if (icc != tags.tags.end() && fits) out.icc = icc->second.value;
  return out;
}

Result<Raster> DecodeTiffWhole(const StoredRaster& raster, ByteSpan bytes) {
  ByteReader head(raster.head);
  const uint64_t offset = head.U64();
  MemoryFile file;
  file.bytes = bytes;
  const TiffPtr tiff = OpenTiff(&file);
  if (tiff == nullptr || TIFFSetSubDirectory(tiff.get(), offset) == 0) {
    return TiffError(file);
  }
  uint32_t width = 0;
  uint32_t height = 0;
  TIFFGetField(tiff.get(), TIFFTAG_IMAGEWIDTH, &width);
  TIFFGetField(tiff.get(), TIFFTAG_IMAGELENGTH, &height);
  if (width != raster.width || height != raster.height) {
    return Corrupt("the directory has no usable size");
  }
  // What it says of itself is undone by the caller.
  TIFFSetField(tiff.get(), TIFFTAG_ORIENTATION, ORIENTATION_TOPLEFT);
  PLUGIN_ASSIGN_OR_RETURN(
      Raster out, MakeRaster(width, height, raster.channels, SampleType::kU8));
  PLUGIN_RETURN_IF_ERROR(ReadRgba(tiff.get(), file, &out));
  return out;
}

}  // namespace rowfs::plugin
