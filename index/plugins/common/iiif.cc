#include "index/plugins/common/iiif.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <vector>

namespace rowfs::plugin {
namespace {

constexpr uint64_t kMillion = 1'000'000;

std::vector<std::string_view> Split(std::string_view text, char by) {
  std::vector<std::string_view> parts;
  while (true) {
    const size_t at = text.find(by);
    parts.push_back(text.substr(0, at));
    if (at == std::string_view::npos) return parts;
    text.remove_prefix(at + 1);
  }
}

// Decimal digits alone, at most 9.
std::optional<uint64_t> Whole(std::string_view text) {
  if (text.empty() || text.size() > 9) return std::nullopt;
  uint64_t value = 0;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) {
    return std::nullopt;
  }
  return value;
}

// "12.5" in millionths; digits behind the sixth decimal are dropped.
std::optional<uint64_t> Millionths(std::string_view text) {
  const size_t point = text.find('.');
  const auto whole = Whole(text.substr(0, point));
  if (!whole || *whole > kMillion) return std::nullopt;
  uint64_t value = *whole * kMillion;
  if (point == std::string_view::npos) return value;
  const std::string_view decimals = text.substr(point + 1);
  if (decimals.empty()) return std::nullopt;
  uint64_t unit = kMillion / 10;
  for (const char c : decimals) {
    if (c < '0' || c > '9') return std::nullopt;
    value += static_cast<uint64_t>(c - '0') * unit;
    unit /= 10;
  }
  return value;
}

// Takes "pct:" off the front.
bool TakePercent(std::string_view* text) {
  if (!text->starts_with("pct:") && !text->starts_with("pct_")) return false;
  text->remove_prefix(4);
  return true;
}

std::optional<IiifRegion> ParseRegion(std::string_view text) {
  IiifRegion region;
  if (text == "full") return region;
  region.kind = IiifRegion::Kind::kSquare;
  if (text == "square") return region;
  const bool percent = TakePercent(&text);
  region.kind =
      percent ? IiifRegion::Kind::kPercent : IiifRegion::Kind::kPixels;
  const auto parts = Split(text, ',');
  if (parts.size() != 4) return std::nullopt;
  std::array<uint64_t, 4> numbers{};
  for (size_t i = 0; i < 4; ++i) {
    const auto number = percent ? Millionths(parts[i]) : Whole(parts[i]);
    if (!number) return std::nullopt;
    numbers[i] = *number;
  }
  region.x = numbers[0];
  region.y = numbers[1];
  region.width = numbers[2];
  region.height = numbers[3];
  if (region.width == 0 || region.height == 0) return std::nullopt;
  return region;
}

std::optional<IiifSize> ParseSides(std::string_view text, IiifSize size) {
  const bool fit = text.starts_with('!');
  if (fit) text.remove_prefix(1);
  const auto parts = Split(text, ',');
  if (parts.size() != 2) return std::nullopt;
  const auto width = Whole(parts[0]);
  const auto height = Whole(parts[1]);
  if ((!width && !parts[0].empty()) || (!height && !parts[1].empty())) {
    return std::nullopt;
  }
  if (!width && !height) return std::nullopt;
  if (fit && (!width || !height)) return std::nullopt;
  if (width == 0u || height == 0u) return std::nullopt;
  size.width = width.value_or(0);
  size.height = height.value_or(0);
  size.kind = !width    ? IiifSize::Kind::kHeight
              : !height ? IiifSize::Kind::kWidth
              : fit     ? IiifSize::Kind::kFit
                        : IiifSize::Kind::kBoth;
  return size;
}

std::optional<IiifSize> ParseSize(std::string_view text) {
  IiifSize size;
  size.may_enlarge = text.starts_with('^');
  if (size.may_enlarge) text.remove_prefix(1);
  if (text == "max") return size;
  // What version 2 called it.
  if (text == "full" && !size.may_enlarge) return size;
  if (!TakePercent(&text)) return ParseSides(text, size);
  const auto percent = Millionths(text);
  if (!percent || *percent == 0) return std::nullopt;
  if (*percent > 100 * kMillion && !size.may_enlarge) return std::nullopt;
  size.kind = IiifSize::Kind::kPercent;
  size.percent = *percent;
  return size;
}

bool ParseRotation(std::string_view text, IiifRequest* request) {
  request->mirror = text.starts_with('!');
  if (request->mirror) text.remove_prefix(1);
  const auto degrees = Millionths(text);
  if (!degrees || *degrees > 360 * kMillion ||
      *degrees % (90 * kMillion) != 0) {
    return false;
  }
  request->quarters = static_cast<uint8_t>(*degrees / (90 * kMillion) % 4);
  return true;
}

bool ParseQuality(std::string_view text, IiifRequest* request) {
  const size_t point = text.rfind('.');
  if (point == std::string_view::npos) return false;
  const auto format = ImageFormatOf(text.substr(point + 1));
  if (!format) return false;
  request->format = *format;
  const std::string_view quality = text.substr(0, point);
  if (quality == "default" || quality == "native") {
    request->quality = IiifQuality::kDefault;
  } else if (quality == "color") {
    request->quality = IiifQuality::kColor;
  } else if (quality == "gray" || quality == "grey") {
    request->quality = IiifQuality::kGray;
  } else if (quality == "bitonal") {
    request->quality = IiifQuality::kBitonal;
  } else {
    return false;
  }
  return true;
}

// The parts of `path` into `request`; the error names the first bad one.
Status ParseParts(std::string_view path, IiifRequest* request) {
  const auto parts = Split(path, '/');
  if (parts.size() > 4) return Invalid("too many parts");
  const auto region = ParseRegion(parts[0]);
  if (!region) {
    return Invalid("the region is none of full, square, x,y,w,h, pct:x,y,w,h");
  }
  request->region = *region;
  if (parts.size() > 1) {
    const auto size = ParseSize(parts[1]);
    if (!size) {
      return Invalid("the size is none of max, w,  ,h  w,h  !w,h  pct:n");
    }
    request->size = *size;
  }
  if (parts.size() > 2 && !ParseRotation(parts[2], request)) {
    return Invalid(
        "the rotation is none of 0, 90, 180, 270, with or without !");
  }
  if (parts.size() > 3 && !ParseQuality(parts[3], request)) {
    return Invalid("the last part is not QUALITY.FORMAT");
  }
  return {};
}

// a * b / c to the nearest, at least 1.
uint64_t Ratio(uint64_t a, uint64_t b, uint64_t c) {
  return std::max<uint64_t>(1, (a * b + c / 2) / c);
}

Result<PixelRect> ResolveRegion(const IiifRegion& region, uint64_t width,
                                uint64_t height) {
  uint64_t x = region.x, y = region.y;
  uint64_t w = region.width, h = region.height;
  switch (region.kind) {
    case IiifRegion::Kind::kFull:
      w = width;
      h = height;
      break;
    case IiifRegion::Kind::kSquare:
      w = h = std::min(width, height);
      x = (width - w) / 2;
      y = (height - h) / 2;
      break;
    case IiifRegion::Kind::kPercent: {
      constexpr uint64_t kAll = 100 * kMillion;
      x = (x * width + kAll / 2) / kAll;
      y = (y * height + kAll / 2) / kAll;
      w = Ratio(w, width, kAll);
      h = Ratio(h, height, kAll);
      break;
    }
    case IiifRegion::Kind::kPixels:
      break;
  }
  if (x >= width || y >= height) {
    return Invalid("the region lies outside of the picture");
  }
  return PixelRect{static_cast<uint32_t>(x), static_cast<uint32_t>(y),
                   static_cast<uint32_t>(std::min(w, width - x)),
                   static_cast<uint32_t>(std::min(h, height - y))};
}

}  // namespace

