// TIFF and BigTIFF files as pages: every directory of the main chain is one,
// SubIFDs and EXIF are not. Reduced versions with tiles (SubIFDs, or in the
// chain as COG has them) serve smaller sizes of their page.
#include <algorithm>
#include <set>

#include "index/plugins/image/formats.h"
#include "index/plugins/image/tiff_samples.h"
#include "index/plugins/image/tiff_tags.h"

namespace rowfs::plugin {
namespace {

// Tables, palettes, profiles are kept; longer ones are arrays of places.
constexpr uint64_t kValueMax = 1 << 20;
constexpr uint64_t kIccMax = 16 << 20;
constexpr uint64_t kCutBytes = 32 << 10;
constexpr uint32_t kSideMax = 1u << 30;
constexpr uint64_t kOldJpeg = 6;
constexpr uint64_t kNewJpeg = 7;

// Directories that cannot be cut into pieces are decoded from the whole file.
StoredRaster WholeRaster(uint64_t file_size, const TiffDirectory& d) {
  StoredRaster r;
  r.codec = RasterCodec::kTiffWhole;
  r.width = static_cast<uint32_t>(
      std::clamp<uint64_t>(d.Number(kTagWidth, 1), 1, kSideMax));
  r.height = static_cast<uint32_t>(
      std::clamp<uint64_t>(d.Number(kTagHeight, 1), 1, kSideMax));
  r.cell_width = r.width;
  r.cell_height = r.height;
  r.pieces = {{0, file_size}};
  r.description = DescribeSamples(ClassifySamples(d));
  ByteWriter head;
  head.U64(d.offset);
  r.head = std::move(head.bytes());
  return r;
}

// The bytes of an uncompressed cell; 0 when that is not known.
uint64_t PlainSize(const TiffSamples& s, const StoredRaster& r, uint64_t rows) {
  if (s.compression != 1 || s.photometric == 6) return 0;
  const uint64_t samples = uint64_t{r.cell_width} * (s.planar ? 1 : s.samples);
  return (samples * s.bits + 7) / 8 * rows;
}

// Sizes of strips that the file does not tell: up to the next one.
std::vector<uint64_t> GuessSizes(const std::vector<uint64_t>& offsets,
                                 const TiffSamples& s, const StoredRaster& r,
                                 uint64_t file_size) {
  std::vector<uint64_t> sorted = offsets;
  std::sort(sorted.begin(), sorted.end());
  std::vector<uint64_t> sizes;
  for (size_t i = 0; i < offsets.size(); ++i) {
    const auto next =
        std::upper_bound(sorted.begin(), sorted.end(), offsets[i]);
    const uint64_t end = next == sorted.end() ? file_size : *next;
    const uint64_t row = i % r.cells_down();
    const uint64_t rows =
        std::min<uint64_t>(r.cell_height, r.height - row * r.cell_height);
    const uint64_t plain = PlainSize(s, r, rows);
    uint64_t size = end > offsets[i] ? end - offsets[i] : 0;
    if (plain != 0) size = std::min(size, plain);
    sizes.push_back(size);
  }
  return sizes;
}

class TiffIndexer {
 public:
  TiffIndexer(ByteSource* file, ImageIndex* index)
      : file_(file), index_(index) {}

  Status Run();

 private:
  Result<TiffDirectory> Read(uint64_t offset) {
    return ReadDirectory(file_, header_, offset, kValueMax);
  }
  Status AddPage(const TiffDirectory& directory);
  void AddReduced(const TiffDirectory& page, Page* out);
  StoredRaster MakeRasterOf(const TiffDirectory& directory);
  Status FillPieces(const TiffDirectory& directory, const TiffSamples& samples,
                    StoredRaster* raster);
  void SetTileFile(const TiffDirectory& directory, const TiffSamples& samples,
                   StoredRaster* raster);
  Bytes KeptTags(const TiffDirectory& directory);

