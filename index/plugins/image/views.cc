#include "index/plugins/image/views.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string>
#include <utility>

#include "index/plugins/common/config.h"
#include "index/plugins/common/exact_time.h"
#include "index/plugins/image/plan.h"

namespace rowfs::plugin {
namespace {

using Kind = ImageItem::Kind;

constexpr std::string_view kPages = ".pages";
constexpr std::string_view kFrames = ".frames";
constexpr std::string_view kTiles = ".tiles";
constexpr std::string_view kInfo = ".info.json";
constexpr std::string_view kPageInfo = "info.json";
constexpr std::string_view kOriginal = ".original.";

Entry Directory(std::string_view name, uint32_t flags = 0) {
  Entry e;
  e.name = name;
  e.directory = true;
  e.flags = flags;
  return e;
}

Entry File(std::string name, uint64_t size, std::string_view type,
           uint32_t flags = ROWFS_ENTRY_SIZE_EXACT) {
  Entry e;
  e.name = std::move(name);
  e.size = size;
  e.media_type = type;
  e.flags = flags;
  return e;
}

std::string_view MediaTypeOf(std::string_view extension) {
  static constexpr std::pair<std::string_view, std::string_view> kTypes[] = {
      {"tif", "image/tiff"},       {"jpg", "image/jpeg"},
      {"png", "image/png"},        {"gif", "image/gif"},
      {"webp", "image/webp"},      {"avif", "image/avif"},
      {"heic", "image/heic"},      {"jp2", "image/jp2"},
      {"j2k", "image/j2c"},        {"bmp", "image/bmp"},
      {"dcm", "application/dicom"}};
  for (const auto& [known, type] : kTypes) {
    if (extension == known) return type;
  }
  return "application/octet-stream";
}

Status NoSuch(std::string_view path) {
  return NotFound("no view \"" + std::string(path.substr(0, 100)) + "\"");
}

// All of `text` as a number below `limit`.
std::optional<uint32_t> Number(std::string_view text, uint64_t limit) {
  uint64_t value = 0;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc() ||
      end != text.data() + text.size() || value >= limit) {
    return std::nullopt;
  }
  return static_cast<uint32_t>(value);
}

std::pair<std::string_view, std::string_view> SplitAt(std::string_view text,
                                                      size_t at) {
  if (at == std::string_view::npos) return {text, {}};
  return {text.substr(0, at), text.substr(at + 1)};
}

size_t Digits(uint64_t count, size_t least) {
  return std::max(least, std::to_string(count).size());
}

}  // namespace

Result<ImageConfig> ParseImageConfig(std::string_view text) {
  ImageConfig config;
  PLUGIN_ASSIGN_OR_RETURN(const auto pairs, ParseConfig(text));
  for (const auto& [key, value] : pairs) {
    if (key == "frames" || key == "pages") {
      const auto format = ImageFormatOf(value);
      if (!format) {
        return Invalid(key + "=" + value +
                       " is not one of jpg, png, webp, bmp, ppm, npy, tif");
      }
      (key == "frames" ? config.frames : config.pages) = *format;
    } else if (key == "quality") {
      PLUGIN_ASSIGN_OR_RETURN(const int64_t q, ParseNumber(key, value, 1, 100));
      config.options.quality = static_cast<int>(q);
    } else if (key == "ppm") {
      if (value != "8" && value != "16") {
        return Invalid("ppm=" + value + " is not 8 or 16 (bits a sample)");
      }
      config.options.ppm_16bit = value == "16";
    } else if (key != "segment" && key != "dpi") {
      return Invalid("unknown configuration key \"" + key +
                     "\"; image knows frames, pages, quality, ppm");
    }
  }
  return config;
}

std::vector<Entry> ImageViews::ListTop(const ImageHead& head) {
  std::vector<Entry> entries;
  if (head.layout == StoredLayout::kStored) {
    entries.push_back(File("." + head.extension, head.whole_size,
                           MediaTypeOf(head.extension),
                           ROWFS_ENTRY_SIZE_EXACT | ROWFS_ENTRY_WHOLE));
  }
  entries.push_back(Directory(kPages));
  // A single picture in a format of animations is none.
  if (head.frame_count > 1) entries.push_back(Directory(kFrames));
  if (head.tiled) entries.push_back(Directory(kTiles));
  entries.push_back(
      File(std::string(kInfo), head.info_size, "application/json"));
  if (head.original_size > 0) {
    entries.push_back(File(std::string(kOriginal) + head.original_extension,
                           head.original_size,
                           MediaTypeOf(head.original_extension)));
  }
  return entries;
}