Result<IiifRequest> ParseIiif(std::string_view path) {
  IiifRequest request;
  if (std::count(path.begin(), path.end(), '/') != 3) {
    return Invalid("not REGION/SIZE/ROTATION/QUALITY.FORMAT");
  }
  PLUGIN_RETURN_IF_ERROR(ParseParts(path, &request));
  return request;
}

Status CheckIiifFolder(std::string_view path) {
  IiifRequest request;
  if (std::count(path.begin(), path.end(), '/') > 2) {
    return Invalid("too many parts");
  }
  return ParseParts(path, &request);
}

Result<IiifGeometry> ResolveIiif(const IiifRequest& request, uint32_t width,
                                 uint32_t height) {
  IiifGeometry geometry;
  PLUGIN_ASSIGN_OR_RETURN(geometry.source,
                          ResolveRegion(request.region, width, height));
  const uint64_t rw = geometry.source.width, rh = geometry.source.height;
  const IiifSize& size = request.size;
  uint64_t w = rw, h = rh;
  switch (size.kind) {
    case IiifSize::Kind::kMax:
      break;
    case IiifSize::Kind::kWidth:
      w = size.width;
      h = Ratio(rh, w, rw);
      break;
    case IiifSize::Kind::kHeight:
      h = size.height;
      w = Ratio(rw, h, rh);
      break;
    case IiifSize::Kind::kPercent:
      w = Ratio(rw, size.percent, 100 * kMillion);
      h = Ratio(rh, size.percent, 100 * kMillion);
      break;
    case IiifSize::Kind::kBoth:
      w = size.width;
      h = size.height;
      break;
    case IiifSize::Kind::kFit: {
      uint64_t bw = size.width, bh = size.height;
      if (!size.may_enlarge) {  // as large as allowed, not an error
        bw = std::min(bw, rw);
        bh = std::min(bh, rh);
      }
      const bool by_width = bw * rh <= bh * rw;
      w = by_width ? bw : std::min(bw, Ratio(rw, bh, rh));
      h = by_width ? std::min(bh, Ratio(rh, bw, rw)) : bh;
      break;
    }
  }
  if (!size.may_enlarge && (w > rw || h > rh)) {
    return Invalid("larger than the region; write ^ before the size");
  }
  if (w > UINT32_MAX / 4 || h > UINT32_MAX / 4 || w * h > kIiifPixelsMax) {
    return Invalid("more pixels than one answer may have");
  }
  geometry.width = static_cast<uint32_t>(w);
  geometry.height = static_cast<uint32_t>(h);
  return geometry;
}

