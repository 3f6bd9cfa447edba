#include "index/plugins/image/formats.h"

#include <libheif/heif.h>
#include <openjpeg.h>
#include <png.h>
#include <tiffio.h>
#include <webp/decode.h>

#include <utility>

#include "index/plugins/image/av_codec.h"
#include "index/plugins/image/jp2_codec.h"

namespace rowfs::plugin {

Status WarmUpCodecs() {
  TIFFSetErrorHandler(nullptr);
  TIFFSetWarningHandler(nullptr);
  WarmUpAv();
  // Registers its decoders at the first use.
  heif_context_free(heif_context_alloc());
  return {};
}

std::string CodecVersions() {
  return "1 tiff" + std::to_string(TIFFLIB_VERSION) + " png" +
         std::to_string(png_access_version_number()) + " webp" +
         std::to_string(WebPGetDecoderVersion()) + " openjpeg" + opj_version() +
         " heif" + heif_get_version();
}

void AddFramePage(ImageIndex* index, std::string description) {
  StoredRaster r;
  r.codec = RasterCodec::kFrame;
  r.width = r.cell_width = index->animation.width;
  r.height = r.cell_height = index->animation.height;
  r.channels = 4;
  r.alpha = true;
  r.pieces = {index->animation.frames[0].piece};
  r.description = std::move(description);
  index->rasters.push_back(std::move(r));
  index->pages.push_back({0, 1, {}});
}

Result<Raster> DecodeCells(const StoredRaster& raster, const CellRect& cells,
                           const PieceReader& pieces) {
  if (raster.codec == RasterCodec::kTiff) {
    return DecodeTiffCells(raster, cells, pieces);
  }
  if (raster.codec == RasterCodec::kJpegBands) {
    return DecodeJpegBands(raster, cells, pieces);
  }
  PLUGIN_ASSIGN_OR_RETURN(const ByteSpan file, pieces(0));
  switch (raster.codec) {
    case RasterCodec::kTiffWhole:
      return DecodeTiffWhole(raster, file);
    case RasterCodec::kPng:
      return DecodePng(file);
    case RasterCodec::kWebp:
      return DecodeWebp(file, raster.alpha);
    case RasterCodec::kJpeg:
      return DecodeJpeg(file, false);
    case RasterCodec::kHeif:
      return DecodeHeif(raster, file);
    case RasterCodec::kJp2:
      return DecodeJp2(file, raster.channels, raster.type,
                       Jp2Colors::kAsStored);
    case RasterCodec::kPlain:
      return DecodePlain(raster, file);
    case RasterCodec::kDicom:
      return DecodeDicom(raster, file);
    case RasterCodec::kTiff:
    case RasterCodec::kJpegBands:
    case RasterCodec::kFrame:
      break;
  }
  return Internal("no decoder for this picture");
}

}  // namespace rowfs::plugin
