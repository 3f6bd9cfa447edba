// What an index of a picture says: pages, the rasters they are stored as, where
// the pieces of each lie in the blob, frames of animations.
//
// Values without locks.
#ifndef ROWFS_INDEX_PLUGINS_IMAGE_IMAGE_INDEX_H_
#define ROWFS_INDEX_PLUGINS_IMAGE_IMAGE_INDEX_H_

#include <cstdint>
#include <string>
#include <vector>

#include "index/plugins/common/bytes.h"
#include "index/plugins/common/picture.h"
#include "index/plugins/common/status.h"

namespace rowfs::plugin {

// Of one index; each is capped before memory is asked for it.
inline constexpr uint32_t kPagesMax = 1u << 20;
inline constexpr uint64_t kChunksMax = uint64_t{1} << 24;
inline constexpr uint32_t kFramesMax = 1u << 20;

struct BlobPiece {
  uint64_t offset = 0;
  uint64_t size = 0;
  uint64_t end() const { return offset + size; }
  bool operator==(const BlobPiece&) const = default;
};

// Who turns the pieces of a raster into pixels.
enum class RasterCodec : uint8_t {
  kTiff,       // cells are tiles or strips; `head` holds the directory's tags
  kTiffWhole,  // the whole file; `head` holds the directory's offset
  kJpegBands,  // cells are MCU rows; `head` is the file up to its scan
  kJpeg,       // one cell, the whole file, as for all below
  kPng,
  kWebp,
  kHeif,  // HEIC and AVIF
  kJp2,
  kPlain,  // BMP, PNM, TGA, ...: what libav decodes as one packet
  kFrame,  // the animation's frame of the page's number
  kDicom   // cells are frames; `head` says how they are coded
};
inline constexpr uint8_t kRasterCodecs = 11;

// One stored picture: a grid of cells, row by row, each as many pieces as it
// has planes (plane by plane, not cell by cell).
struct StoredRaster {
  RasterCodec codec = RasterCodec::kJpeg;
  uint32_t width = 0;
  uint32_t height = 0;
  uint32_t cell_width = 0;
  uint32_t cell_height = 0;
  uint8_t planes = 1;
  bool tiled = false;
  // Of the raster the codec gives.
  uint8_t channels = 3;
  uint8_t colors = 3;
  bool alpha = false;
  SampleType type = SampleType::kU8;
  std::string description;  // for people: "jpeg, YCbCr, 8 bits"
  // A tile is a file of this extension behind `tile_head` (which takes the
  // place of the tile's first two bytes, when it is not empty). Empty: tiles
  // are decoded.
  std::string tile_extension;
  Bytes tile_head;
  Bytes head;
  std::vector<BlobPiece> pieces;

  uint32_t cells_across() const {
    return (width + cell_width - 1) / cell_width;
  }
  uint32_t cells_down() const {
    return (height + cell_height - 1) / cell_height;
  }
  uint64_t cell_count() const {
    return uint64_t{cells_across()} * cells_down();
  }
};

struct Page {
  uint32_t raster = 0;
  uint8_t orientation = 1;
  // Smaller versions of it, largest first.
  std::vector<uint32_t> reduced;
};

// One frame of an animation and how it goes onto the canvas.
struct Frame {
  BlobPiece piece;
  PixelRect rect;
  uint32_t delay_ms = 0;
  // What happens to its rectangle before the next frame.
  enum class Dispose : uint8_t { kKeep, kClear, kRestore };
  Dispose dispose = Dispose::kKeep;
  bool blend = true;  // over the canvas; else it replaces its rectangle
  bool key = false;   // needs no frame before it
};

enum class AnimationKind : uint8_t { kNone, kGif, kWebp, kApng };

struct Animation {
  AnimationKind kind = AnimationKind::kNone;
  uint32_t width = 0;
  uint32_t height = 0;
  uint32_t loops = 0;  // 0 for ever
  Bytes head;          // what every frame needs: palette, PNG chunks
  std::vector<Frame> frames;
};

enum class StoredLayout : uint8_t { kStored, kContainer };

// The first bytes of stream_info, of fixed size: enough for list("").
struct ImageHead {
  StoredLayout layout = StoredLayout::kContainer;
  uint64_t blob_size = 0;
  uint32_t page_count = 0;
  uint32_t frame_count = 0;       // of the animation; 0 when it is none
  bool tiled = false;             // the first page has tiles
  bool pages_are_frames = false;  // frames of a recording, not leaves
  uint64_t info_size = 0;
  uint64_t whole_size = 0;     // the file is the first bytes of the payload
  uint64_t original_size = 0;  // 0: not kept, or it is the file
  uint64_t original_offset = 0;
  std::string extension;  // at most 8 bytes, "tif"
  std::string original_extension;
};

struct ImageIndex {
  ImageHead head;
  std::string format;       // for people: "tiff", "bigtiff", "jpeg"
  std::string description;  // the file's own words about itself
  Bytes icc;                // of the file, where pages have none of their own
  std::vector<StoredRaster> rasters;
  std::vector<Page> pages;
  Animation animation;

  const StoredRaster& raster_of(const Page& page) const {
    return rasters[page.raster];
  }
  uint32_t UprightWidth(const Page& page) const;
  uint32_t UprightHeight(const Page& page) const;
};

inline constexpr size_t kImageHeadSize = 128;
inline constexpr char kImageMagic[5] = "RMI1";

struct EncodedImageIndex {
  Bytes stream_info;
  Bytes entries;
};
EncodedImageIndex EncodeImageIndex(const ImageIndex& index);

// The fixed part of a stream_info, or a prefix of one. ROWFS_E_CORRUPT.
Result<ImageHead> ParseImageHead(ByteSpan stream_info);
// The whole index. Everything is checked against everything: sums, counts, the
// size of the blob. ROWFS_E_CORRUPT.
Result<ImageIndex> ParseImageIndex(ByteSpan stream_info, ByteSpan entries,
                                   uint64_t blob_size);
// What both sides hold an index to: rasters without pixels, grids whose pieces
// are missing, pieces past the end of the blob, pages of no raster.
// ROWFS_E_CORRUPT.
Status CheckImageIndex(const ImageIndex& index);

}  // namespace rowfs::plugin
#endif  // ROWFS_INDEX_PLUGINS_IMAGE_IMAGE_INDEX_H_
