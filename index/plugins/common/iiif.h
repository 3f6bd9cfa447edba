// Requests in the order of the IIIF Image API 3:
// REGION/SIZE/ROTATION/QUALITY.FORMAT, one path part each, and what they mean
// for a picture of a given size. Rules where the API leaves a choice: enlarging
// needs "^" as in version 3, rotation is a multiple of 90 degrees, "pct_" may
// stand for "pct:".
//
// Pure functions and values.
#ifndef ROWFS_INDEX_PLUGINS_COMMON_IIIF_H_
#define ROWFS_INDEX_PLUGINS_COMMON_IIIF_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "index/plugins/common/image_encoder.h"
#include "index/plugins/common/status.h"

namespace rowfs::plugin {

// Pixels of one output; more is ROWFS_E_INVALID, as a server with a maxArea
// does.
inline constexpr uint64_t kIiifPixelsMax = uint64_t{1} << 28;

struct IiifRegion {
  enum class Kind : uint8_t { kFull, kSquare, kPixels, kPercent };
  Kind kind = Kind::kFull;
  // Pixels, or millionths of a percent.
  uint64_t x = 0, y = 0, width = 0, height = 0;
  bool operator==(const IiifRegion&) const = default;
};

struct IiifSize {
  enum class Kind : uint8_t { kMax, kWidth, kHeight, kPercent, kBoth, kFit };
  Kind kind = Kind::kMax;
  bool may_enlarge = false;  // "^"
  uint64_t width = 0, height = 0;
  uint64_t percent = 0;  // in millionths
  bool operator==(const IiifSize&) const = default;
};

enum class IiifQuality : uint8_t { kDefault, kColor, kGray, kBitonal };

struct IiifRequest {
  IiifRegion region;
  IiifSize size;
  bool mirror = false;   // "!": left and right swapped, before turning
  uint8_t quarters = 0;  // clockwise
  IiifQuality quality = IiifQuality::kDefault;
  ImageFormat format = ImageFormat::kPng;
};

struct PixelRect {
  uint32_t x = 0, y = 0, width = 0, height = 0;
  bool operator==(const PixelRect&) const = default;
};

// A request for one picture: cut `source` out, scale it to `width` x `height`,
// then mirror and turn.
struct IiifGeometry {
  PixelRect source;
  uint32_t width = 0;
  uint32_t height = 0;
};

// All four parts. ROWFS_E_INVALID, saying which part is malformed.
Result<IiifRequest> ParseIiif(std::string_view path);
// The first one, two or three parts, which are folders on the way to a request.
Status CheckIiifFolder(std::string_view path);

// ROWFS_E_INVALID for a region outside of the picture or empty, a size of
// nothing, one larger than the region without "^", or one above kIiifPixelsMax.
Result<IiifGeometry> ResolveIiif(const IiifRequest& request, uint32_t width,
                                 uint32_t height);

// The shortest path that shows the same pixels: "x,y,w,h" clipped or "full",
// "w,h" or "max", "!90/gray.png".
std::string CanonicalIiif(const IiifRequest& request,
                          const IiifGeometry& geometry, uint32_t width,
                          uint32_t height);

// info.json of a picture (level 2 without arbitrary rotation). `tile` is the
// side of its tiles, 0 when it has none; `scale_factors` as JSON lists them.
struct IiifInfo {
  std::string id;  // relative: "0001"
  uint32_t width = 0;
  uint32_t height = 0;
  uint32_t tile_width = 0;
  uint32_t tile_height = 0;
  std::string scale_factors = "1";  // "1,2,4"
};
std::string IiifInfoJson(const IiifInfo& info);

}  // namespace rowfs::plugin
#endif  // ROWFS_INDEX_PLUGINS_COMMON_IIIF_H_
