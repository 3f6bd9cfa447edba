// Pages as pictures and text, by PDFium.
//
// One thread at a time.
#ifndef ROWFS_INDEX_PLUGINS_DOCUMENT_RENDER_H_
#define ROWFS_INDEX_PLUGINS_DOCUMENT_RENDER_H_

#include <cstdint>
#include <memory>
#include <string>

#include "index/plugins/common/bytes.h"
#include "index/plugins/common/picture.h"
#include "index/plugins/common/status.h"

namespace rowfs::plugin {

// Start the library, before the cage closes. Fonts of the machine are left out:
// a page looks the same everywhere, and none can be opened in the cage. The 14
// standard fonts are built into the library.
void StartPdfium();

// A part of a page: the page is `page_width` x `page_height` pixels as a whole,
// the part begins at (x, y).
struct PagePart {
  uint32_t page_width = 0;
  uint32_t page_height = 0;
  uint32_t x = 0;
  uint32_t y = 0;
  uint32_t width = 0;
  uint32_t height = 0;
};

class PdfRenderer {
 public:
  ~PdfRenderer();

  // ROWFS_E_UNSUPPORTED when another password is needed, ROWFS_E_CORRUPT.
  static Result<std::unique_ptr<PdfRenderer>> Open(Bytes pdf,
                                                   const std::string& password);

  // 8 bits, RGB, on white paper. ROWFS_E_CORRUPT for a page that does not load,
  // ROWFS_E_LIMIT for a part of more than 256 megapixels.
  Result<Raster> Draw(uint32_t page, const PagePart& part);
  // UTF-8, lines end in a newline; empty for a page without text.
  Result<std::string> Text(uint32_t page);

 private:
  struct State;
  explicit PdfRenderer(std::unique_ptr<State> state);

  const std::unique_ptr<State> state_;
};

}  // namespace rowfs::plugin
#endif  // ROWFS_INDEX_PLUGINS_DOCUMENT_RENDER_H_
