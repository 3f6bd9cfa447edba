#include "index/plugins/image/plan.h"

#include <algorithm>
#include <utility>

#include "index/plugins/image/formats.h"

namespace rowfs::plugin {
namespace {

// One request instead of several costs at most this many bytes, or as many as
// are wanted.
constexpr uint64_t kHoleBytesMax = 4 << 20;
constexpr uint64_t kGapBytesMax = 64 << 10;

// What decodes to more than this, and to more than so many times what is
// stored, is a bomb: it would take memory and time for nothing to look at.
constexpr uint64_t kBombBytes = 256 << 20;
constexpr uint64_t kBombFactor = 400;

// Where the wanted pixels lie.
struct Source {
  uint32_t raster = 0;
  PixelRect rect;  // in the raster, as stored
  uint8_t orientation = 1;
};

// The smallest stored version of the page that has as many pixels as asked.
Source ChooseSource(const ImageIndex& index, const ImageItem& item) {
  Source s;
  if (item.kind == ImageItem::Kind::kTile) {
    const StoredRaster& r = index.rasters[item.number];
    const uint32_t x = item.x * r.cell_width;
    const uint32_t y = item.y * r.cell_height;
    s.raster = item.number;
    s.rect = {x, y, std::min(r.cell_width, r.width - x),
              std::min(r.cell_height, r.height - y)};
    return s;
  }
  const Page& page = index.pages[item.number];
  const StoredRaster& full = index.raster_of(page);
  s.raster = page.raster;
  s.orientation = page.orientation;
  const PixelRect& want = item.geometry.source;
  s.rect = StoredRect(want, page.orientation, full.width, full.height);
  uint32_t out_width = item.geometry.width;
  uint32_t out_height = item.geometry.height;
  if (SwapsSides(page.orientation)) std::swap(out_width, out_height);
  const PixelRect whole = s.rect;
  for (const uint32_t number : page.reduced) {
    const StoredRaster& r = index.rasters[number];
    const auto scale = [](uint32_t v, uint32_t from, uint32_t to, bool up) {
      return static_cast<uint32_t>((uint64_t{v} * to + (up ? from - 1 : 0)) /
                                   from);
    };
    PixelRect rect;
    rect.x = scale(whole.x, full.width, r.width, false);
    rect.y = scale(whole.y, full.height, r.height, false);
    rect.width = scale(whole.x + whole.width, full.width, r.width, true);
    rect.height = scale(whole.y + whole.height, full.height, r.height, true);
    rect.width = std::min(rect.width, r.width) - rect.x;
    rect.height = std::min(rect.height, r.height) - rect.y;
    if (rect.width < out_width || rect.height < out_height) break;
    s.raster = number;
    s.rect = rect;
  }
  return s;
}

// JPEG smooths colors across MCU rows when they are subsampled downwards: a row
// more on each side makes the same pixels as decoding all.
CellRect CellsFor(const StoredRaster& raster, const PixelRect& rect) {
  CellRect cells = CellsOf(raster, rect);
  if (raster.codec == RasterCodec::kJpegBands && raster.cell_height > 8) {
    if (cells.top > 0) --cells.top;
    cells.bottom = std::min(cells.bottom + 1, raster.cells_down());
  }
  return cells;
}

std::vector<BlobPiece> PiecesOf(const StoredRaster& raster,
                                const CellRect& cells) {
  std::vector<BlobPiece> pieces;
  for (uint64_t plane = 0; plane < raster.planes; ++plane) {
    for (uint64_t y = cells.top; y < cells.bottom; ++y) {
      for (uint64_t x = cells.left; x < cells.right; ++x) {
        pieces.push_back(raster.pieces[static_cast<size_t>(
            plane * raster.cell_count() + y * raster.cells_across() + x)]);
      }
    }
  }
  return pieces;
}

// Frames from the one that stands alone up to `frame`.
std::vector<BlobPiece> FramePieces(const Animation& animation, uint32_t frame) {
  std::vector<BlobPiece> pieces;
  for (uint32_t i = Composer::Start(animation, frame); i <= frame; ++i) {
    pieces.push_back(animation.frames[i].piece);
  }
  return pieces;
}

// The frame that is asked for, directly or as a page.
std::optional<uint32_t> FrameOf(const ImageIndex& index,
                                const ImageItem& item) {
  if (item.kind == ImageItem::Kind::kFrame) return item.number;
  if (item.kind != ImageItem::Kind::kPicture) return std::nullopt;
  const Page& page = index.pages[item.number];
  if (index.raster_of(page).codec != RasterCodec::kFrame) return std::nullopt;
  return 0;
}

Status CheckBomb(const StoredRaster& raster, const CellRect& cells) {
  uint64_t stored = 0;
  for (const BlobPiece& piece : PiecesOf(raster, cells)) stored += piece.size;
  const uint64_t count =
      uint64_t{cells.right - cells.left} * (cells.bottom - cells.top);
  const uint64_t pixel = raster.channels * SampleSize(raster.type);
  const uint64_t cell = uint64_t{std::min(raster.cell_width, raster.width)} *
                        std::min(raster.cell_height, raster.height);
  uint64_t bytes = 0;
  const bool huge = __builtin_mul_overflow(count * pixel, cell, &bytes);
  if (huge || (bytes > kBombBytes && bytes / kBombFactor > stored)) {
    return Limit(std::to_string(stored) + " bytes would become a picture of " +
                 std::to_string(bytes >> 20) +
                 " MiB; ask for a smaller region");
  }
  return {};
}

Result<Raster> DecodeRegion(const StoredRaster& raster, const PixelRect& rect,
                            const ReadRanges& read) {
  const CellRect cells = CellsFor(raster, rect);
  PLUGIN_RETURN_IF_ERROR(CheckBomb(raster, cells));
  const PieceReader pieces = [&](size_t i) {
    return read.Find(raster.pieces[i]);
  };
  PLUGIN_ASSIGN_OR_RETURN(Raster decoded, DecodeCells(raster, cells, pieces));
  PixelRect at = rect;
  at.x -= cells.left * raster.cell_width;
  at.y -= cells.top * raster.cell_height;
  if (uint64_t{at.x} + at.width > decoded.width ||
      uint64_t{at.y} + at.height > decoded.height) {
    return Corrupt("the picture is smaller than its header says");
  }
  if (decoded.channels != raster.channels || decoded.type != raster.type) {
    return Corrupt("the picture is of another kind than its header says");
  }
  if (at == PixelRect{0, 0, decoded.width, decoded.height}) return decoded;
  return Crop(decoded, at);
}

}  // namespace

std::vector<rowfs_range> CoverPieces(std::vector<BlobPiece> pieces) {
  std::erase_if(pieces, [](const BlobPiece& p) { return p.size == 0; });
  std::sort(pieces.begin(), pieces.end(),
            [](const BlobPiece& a, const BlobPiece& b) {
              return a.offset < b.offset;
            });
  std::vector<rowfs_range> ranges;
  uint64_t wanted = 0;
  for (const BlobPiece& p : pieces) {
    if (!ranges.empty() && p.offset <= ranges.back().end + kGapBytesMax) {
      ranges.back().end = std::max(ranges.back().end, p.end());
    } else {
      ranges.push_back({p.offset, p.end()});
    }
  }
  for (const rowfs_range& r : ranges) wanted += r.end - r.begin;
  if (ranges.size() > 1) {
    const uint64_t span = ranges.back().end - ranges.front().begin;
    if (span - wanted <= std::max(kHoleBytesMax, wanted)) {
      return {{ranges.front().begin, ranges.back().end}};
    }
  }
  return ranges;
}

std::vector<rowfs_range> RangesOf(const ImageIndex& index,
                                  const ImageItem& item) {
  if (const auto frame = FrameOf(index, item)) {
    return CoverPieces(FramePieces(index.animation, *frame));
  }
  const Source source = ChooseSource(index, item);
  const StoredRaster& raster = index.rasters[source.raster];
  return CoverPieces(PiecesOf(raster, CellsFor(raster, source.rect)));
}

PictureSize SizeOf(const ImageIndex& index, const ImageItem& item,
                   const ImageOptions& options) {
  Raster shape;
  shape.channels = 4;
  shape.colors = 3;
  shape.alpha = true;
  if (item.kind == ImageItem::Kind::kFrame) {
    shape.width = index.animation.width;
    shape.height = index.animation.height;
  } else {
    const Source source = ChooseSource(index, item);
    const StoredRaster& r = index.rasters[source.raster];
    shape.channels = r.channels;
    shape.colors = r.colors;
    shape.alpha = r.alpha;
    shape.type = r.type;
    shape.width = source.rect.width;
    shape.height = source.rect.height;
    if (item.kind == ImageItem::Kind::kPicture) {
      shape.width = item.geometry.width;
      shape.height = item.geometry.height;
      if (item.request.quarters % 2 != 0) std::swap(shape.width, shape.height);
    }
  }
  const ImageFormat format = item.request.format;
  const IiifQuality quality = item.request.quality;
  const bool as_is =
      quality == IiifQuality::kDefault || quality == IiifQuality::kColor;
  if (format == ImageFormat::kNpy && as_is) {
    return {kNpyHeadSize + uint64_t{shape.stride()} * shape.height, true};
  }
  ImageShape shown = ShownShape(shape);
  if (!as_is) shown.gray = true;
  const auto exact = ExactImageSize(format, shown, options);
  // A profile may come on top of a TIFF.
  return {exact.value_or(GuessImageSize(format, shown)),
          exact.has_value() && format != ImageFormat::kTif};
}

Result<ByteSpan> ReadRanges::Find(const BlobPiece& piece) const {
  if (piece.size == 0) return ByteSpan();
  for (size_t i = 0; i < ranges_.size() && i < bytes_.size(); ++i) {
    const rowfs_range& r = ranges_[i];
    if (piece.offset < r.begin || piece.end() > r.end) continue;
    if (bytes_[i].size != r.end - r.begin) break;
    return ByteSpan(bytes_[i].data + (piece.offset - r.begin),
                    static_cast<size_t>(piece.size));
  }
  return Invalid("the bytes given are not those of the plan");
}

Result<Bytes> MakePicture(const ImageIndex& index, const ImageItem& item,
                          const ImageOptions& options, const ReadRanges& read,
                          Composer* composer) {
  Raster pixels;
  uint8_t orientation = 1;
  if (const auto frame = FrameOf(index, item)) {
    PLUGIN_ASSIGN_OR_RETURN(
        pixels, composer->Show(index.animation, *frame, [&](uint32_t i) {
          return read.Find(index.animation.frames[i].piece);
        }));
    if (item.kind == ImageItem::Kind::kPicture) {
      orientation = index.pages[item.number].orientation;
      const PixelRect rect = StoredRect(item.geometry.source, orientation,
                                        pixels.width, pixels.height);
      pixels = Crop(pixels, rect);
    }
  } else {
    const Source source = ChooseSource(index, item);
    const StoredRaster& raster = index.rasters[source.raster];
    orientation = source.orientation;
    PLUGIN_ASSIGN_OR_RETURN(pixels, DecodeRegion(raster, source.rect, read));
    if (pixels.icc.empty() && !index.icc.empty()) pixels.icc = index.icc;
  }
  pixels = Upright(std::move(pixels), orientation);
  if (item.kind == ImageItem::Kind::kPicture) {
    if (item.geometry.width != pixels.width ||
        item.geometry.height != pixels.height) {
      PLUGIN_ASSIGN_OR_RETURN(
          pixels, Scale(pixels, item.geometry.width, item.geometry.height));
    }
    pixels = Upright(std::move(pixels),
                     OrientationOf(item.request.mirror, item.request.quarters));
  }
  return EncodeRaster(std::move(pixels), item.request.format, options,
                      item.request.quality);
}

}  // namespace rowfs::plugin