  ByteSource* file_;
  ImageIndex* index_;
  TiffHeader header_;
  std::set<uint64_t> seen_;
};

// The tags that decoding needs; a profile even when it is long.
Bytes TiffIndexer::KeptTags(const TiffDirectory& d) {
  TiffDirectory kept;
  kept.big_endian = d.big_endian;
  for (const uint16_t id : kDecodeTags) {
    const auto found = d.tags.find(id);
    if (found == d.tags.end()) continue;
    TiffTag tag = found->second;
    const uint64_t size = tag.count * TiffTypeSize(tag.type);
    if (tag.value.size() < size) {
      auto value = file_->Read(tag.offset, size, kIccMax);
      if (!value.ok()) continue;
      tag.value = std::move(value).value();
    }
    kept.tags.emplace(id, std::move(tag));
  }
  return EncodeTags(kept);
}

Status TiffIndexer::FillPieces(const TiffDirectory& d, const TiffSamples& s,
                               StoredRaster* r) {
  const uint64_t count = r->cell_count() * r->planes;
  if (count > kChunksMax) return Limit("too many tiles");
  const uint16_t offsets_tag =
      d.Has(kTagTileOffsets) ? kTagTileOffsets : kTagStripOffsets;
  const uint16_t sizes_tag =
      d.Has(kTagTileSizes) ? kTagTileSizes : kTagStripSizes;
  PLUGIN_ASSIGN_OR_RETURN(const std::vector<uint64_t> offsets,
                          ReadIntegers(file_, d, offsets_tag, count));
  std::vector<uint64_t> sizes;
  if (auto told = ReadIntegers(file_, d, sizes_tag, count); told.ok()) {
    sizes = std::move(told).value();
  } else {
    sizes = GuessSizes(offsets, s, *r, file_->size());
  }
  for (size_t i = 0; i < offsets.size(); ++i) {
    BlobPiece piece{offsets[i], sizes[i]};
    const uint64_t end = file_->size();
    if (piece.offset > end || piece.size > end - piece.offset) {
      piece = {end, 0};  // is not there; only its own cell suffers
    } else if (piece.size == 0) {
      piece.offset = 0;  // sparse: never written
    }
    r->pieces.push_back(piece);
  }
  return {};
}

// Strips that are not compressed can be cut at any row, so that a region of a
// page in one strip does not cost the page.
void CutStrips(const TiffSamples& s, StoredRaster* r) {
  const uint64_t row = PlainSize(s, *r, 1);
  if (row == 0 || r->tiled || s.way == TiffSamples::Way::kRgba) return;
  const uint64_t rows = std::max<uint64_t>(1, kCutBytes / row);
  if (r->cell_height <= rows) return;
  // Strips must end where cells end.
  uint64_t cut = rows;
  if (r->cells_down() > 1) {
    while (r->cell_height % cut != 0) --cut;
  }
  const uint64_t strips = r->cells_down();
  const uint64_t cells = (r->height + cut - 1) / cut;
  if (cells * r->planes > kChunksMax) return;
  std::vector<BlobPiece> pieces;
  for (size_t i = 0; i < r->pieces.size(); ++i) {
    const uint64_t top = i % strips * r->cell_height;
    const uint64_t end = std::min<uint64_t>(top + r->cell_height, r->height);
    const BlobPiece& strip = r->pieces[i];
    if (strip.size < row * (end - top)) return;  // sparse or cut short
    for (uint64_t y = top; y < end; y += cut) {
      pieces.push_back(
          {strip.offset + row * (y - top), row * (std::min(y + cut, end) - y)});
    }
  }
  r->pieces = std::move(pieces);
  r->cell_height = static_cast<uint32_t>(cut);
}

// Tiles that are files of their own but for shared tables.
void TiffIndexer::SetTileFile(const TiffDirectory& d, const TiffSamples& s,
                              StoredRaster* r) {
  if (!r->tiled || s.planar) return;
  if (s.way == TiffSamples::Way::kTile) r->tile_extension = "j2k";
  if (s.compression == 50001) r->tile_extension = "webp";
  if (s.compression != kNewJpeg || s.bits != 8) return;
  if (s.photometric == 5 || s.photometric == 0) return;
  r->tile_extension = "jpg";
  r->tile_head = {0xff, 0xd8};
  const auto tables = d.tags.find(kTagJpegTables);
  if (tables != d.tags.end() && tables->second.value.size() > 4) {
    // Between their SOI and EOI.
    const Bytes& v = tables->second.value;
    r->tile_head.insert(r->tile_head.end(), v.begin() + 2, v.end() - 2);
  }
  if (s.photometric == 2) {
    // Readers take three components for YCbCr unless an Adobe marker says
    // otherwise.
    static constexpr uint8_t kRgb[] = {0xff, 0xee, 0,   14, 'A', 'd', 'o', 'b',
                                       'e',  0,    100, 0,  0,   0,   0,   0};
    r->tile_head.insert(r->tile_head.end(), std::begin(kRgb), std::end(kRgb));
  }
}

StoredRaster TiffIndexer::MakeRasterOf(const TiffDirectory& d) {
  const TiffSamples s = ClassifySamples(d);
  StoredRaster r = WholeRaster(file_->size(), d);
  if (!d.Has(kTagWidth) || !d.Has(kTagHeight) || s.compression == kOldJpeg) {
    return r;
  }
  StoredRaster cut = r;
  cut.codec = RasterCodec::kTiff;
  cut.pieces.clear();
  cut.tiled = d.Has(kTagTileWidth) && d.Has(kTagTileOffsets);
  const uint64_t across = cut.tiled ? d.Number(kTagTileWidth, 0) : r.width;
  uint64_t down = d.Number(cut.tiled ? kTagTileHeight : kTagRowsPerStrip,
                           cut.tiled ? 0 : r.height);
  if (!cut.tiled) down = std::min<uint64_t>(down, r.height);
  if (across == 0 || down == 0 || across > kSideMax || down > kSideMax) {
    return r;
  }
  cut.cell_width = static_cast<uint32_t>(across);
  cut.cell_height = static_cast<uint32_t>(down);
  cut.planes = s.planar ? static_cast<uint8_t>(s.samples) : uint8_t{1};
  cut.channels = static_cast<uint8_t>(s.channels);
  cut.colors = s.colors;
  cut.alpha = s.alpha;
  cut.type = s.type;
  if (!FillPieces(d, s, &cut).ok()) return r;
  CutStrips(s, &cut);
  SetTileFile(d, s, &cut);
  cut.head = KeptTags(d);
  return cut;
}

// Reduced versions in SubIFDs, as OME and others have them.
void TiffIndexer::AddReduced(const TiffDirectory& page, Page* out) {
  const auto found = page.tags.find(kTagSubIfds);
  if (found == page.tags.end()) return;
  const uint64_t count = std::min<uint64_t>(found->second.count, 32);
  auto offsets = ReadIntegers(file_, page, kTagSubIfds, count);
  if (!offsets.ok()) return;
  for (const uint64_t offset : offsets.value()) {
    if (!seen_.insert(offset).second) continue;
    const auto directory = Read(offset);
    if (!directory.ok()) continue;
    const TiffDirectory& d = directory.value();
    if ((d.Number(kTagSubfileType, 0) & 1) == 0) continue;
    StoredRaster r = MakeRasterOf(d);
    if (!r.tiled) continue;
    out->reduced.push_back(static_cast<uint32_t>(index_->rasters.size()));
    index_->rasters.push_back(std::move(r));
  }
}

Status TiffIndexer::AddPage(const TiffDirectory& d) {
  Page page;
  page.raster = static_cast<uint32_t>(index_->rasters.size());
  const uint64_t orientation = d.Number(kTagOrientation, 1);
  if (orientation >= 1 && orientation <= 8) {
    page.orientation = static_cast<uint8_t>(orientation);
  }
  index_->rasters.push_back(MakeRasterOf(d));
  AddReduced(d, &page);
  // Copy: the vector may move when the next page comes.
  const StoredRaster& r = index_->rasters[page.raster];
  const bool aperio = index_->description.starts_with("Aperio");
  const bool is_reduced = (d.Number(kTagSubfileType, 0) & 1) != 0 || aperio;
  if (is_reduced && r.tiled && !index_->pages.empty()) {
    // A smaller version of the last page that is none itself.
    for (size_t i = index_->pages.size(); i-- > 0;) {
      Page& full = index_->pages[i];
      const StoredRaster& f = index_->raster_of(full);
      if (!f.tiled || f.width <= r.width || f.height <= r.height) continue;
      const double across = static_cast<double>(f.width) / r.width;
      const double down = static_cast<double>(f.height) / r.height;
      const bool same_shape = across / down > 0.98 && across / down < 1.02;
      const bool first = i == 0 || !aperio;
      if (!same_shape || !first || f.channels != r.channels) continue;
      const bool largest =
          i == 0 || index_->raster_of(index_->pages[i - 1]).width <= f.width;
      if (!largest) continue;
      full.reduced.push_back(page.raster);
      break;
    }
  }
  index_->pages.push_back(std::move(page));
  return {};
}

Status TiffIndexer::Run() {
  PLUGIN_ASSIGN_OR_RETURN(header_, ReadTiffHeader(file_));
  index_->format = header_.big ? "bigtiff" : "tiff";
  index_->head.extension = "tif";
  for (uint64_t at = header_.first; at != 0;) {
    if (!seen_.insert(at).second) {
      return Corrupt("its directories go round in a circle");
    }
    if (index_->pages.size() >= kPagesMax) return Limit("too many pages");
    const auto directory = Read(at);
    if (!directory.ok()) {
      // What comes before the damage is sound.
      if (index_->pages.empty() || directory.status().code() == ROWFS_E_IO) {
        return directory.status();
      }
      break;
    }
    const TiffDirectory& d = directory.value();
    if (index_->pages.empty()) index_->description = d.Text(270);
    PLUGIN_RETURN_IF_ERROR(AddPage(d));
    at = d.next;
  }
  if (index_->pages.empty()) return Corrupt("it has no directory");
  for (Page& page : index_->pages) {
    std::sort(page.reduced.begin(), page.reduced.end(),
              [this](uint32_t a, uint32_t b) {
                return index_->rasters[a].width > index_->rasters[b].width;
              });
    if (page.reduced.size() > 64) page.reduced.resize(64);
  }
  return {};
}

}  // namespace

Status IndexTiff(ByteSource* file, ImageIndex* index) {
  return TiffIndexer(file, index).Run();
}

}  // namespace rowfs::plugin