std::string CanonicalIiif(const IiifRequest& request,
                          const IiifGeometry& geometry, uint32_t width,
                          uint32_t height) {
  static constexpr std::array<const char*, 4> kQualities = {"default", "color",
                                                            "gray", "bitonal"};
  const PixelRect& s = geometry.source;
  std::string path = "full";
  if (s != PixelRect{0, 0, width, height}) {
    path = std::to_string(s.x) + "," + std::to_string(s.y) + "," +
           std::to_string(s.width) + "," + std::to_string(s.height);
  }
  path += '/';
  if (geometry.width == s.width && geometry.height == s.height) {
    path += "max";
  } else {
    if (geometry.width > s.width || geometry.height > s.height) path += '^';
    path +=
        std::to_string(geometry.width) + "," + std::to_string(geometry.height);
  }
  path += request.mirror ? "/!" : "/";
  path += std::to_string(90 * request.quarters) + "/";
  path += kQualities[static_cast<size_t>(request.quality)];
  return path + "." + ImageExtension(request.format);
}

std::string IiifInfoJson(const IiifInfo& info) {
  std::string json =
      "{\"@context\":\"http://iiif.io/api/image/3/context.json\","
      "\"id\":\"" +
      info.id +
      "\",\"type\":\"ImageService3\","
      "\"protocol\":\"http://iiif.io/api/image\",\"profile\":\"level2\","
      "\"width\":" +
      std::to_string(info.width) + ",\"height\":" + std::to_string(info.height);
  json += ",\"maxArea\":" + std::to_string(kIiifPixelsMax);
  if (info.tile_width != 0) {
    json += ",\"tiles\":[{\"width\":" + std::to_string(info.tile_width) +
            ",\"height\":" + std::to_string(info.tile_height) +
            ",\"scaleFactors\":[" + info.scale_factors + "]}]";
  }
  json +=
      ",\"extraFormats\":[\"webp\",\"tif\",\"bmp\",\"ppm\",\"npy\"],"
      "\"extraQualities\":[\"color\",\"gray\",\"bitonal\"],"
      "\"extraFeatures\":[\"mirroring\",\"regionSquare\",\"sizeUpscaling\"]}\n";
  return json;
}

}  // namespace rowfs::plugin
