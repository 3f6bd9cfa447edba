#include "index/plugins/document/views.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <utility>

#include "index/plugins/common/config.h"
#include "index/plugins/document/pdf_file.h"

namespace rowfs::plugin {
namespace {

constexpr std::string_view kPages = ".pages";
constexpr std::string_view kInfo = ".info.json";
constexpr std::string_view kWhole = ".pdf";
constexpr std::string_view kOriginal = ".original.pdf";
constexpr std::string_view kImageInfo = "info.json";
constexpr size_t kDigits = 4;
constexpr const char* kPdfType = "application/pdf";
constexpr const char* kJsonType = "application/json";
// Listed for each page, in this order.
constexpr const char* kListed[] = {"png", "txt", "pdf"};

using Kind = DocumentItem::Kind;

Entry Directory(std::string_view name, uint32_t flags) {
  Entry e;
  e.name = name;
  e.directory = true;
  e.flags = flags;
  return e;
}

Entry File(std::string name, uint64_t size, std::string media_type,
           uint32_t flags) {
  Entry e;
  e.name = std::move(name);
  e.size = std::max<uint64_t>(size, 1);
  e.media_type = std::move(media_type);
  e.flags = flags;
  return e;
}

Status NoSuch(std::string_view path) {
  return NotFound("no view \"" + std::string(path.substr(0, 100)) + "\"");
}

// As few digits as tell the number in thousandths of a point.
std::string Points(double v) {
  char text[64];
  const auto end =
      std::to_chars(text, text + sizeof(text), std::round(v * 1000) / 1000);
  return std::string(text, end.ptr);
}

DocumentItem Of(Kind kind, uint32_t page = 0) {
  DocumentItem item;
  item.kind = kind;
  item.page = page;
  return item;
}

}  // namespace

Result<DocumentConfig> ParseDocumentConfig(std::string_view text) {
  DocumentConfig config;
  PLUGIN_ASSIGN_OR_RETURN(const auto pairs, ParseConfig(text));
  for (const auto& [key, value] : pairs) {
    if (key == "dpi") {
      PLUGIN_ASSIGN_OR_RETURN(const int64_t dpi,
                              ParseNumber(key, value, 1, 4800));
      config.dpi = static_cast<uint32_t>(dpi);
    } else if (key == "quality") {
      PLUGIN_ASSIGN_OR_RETURN(const int64_t q, ParseNumber(key, value, 1, 100));
      config.options.quality = static_cast<int>(q);
    } else if (key == "password") {
      config.password = value;
    } else if (key != "segment" && key != "frames" && key != "ppm") {
      return Invalid("unknown configuration key \"" + key +
                     "\"; document knows dpi, password, quality");
    }
  }
  return config;
}

PixelSize PagePixels(const DocumentPage& page, uint32_t dpi) {
  // Rounded up, as pdftoppm does, but not for an error of the last digit.
  const auto pixels = [](double points, double scale) {
    return std::max(1.0, std::ceil(points * scale - 1e-6));
  };
  double scale = dpi / 72.0;
  const double area = pixels(page.width, scale) * pixels(page.height, scale);
  constexpr double kMax = static_cast<double>(kPagePixelsMax);
  if (area > kMax) scale *= std::sqrt(kMax / area);
  constexpr double kSideMax = 60'000;
  return {
      static_cast<uint32_t>(std::min(kSideMax, pixels(page.width, scale))),
      static_cast<uint32_t>(std::min(kSideMax, pixels(page.height, scale)))};
}

std::string DocumentInfoJson(const DocumentIndex& index) {
  std::string json = "{\"format\": \"pdf\", \"page_count\": " +
                     std::to_string(index.pages.size()) + ", \"pages\": [";
  for (size_t i = 0; i < index.pages.size(); ++i) {
    json += i == 0 ? "" : ", ";
    json += "{\"width\": " + Points(index.pages[i].width) +
            ", \"height\": " + Points(index.pages[i].height) + "}";
  }
  return json + "], \"unit\": \"point\"}\n";
}

std::vector<Entry> DocumentViews::ListTop(const DocumentHead& head) {
  std::vector<Entry> entries;
  if (head.stored) {
    entries.push_back(File(std::string(kWhole), head.whole_size, kPdfType,
                           ROWFS_ENTRY_SIZE_EXACT | ROWFS_ENTRY_WHOLE));
  }
  entries.push_back(Directory(kPages, 0));
  entries.push_back(File(std::string(kInfo), head.info_size, kJsonType,
                         ROWFS_ENTRY_SIZE_EXACT));
  if (head.original) {
    entries.push_back(File(std::string(kOriginal), head.original_size, kPdfType,
                           ROWFS_ENTRY_SIZE_EXACT));
  }
  return entries;
}

std::string DocumentViews::PageName(uint32_t page) const {
  const size_t digits =
      std::max(kDigits, std::to_string(index_.pages.size()).size());
  return Padded(uint64_t{page} + 1, digits);
}

Status DocumentViews::List(std::string_view directory, uint64_t start,
                           uint64_t limit, const rowfs_entry_sink& out) const {
  if (directory.empty()) {
    const auto top = ListTop(index_.head);
    for (uint64_t i = start; i < top.size() && i - start < limit; ++i) {
      PLUGIN_RETURN_IF_ERROR(Emit(top[i], out));
    }
    return {};
  }
  if (directory != kPages) {
    PLUGIN_ASSIGN_OR_RETURN(const DocumentItem item, Resolve(directory));
    return item.kind == Kind::kDirectory ? Status() : NoSuch(directory);
  }
  constexpr uint64_t kPer = std::size(kListed);
  const uint64_t count = index_.pages.size() * kPer;
  for (uint64_t i = start; i < count && i - start < limit; ++i) {
    const auto page = static_cast<uint32_t>(i / kPer);
    const std::string_view extension = kListed[i % kPer];
    PLUGIN_ASSIGN_OR_RETURN(const DocumentItem item,
                            ResolvePageFile(page, extension));
    PLUGIN_ASSIGN_OR_RETURN(
        const Entry entry,
        EntryOf(item, PageName(page) + "." + std::string(extension)));
    PLUGIN_RETURN_IF_ERROR(Emit(entry, out));
  }
  return {};
}

Result<DocumentItem> DocumentViews::ResolvePageFile(
    uint32_t page, std::string_view extension) const {
  if (extension == "txt") return Of(Kind::kText, page);
  if (extension == "pdf") return Of(Kind::kPagePdf, page);
  const auto format = ImageFormatOf(extension);
  if (!format) return NoSuch(extension);
  DocumentItem item = Of(Kind::kPicture, page);
  item.request.format = *format;
  return item;
}

Result<DocumentItem> DocumentViews::ResolveBelowPage(
    uint32_t page, std::string_view path) const {
  if (path == kImageInfo) return Of(Kind::kImageInfo, page);
  if (std::count(path.begin(), path.end(), '/') < 3) {
    PLUGIN_RETURN_IF_ERROR(CheckIiifFolder(path));
    DocumentItem item = Of(Kind::kDirectory, page);
    item.lookup_only = true;
    return item;
  }
  DocumentItem item = Of(Kind::kPicture, page);
  PLUGIN_ASSIGN_OR_RETURN(item.request, ParseIiif(path));
  return item;
}

Result<DocumentItem> DocumentViews::ResolvePage(std::string_view name) const {
  const size_t digits = name.find_first_not_of("0123456789");
  const std::string_view number = name.substr(0, digits);
  uint64_t page = 0;
  const auto parsed =
      std::from_chars(number.data(), number.data() + number.size(), page);
  if (number.empty() || number.size() > 12 || parsed.ec != std::errc() ||
      page == 0 || page > index_.pages.size() ||
      number != PageName(static_cast<uint32_t>(page - 1))) {
    return NoSuch(name);
  }
  const auto index = static_cast<uint32_t>(page - 1);
  const std::string_view rest = name.substr(number.size());
  if (rest.empty()) {
    DocumentItem item = Of(Kind::kDirectory, index);
    item.lookup_only = true;
    return item;
  }
  if (rest[0] == '.') return ResolvePageFile(index, rest.substr(1));
  return rest[0] == '/' ? ResolveBelowPage(index, rest.substr(1))
                        : Result<DocumentItem>(NoSuch(name));
}

Result<DocumentItem> DocumentViews::Resolve(std::string_view path) const {
  if (path == kPages) return Of(Kind::kDirectory);
  if (path == kInfo) return Of(Kind::kInfo);
  if (path == kWhole && index_.head.stored) return Of(Kind::kWhole);
  if (path == kOriginal && index_.head.original) return Of(Kind::kOriginal);
  if (path.starts_with(kPages) && path.size() > kPages.size() &&
      path[kPages.size()] == '/') {
    return ResolvePage(path.substr(kPages.size() + 1));
  }
  return NoSuch(path);
}

Result<Entry> DocumentViews::PictureEntry(const DocumentItem& item,
                                          std::string name) const {
  const PixelSize page = PagePixels(index_.pages[item.page], config_.dpi);
  PLUGIN_ASSIGN_OR_RETURN(const IiifGeometry geometry,
                          ResolveIiif(item.request, page.width, page.height));
  ImageShape shape = {geometry.width, geometry.height, false, false};
  if (item.request.quarters % 2 != 0) std::swap(shape.width, shape.height);
  shape = ShapeFor(item.request.format, shape, config_.options);
  const auto exact =
      ExactImageSize(item.request.format, shape, config_.options);
  Entry entry = File(
      std::move(name),
      exact ? *exact : GuessImageSize(item.request.format, shape),
      ImageMediaType(item.request.format), exact ? ROWFS_ENTRY_SIZE_EXACT : 0);
  const std::string iiif =
      CanonicalIiif(item.request, geometry, page.width, page.height);
  // The page as a whole is the listed file, whatever way it was asked for.
  const std::string plain =
      std::string("full/max/0/default.") + ImageExtension(item.request.format);
  const std::string base = std::string(kPages) + "/" + PageName(item.page);
  entry.canonical_path = iiif == plain
                             ? base + "." + ImageExtension(item.request.format)
                             : base + "/" + iiif;
  return entry;
}

Result<Entry> DocumentViews::EntryOf(const DocumentItem& item,
                                     std::string name) const {
  switch (item.kind) {
    case Kind::kDirectory:
      return Directory(name, item.lookup_only ? ROWFS_ENTRY_LOOKUP_ONLY : 0);
    case Kind::kWhole:
    case Kind::kInfo:
    case Kind::kOriginal:
      for (Entry& entry : ListTop(index_.head)) {
        if (entry.name == name) return entry;
      }
      return Internal("a view is missing");
    case Kind::kImageInfo:
      return File(std::move(name), ImageInfo(item.page).size(), kJsonType,
                  ROWFS_ENTRY_SIZE_EXACT);
    case Kind::kPicture:
      return PictureEntry(item, std::move(name));
    case Kind::kText:
      return File(std::move(name), 4096, "text/plain; charset=utf-8", 0);
    case Kind::kPagePdf:
      break;
  }
  if (!index_.head.stored) {
    return File(std::move(name), index_.head.blob_size, kPdfType, 0);
  }
  return File(std::move(name), SizeOf(PlanPageFile(index_, item.page)),
              kPdfType, ROWFS_ENTRY_SIZE_EXACT);
}

Result<Entry> DocumentViews::Lookup(std::string_view path) const {
  PLUGIN_ASSIGN_OR_RETURN(const DocumentItem item, Resolve(path));
  const size_t slash = path.rfind('/');
  return EntryOf(
      item, std::string(slash == path.npos ? path : path.substr(slash + 1)));
}

std::string DocumentViews::ImageInfo(uint32_t page) const {
  const PixelSize size = PagePixels(index_.pages[page], config_.dpi);
  IiifInfo info;
  info.id = PageName(page);
  info.width = size.width;
  info.height = size.height;
  return IiifInfoJson(info);
}

Result<Bytes> DocumentViews::DrawPicture(const DocumentItem& item,
                                         uint32_t page,
                                         PdfRenderer& renderer) const {
  const PixelSize whole = PagePixels(index_.pages[item.page], config_.dpi);
  PLUGIN_ASSIGN_OR_RETURN(const IiifGeometry geometry,
                          ResolveIiif(item.request, whole.width, whole.height));
  const double sx = static_cast<double>(geometry.width) / geometry.source.width;
  const double sy =
      static_cast<double>(geometry.height) / geometry.source.height;
  if (whole.width * sx > 1e6 || whole.height * sy > 1e6) {
    return Limit("the page would be more than a million pixels wide or high");
  }
  const auto pixels = [](double v) {
    return static_cast<uint32_t>(std::lround(v));
  };
  const PagePart part = {std::max(1u, pixels(whole.width * sx)),
                         std::max(1u, pixels(whole.height * sy)),
                         pixels(geometry.source.x * sx),
                         pixels(geometry.source.y * sy),
                         geometry.width,
                         geometry.height};
  PLUGIN_ASSIGN_OR_RETURN(Raster raster, renderer.Draw(page, part));
  raster = Upright(std::move(raster),
                   OrientationOf(item.request.mirror, item.request.quarters));
  return EncodeRaster(raster, item.request.format, config_.options,
                      item.request.quality);
}

}  // namespace rowfs::plugin