uint64_t ImageViews::frame_count() const {
  return index_.head.frame_count > 1 ? index_.head.frame_count : 0;
}

std::vector<uint32_t> ImageViews::Levels() const {
  std::vector<uint32_t> levels = {index_.pages[0].raster};
  for (const uint32_t r : index_.pages[0].reduced) levels.push_back(r);
  return levels;
}

std::string ImageViews::PageName(uint32_t page) const {
  return Padded(uint64_t{page} + 1, Digits(index_.pages.size(), 4));
}

Result<ImageItem> ImageViews::ResolvePage(std::string_view rest) const {
  ImageItem item;
  const auto [name, request] = SplitAt(rest, rest.find('/'));
  const size_t point = name.rfind('.');
  const auto page =
      Number(name.substr(0, point), uint64_t{index_.pages.size()} + 1);
  if (!page || *page == 0) return NoSuch(rest);
  item.number = *page - 1;
  const Page& p = index_.pages[item.number];
  const uint32_t width = index_.UprightWidth(p);
  const uint32_t height = index_.UprightHeight(p);
  if (point != std::string_view::npos) {
    const auto format = ImageFormatOf(name.substr(point + 1));
    if (!format || name.size() != rest.size()) return NoSuch(rest);
    item.kind = Kind::kPicture;
    item.request.format = *format;
    item.geometry = {{0, 0, width, height}, width, height};
    return item;
  }
  if (name.size() == rest.size()) return item;
  if (request == kPageInfo) {
    item.kind = Kind::kPageInfo;
    return item;
  }
  if (std::count(request.begin(), request.end(), '/') < 3) {
    PLUGIN_RETURN_IF_ERROR(CheckIiifFolder(request));
    return item;
  }
  item.kind = Kind::kPicture;
  PLUGIN_ASSIGN_OR_RETURN(item.request, ParseIiif(request));
  PLUGIN_ASSIGN_OR_RETURN(item.geometry,
                          ResolveIiif(item.request, width, height));
  return item;
}

Result<ImageItem> ImageViews::ResolveFrame(std::string_view name) const {
  const auto [number, extension] = SplitAt(name, name.rfind('.'));
  const auto frame = Number(number, frame_count());
  const auto format = ImageFormatOf(extension);
  if (!frame || !format) return NoSuch(name);
  ImageItem item;
  item.number = *frame;
  item.request.format = *format;
  if (index_.animation.kind != AnimationKind::kNone) {
    item.kind = Kind::kFrame;
    return item;
  }
  const Page& page = index_.pages[*frame];
  item.kind = Kind::kPicture;
  const uint32_t width = index_.UprightWidth(page);
  const uint32_t height = index_.UprightHeight(page);
  item.geometry = {{0, 0, width, height}, width, height};
  return item;
}

Result<ImageItem> ImageViews::ResolveTile(std::string_view rest) const {
  const auto [level_text, name] = SplitAt(rest, rest.find('/'));
  const std::vector<uint32_t> levels = Levels();
  const auto level = Number(level_text, levels.size());
  if (!level) return NoSuch(rest);
  ImageItem item;
  if (level_text.size() == rest.size()) return item;
  const StoredRaster& raster = index_.rasters[levels[*level]];
  const auto [place, extension] = SplitAt(name, name.rfind('.'));
  const auto [x_text, y_text] = SplitAt(place, place.find('_'));
  const auto x = Number(x_text, raster.cells_across());
  const auto y = Number(y_text, raster.cells_down());
  const auto format = ImageFormatOf(extension);
  item.stored_tile =
      !raster.tile_extension.empty() && extension == raster.tile_extension;
  if (!x || !y || (!format && !item.stored_tile)) return NoSuch(rest);
  item.kind = Kind::kTile;
  item.number = levels[*level];
  item.x = *x;
  item.y = *y;
  // What was never written has no bytes to hand out.
  const BlobPiece& piece =
      raster.pieces[size_t{*y} * raster.cells_across() + *x];
  if (item.stored_tile && piece.size <= 2) {
    if (!format) return NoSuch(rest);
    item.stored_tile = false;
  }
  if (format) item.request.format = *format;
  return item;
}

