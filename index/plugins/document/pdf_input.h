// What qpdf reads from, over the host's reader.
//
// One thread at a time.
#ifndef ROWFS_INDEX_PLUGINS_DOCUMENT_PDF_INPUT_H_
#define ROWFS_INDEX_PLUGINS_DOCUMENT_PDF_INPUT_H_

#include <cstdint>
#include <memory>
#include <string>

#include "index/abi/rowfs_plugin.h"
#include "index/plugins/common/bytes.h"
#include "index/plugins/common/status.h"

class InputSource;
class QPDF;

namespace rowfs::plugin {

// Reads `reader` by a BlockReader. A failed read throws HostReadError.
std::shared_ptr<InputSource> MakePdfInput(const rowfs_reader& reader);

struct HostReadError {};

// Open the document; `password` may be empty. ROWFS_E_UNSUPPORTED when another
// one is needed, ROWFS_E_CORRUPT when it cannot be repaired, ROWFS_E_IO.
Result<std::unique_ptr<QPDF>> OpenPdf(std::shared_ptr<InputSource> input,
                                      const std::string& password);

// Run `body`, which returns a Status or a Result and may call qpdf: its
// exceptions become statuses.
Status PdfError();
template <typename Body>
auto GuardPdf(Body body) -> decltype(body()) {
  try {
    return body();
  } catch (...) {
    return PdfError();
  }
}

}  // namespace rowfs::plugin
#endif  // ROWFS_INDEX_PLUGINS_DOCUMENT_PDF_INPUT_H_
