// One pair of functions for each family of files: describe a file as an index,
// and turn the bytes of the pieces that a region needs into pixels.
//
// Functions without state.
#ifndef ROWFS_INDEX_PLUGINS_IMAGE_FORMATS_H_
#define ROWFS_INDEX_PLUGINS_IMAGE_FORMATS_H_

#include <cstdint>
#include <functional>
#include <string>

#include "index/plugins/image/byte_source.h"
#include "index/plugins/image/image_index.h"

namespace rowfs::plugin {

// Load what codecs load late. Once per process.
Status WarmUpCodecs();
// Plugin release and the libraries whose output ends in files.
std::string CodecVersions();

// The bytes of piece number i of a raster, valid until the next call.
// ROWFS_E_INVALID when they were not read.
using PieceReader = std::function<Result<ByteSpan>(size_t piece)>;

// Cells [left, right) x [top, bottom) of a raster's grid.
struct CellRect {
  uint32_t left = 0, top = 0, right = 0, bottom = 0;
};
CellRect CellsOf(const StoredRaster& raster, const PixelRect& rect);

// Each fills pages, rasters, format and head.extension; offsets are those of
// the file. They read as little of it as its layout allows.
Status IndexTiff(ByteSource* file, ImageIndex* index);
Status IndexPng(ByteSource* file, ImageIndex* index);
Status IndexWebp(ByteSource* file, ImageIndex* index);
Status IndexGif(ByteSource* file, ImageIndex* index);
Status IndexJpeg(ByteSource* file, ImageIndex* index);
Status IndexHeif(ByteSource* file, ImageIndex* index);
Status IndexJp2(ByteSource* file, ImageIndex* index);
Status IndexPlain(ByteSource* file, ImageIndex* index);
Status IndexDicom(ByteSource* file, ImageIndex* index);

// Of an animation whose frames say in `key` whether they are opaque: which of
// them stand alone.
void SetKeys(Animation* animation);
// The first frame as the one page.
void AddFramePage(ImageIndex* index, std::string description);

// By the raster's codec: the pixels of `cells`, clipped to the picture. Never
// kFrame.
Result<Raster> DecodeCells(const StoredRaster& raster, const CellRect& cells,
                           const PieceReader& pieces);

// The pixels of `cells`, clipped to the picture; the first one is the upper
// left of the first cell.
Result<Raster> DecodeTiffCells(const StoredRaster& raster,
                               const CellRect& cells,
                               const PieceReader& pieces);
// The whole picture of a directory that only makes sense with its whole file.
Result<Raster> DecodeTiffWhole(const StoredRaster& raster, ByteSpan file);

Result<Raster> DecodePng(ByteSpan bytes);
Result<Raster> DecodeWebp(ByteSpan bytes, bool alpha);
// `as_rgb`: three components are RGB although no marker says so.
Result<Raster> DecodeJpeg(ByteSpan bytes, bool as_rgb);
// Rows of MCUs from their own bytes.
Result<Raster> DecodeJpegBands(const StoredRaster& raster,
                               const CellRect& cells,
                               const PieceReader& pieces);
Result<Raster> DecodeHeif(const StoredRaster& raster, ByteSpan file);
Result<Raster> DecodePlain(const StoredRaster& raster, ByteSpan file);
// One frame.
Result<Raster> DecodeDicom(const StoredRaster& raster, ByteSpan frame);

}  // namespace rowfs::plugin
#endif  // ROWFS_INDEX_PLUGINS_IMAGE_FORMATS_H_
