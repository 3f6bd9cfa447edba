// The virtual files of a picture: names, sizes, what each needs of the blob.
//
//   .pages/0001.png                 every page, from 1
//   .pages/0001/REGION/SIZE/ROTATION/QUALITY.FORMAT   by lookup, IIIF order
//   .pages/0001/info.json           the same for IIIF viewers
//   .frames/000000.png              animations, from 0
//   .tiles/LEVEL/X_Y.jpg            as stored where that is a file
//   .info.json
//
// Immutable.
#ifndef ROWFS_INDEX_PLUGINS_IMAGE_VIEWS_H_
#define ROWFS_INDEX_PLUGINS_IMAGE_VIEWS_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "index/plugins/common/emit.h"
#include "index/plugins/common/iiif.h"
#include "index/plugins/image/image_index.h"

namespace rowfs::plugin {

struct ImageConfig {
  ImageFormat frames = ImageFormat::kPng;  // the extensions that are listed
  ImageFormat pages = ImageFormat::kPng;
  ImageOptions options;
};

// "frames=jpg,pages=png,quality=85,ppm=16". Keys of other plugins ("segment",
// "dpi") are ignored; ROWFS_E_INVALID for unknown ones and bad values.
Result<ImageConfig> ParseImageConfig(std::string_view text);

// What a path means.
struct ImageItem {
  enum class Kind : uint8_t {
    kDirectory,
    kInfo,      // of the file
    kPageInfo,  // `number` = page, from 0
    kWhole,
    kOriginal,
    kPicture,  // `number` = page; request and geometry
    kFrame,    // `number` = frame; request.format
    kTile      // `number` = raster; x, y
  };
  Kind kind = Kind::kDirectory;
  uint32_t number = 0;
  IiifRequest request;
  IiifGeometry geometry;
  uint32_t x = 0;
  uint32_t y = 0;
  bool stored_tile = false;  // handed out as it is stored
};

class ImageViews {
 public:
  // `index` must outlive the views.
  ImageViews(const ImageIndex& index, const ImageConfig& config)
      : index_(index), config_(config) {}

  // The entries beside the blob, from the head alone.
  static std::vector<Entry> ListTop(const ImageHead& head);

  // Entries [start, start + limit) of `directory`. ROWFS_E_NOT_FOUND for a
  // folder that does not exist.
  Status List(std::string_view directory, uint64_t start, uint64_t limit,
              const rowfs_entry_sink& out) const;
  // ROWFS_E_NOT_FOUND for what is not there, ROWFS_E_INVALID for a malformed
  // region, size, rotation or quality.
  Result<Entry> Lookup(std::string_view path) const;
  Result<ImageItem> Resolve(std::string_view path) const;
  // Frames of an animation that are shown in [from, to).
  Status Select(std::string_view view, std::string_view from,
                std::string_view to, const rowfs_entry_sink& out) const;

 private:
  Result<ImageItem> ResolvePage(std::string_view rest) const;
  Result<ImageItem> ResolveFrame(std::string_view name) const;
  Result<ImageItem> ResolveTile(std::string_view rest) const;
  Entry PageEntry(uint32_t page) const;
  Entry FrameEntry(uint32_t frame, ImageFormat format) const;
  Entry TileEntry(uint32_t raster, uint32_t x, uint32_t y) const;
  Entry EntryOf(const ImageItem& item, std::string name) const;
  std::string Canonical(const ImageItem& item) const;
  // The rasters of the first page, largest first: its tile levels.
  std::vector<uint32_t> Levels() const;
  std::string PageName(uint32_t page) const;
  uint64_t frame_count() const;

  const ImageIndex& index_;
  const ImageConfig config_;
};

// The contents of .info.json, and of a page's info.json.
std::string ImageInfoJson(const ImageIndex& index);
std::string PageInfoJson(const ImageIndex& index, uint32_t page);

}  // namespace rowfs::plugin
#endif  // ROWFS_INDEX_PLUGINS_IMAGE_VIEWS_H_
