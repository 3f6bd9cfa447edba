#include "index/plugins/document/render.h"

#include <cstddef>
#include <utility>
#include <vector>

#include "index/plugins/document/pdfium.h"

namespace rowfs::plugin {
namespace {

constexpr uint64_t kPartPixelsMax = 256'000'000;
constexpr int kCharactersMax = 20'000'000;
// Of fpdfview.h.
constexpr int kBitmapBgrx = 3;
constexpr int kDrawAnnotations = 0x01;
constexpr int kReverseByteOrder = 0x10;
constexpr unsigned long kErrorPassword = 4;

void AppendUtf8(uint32_t c, std::string* out) {
  const auto put = [out](uint32_t byte) {
    out->push_back(static_cast<char>(byte));
  };
  if (c < 0x80) {
    put(c);
  } else if (c < 0x800) {
    put(0xC0 | (c >> 6));
    put(0x80 | (c & 0x3F));
  } else if (c < 0x10000) {
    put(0xE0 | (c >> 12));
    put(0x80 | ((c >> 6) & 0x3F));
    put(0x80 | (c & 0x3F));
  } else {
    put(0xF0 | (c >> 18));
    put(0x80 | ((c >> 12) & 0x3F));
    put(0x80 | ((c >> 6) & 0x3F));
    put(0x80 | (c & 0x3F));
  }
}

std::string ToUtf8(const std::vector<unsigned short>& units) {
  std::string text;
  for (size_t i = 0; i < units.size(); ++i) {
    uint32_t c = units[i];
    if (c >= 0xD800 && c < 0xDC00 && i + 1 < units.size() &&
        units[i + 1] >= 0xDC00 && units[i + 1] < 0xE000) {
      c = 0x10000 + ((c - 0xD800) << 10) + (units[++i] - 0xDC00U);
    } else if (c >= 0xD800 && c < 0xE000) {
      c = 0xFFFD;
    }
    // U+FFFE is how the library marks a hyphen that broke a word at the end of
    // a line; the word is one again, as pdftotext gives it.
    if (c == 0 || c == '\r' || c == 0xFFFE || c == 2) continue;
    AppendUtf8(c, &text);
  }
  if (!text.empty() && text.back() != '\n') text.push_back('\n');
  return text;
}

class OpenPage {
 public:
  OpenPage(FPDF_DOCUMENT document, uint32_t number)
      : page_(FPDF_LoadPage(document, static_cast<int>(number))) {}
  OpenPage(const OpenPage&) = delete;
  OpenPage& operator=(const OpenPage&) = delete;
  ~OpenPage() {
    if (page_ != nullptr) FPDF_ClosePage(page_);
  }
  FPDF_PAGE get() const { return page_; }

 private:
  const FPDF_PAGE page_;
};

}  // namespace

struct PdfRenderer::State {
  Bytes pdf;
  FPDF_DOCUMENT document = nullptr;
  FPDF_FORMFILLINFO form_info = {1, {}};
  FPDF_FORMHANDLE form = nullptr;
};

void StartPdfium() {
  static const bool started = [] {
    static const char* no_fonts[] = {nullptr};
    const FPDF_LIBRARY_CONFIG config = {2, no_fonts, nullptr, 0};
    FPDF_InitLibraryWithConfig(&config);
    return true;
  }();
  (void)started;
}

PdfRenderer::PdfRenderer(std::unique_ptr<State> state)
    : state_(std::move(state)) {}

PdfRenderer::~PdfRenderer() {
  if (state_->form != nullptr) FPDFDOC_ExitFormFillEnvironment(state_->form);
  FPDF_CloseDocument(state_->document);
}

Result<std::unique_ptr<PdfRenderer>> PdfRenderer::Open(
    Bytes pdf, const std::string& password) {
  StartPdfium();
  auto state = std::make_unique<State>();
  state->pdf = std::move(pdf);
  state->document = FPDF_LoadMemDocument64(state->pdf.data(), state->pdf.size(),
                                           password.c_str());
  if (state->document == nullptr) {
    if (FPDF_GetLastError() == kErrorPassword) {
      return Unsupported("the document needs a password");
    }
    return Corrupt("PDFium cannot read the document");
  }
  state->form =
      FPDFDOC_InitFormFillEnvironment(state->document, &state->form_info);
  return std::unique_ptr<PdfRenderer>(new PdfRenderer(std::move(state)));
}

Result<Raster> PdfRenderer::Draw(uint32_t page, const PagePart& part) {
  const uint64_t pixels = uint64_t{part.width} * part.height;
  if (pixels == 0 || pixels > kPartPixelsMax) {
    return Limit("the picture would have " + std::to_string(pixels) +
                 " pixels; ask for a smaller size or region");
  }
  const OpenPage open(state_->document, page);
  if (open.get() == nullptr) return Corrupt("the page cannot be read");
  Bytes bgrx(static_cast<size_t>(pixels) * 4, 0xFF);
  const FPDF_BITMAP bitmap = FPDFBitmap_CreateEx(
      static_cast<int>(part.width), static_cast<int>(part.height), kBitmapBgrx,
      bgrx.data(), static_cast<int>(part.width * 4));
  if (bitmap == nullptr) return Limit("out of memory");
  constexpr int kFlags = kDrawAnnotations | kReverseByteOrder;
  const int x = -static_cast<int>(part.x), y = -static_cast<int>(part.y);
  const int width = static_cast<int>(part.page_width);
  const int height = static_cast<int>(part.page_height);
  FPDF_RenderPageBitmap(bitmap, open.get(), x, y, width, height, 0, kFlags);
  // What was filled into forms is no part of the page.
  if (state_->form != nullptr) {
    FORM_OnAfterLoadPage(open.get(), state_->form);
    FPDF_FFLDraw(state_->form, bitmap, open.get(), x, y, width, height, 0,
                 kFlags);
    FORM_OnBeforeClosePage(open.get(), state_->form);
  }
  FPDFBitmap_Destroy(bitmap);
  PLUGIN_ASSIGN_OR_RETURN(
      Raster raster, MakeRaster(part.width, part.height, 3, SampleType::kU8));
  for (size_t i = 0; i < pixels; ++i) {
    for (size_t c = 0; c < 3; ++c) {
      raster.samples[i * 3 + c] = bgrx[i * 4 + c];
    }
  }
  return raster;
}

Result<std::string> PdfRenderer::Text(uint32_t page) {
  const OpenPage open(state_->document, page);
  if (open.get() == nullptr) return Corrupt("the page cannot be read");
  const FPDF_TEXTPAGE text = FPDFText_LoadPage(open.get());
  if (text == nullptr) return Corrupt("the text of the page cannot be read");
  const int count = FPDFText_CountChars(text);
  if (count > kCharactersMax) {
    FPDFText_ClosePage(text);
    return Limit("the page has too much text");
  }
  std::vector<unsigned short> units(count > 0 ? static_cast<size_t>(count) + 1
                                              : 0);
  if (count > 0) FPDFText_GetText(text, 0, count, units.data());
  FPDFText_ClosePage(text);
  return ToUtf8(units);
}

}  // namespace rowfs::plugin