Result<ImageItem> ImageViews::Resolve(std::string_view path) const {
  ImageItem item;
  const auto [top, rest] = SplitAt(path, path.find('/'));
  const bool folder = top.size() == path.size();
  const ImageHead& head = index_.head;
  if (top == kPages) return folder ? Result(item) : ResolvePage(rest);
  if (top == kFrames && frame_count() > 0) {
    return folder ? Result(item) : ResolveFrame(rest);
  }
  if (top == kTiles && head.tiled) {
    return folder ? Result(item) : ResolveTile(rest);
  }
  if (!folder) return NoSuch(path);
  if (path == kInfo) {
    item.kind = Kind::kInfo;
    return item;
  }
  if (head.layout == StoredLayout::kStored && path == "." + head.extension) {
    item.kind = Kind::kWhole;
    return item;
  }
  if (head.original_size > 0 &&
      path == std::string(kOriginal) + head.original_extension) {
    item.kind = Kind::kOriginal;
    return item;
  }
  return NoSuch(path);
}

Entry ImageViews::EntryOf(const ImageItem& item, std::string name) const {
  switch (item.kind) {
    case Kind::kDirectory:
      return Directory(name, ROWFS_ENTRY_LOOKUP_ONLY);
    case Kind::kInfo:
    case Kind::kWhole:
    case Kind::kOriginal:
      for (Entry& e : ListTop(index_.head)) {
        if (e.name == name) return e;
      }
      return {};
    case Kind::kPageInfo:
      return File(std::move(name), PageInfoJson(index_, item.number).size(),
                  "application/json");
    case Kind::kPicture:
    case Kind::kFrame:
    case Kind::kTile:
      break;
  }
  if (item.kind == Kind::kTile && item.stored_tile) {
    const StoredRaster& r = index_.rasters[item.number];
    const BlobPiece& piece =
        r.pieces[size_t{item.y} * r.cells_across() + item.x];
    const uint64_t skip = r.tile_head.empty() ? 0 : 2;
    return File(std::move(name), r.tile_head.size() + piece.size - skip,
                MediaTypeOf(r.tile_extension));
  }
  const ImageFormat format = item.request.format;
  const PictureSize size = SizeOf(index_, item, config_.options);
  Entry e =
      File(std::move(name), std::max<uint64_t>(1, size.bytes),
           ImageMediaType(format), size.exact ? ROWFS_ENTRY_SIZE_EXACT : 0);
  std::string ranges;
  for (const rowfs_range& r : RangesOf(index_, item)) {
    if (ranges.size() > 1000) break;  // scattered tiles: the first do
    if (!ranges.empty()) ranges += ' ';
    ranges += std::to_string(r.begin) + "-" + std::to_string(r.end);
  }
  e.attributes = {{"range", ranges}};
  if (item.kind == Kind::kFrame) {
    uint64_t ms = 0;
    for (uint32_t i = 0; i < item.number; ++i) {
      ms += index_.animation.frames[i].delay_ms;
    }
    e.attributes.emplace_back(
        "pts",
        ExactTime::FromTicks(static_cast<int64_t>(ms), {1, 1000}).ToDecimal());
    e.attributes.emplace_back(
        "key", index_.animation.frames[item.number].key ? "1" : "0");
  }
  return e;
}

// The one path of all that show the same pixels.
std::string ImageViews::Canonical(const ImageItem& item) const {
  if (item.kind == Kind::kFrame) {
    return std::string(kFrames) + "/" +
           Padded(item.number, Digits(frame_count(), 6)) + "." +
           ImageExtension(item.request.format);
  }
  if (item.kind != Kind::kPicture) return {};
  const Page& page = index_.pages[item.number];
  const std::string iiif =
      CanonicalIiif(item.request, item.geometry, index_.UprightWidth(page),
                    index_.UprightHeight(page));
  const std::string plain = "full/max/0/default";
  const std::string base = std::string(kPages) + "/" + PageName(item.number);
  if (iiif.starts_with(plain + ".")) return base + iiif.substr(plain.size());
  return base + "/" + iiif;
}

Result<Entry> ImageViews::Lookup(std::string_view path) const {
  PLUGIN_ASSIGN_OR_RETURN(const ImageItem item, Resolve(path));
  Entry e = EntryOf(item, std::string(path.substr(path.rfind('/') + 1)));
  // Folders that List fills.
  const bool listed = path == kPages || path == kFrames || path == kTiles ||
                      path.starts_with(kTiles);
  if (e.directory && listed) e.flags = 0;
  e.canonical_path = Canonical(item);
  if (e.canonical_path == path) e.canonical_path.clear();
  return e;
}

Entry ImageViews::PageEntry(uint32_t page) const {
  ImageItem item;
  item.kind = Kind::kPicture;
  item.number = page;
  item.request.format = config_.pages;
  const Page& p = index_.pages[page];
  const uint32_t width = index_.UprightWidth(p);
  const uint32_t height = index_.UprightHeight(p);
  item.geometry = {{0, 0, width, height}, width, height};
  return EntryOf(item, PageName(page) + "." + ImageExtension(config_.pages));
}

Entry ImageViews::FrameEntry(uint32_t frame, ImageFormat format) const {
  const std::string name =
      Padded(frame, Digits(frame_count(), 6)) + "." + ImageExtension(format);
  auto item = ResolveFrame(name);
  Entry e = EntryOf(item.value(), name);
  if (item.value().kind != Kind::kFrame) {
    e.canonical_path = Canonical(item.value());
  }
  return e;
}

Entry ImageViews::TileEntry(uint32_t raster, uint32_t x, uint32_t y) const {
  const StoredRaster& r = index_.rasters[raster];
  ImageItem item;
  item.kind = Kind::kTile;
  item.number = raster;
  item.x = x;
  item.y = y;
  const BlobPiece& piece = r.pieces[size_t{y} * r.cells_across() + x];
  item.stored_tile = !r.tile_extension.empty() && piece.size > 2;
  const std::string extension =
      item.stored_tile ? r.tile_extension : std::string("png");
  return EntryOf(item,
                 std::to_string(x) + "_" + std::to_string(y) + "." + extension);
}

Status ImageViews::List(std::string_view directory, uint64_t start,
                        uint64_t limit, const rowfs_entry_sink& out) const {
  std::vector<Entry> few;
  uint64_t count = 0;
  enum { kFew, kPageFiles, kFrameFiles, kTileFiles } what = kFew;
  uint32_t raster = 0;
  if (directory.empty()) {
    few = ListTop(index_.head);
    count = few.size();
  } else if (directory == kPages) {
    what = kPageFiles;
    count = index_.pages.size();
  } else if (directory == kFrames && frame_count() > 0) {
    what = kFrameFiles;
    count = frame_count();
  } else if (directory == kTiles && index_.head.tiled) {
    for (size_t i = 0; i < Levels().size(); ++i) {
      few.push_back(Directory(std::to_string(i)));
    }
    count = few.size();
  } else {
    PLUGIN_ASSIGN_OR_RETURN(const ImageItem item, Resolve(directory));
    if (item.kind != Kind::kDirectory) return NoSuch(directory);
    if (!directory.starts_with(kTiles)) return {};  // lookup only
    const auto level = Number(directory.substr(kTiles.size() + 1), 1000);
    raster = Levels().at(level.value_or(0));
    what = kTileFiles;
    count = index_.rasters[raster].cell_count();
  }
  for (uint64_t i = start; i < count && i - start < limit; ++i) {
    const auto number = static_cast<uint32_t>(i);
    const uint32_t across =
        what == kTileFiles ? index_.rasters[raster].cells_across() : 1;
    PLUGIN_RETURN_IF_ERROR(
        Emit(what == kFew         ? few[i]
             : what == kPageFiles ? PageEntry(number)
             : what == kFrameFiles
                 ? FrameEntry(number, config_.frames)
                 : TileEntry(raster, number % across, number / across),
             out));
  }
  return {};
}

Status ImageViews::Select(std::string_view view, std::string_view from,
                          std::string_view to,
                          const rowfs_entry_sink& out) const {
  if (view != kFrames || index_.animation.kind == AnimationKind::kNone) {
    return NotFound("only the .frames of animations have windows");
  }
  const auto begin = ExactTime::Parse(from);
  const auto end = ExactTime::Parse(to);
  if (!begin || !end || *end <= *begin) {
    return Invalid("the window " + std::string(from) + " to " +
                   std::string(to) + " is none");
  }
  int64_t at = 0;
  bool any = false;
  for (uint32_t i = 0; i < frame_count(); ++i) {
    const auto shown = ExactTime::FromTicks(at, {1, 1000});
    at += index_.animation.frames[i].delay_ms;
    const auto gone = ExactTime::FromTicks(at, {1, 1000});
    if (gone <= *begin || shown >= *end) continue;
    any = true;
    PLUGIN_RETURN_IF_ERROR(Emit(FrameEntry(i, config_.frames), out));
  }
  return any ? Status() : NotFound("no frame is shown in that window");
}

}  // namespace rowfs::plugin
