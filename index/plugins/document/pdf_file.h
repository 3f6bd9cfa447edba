// PDF files made of stored objects: a page alone, or the whole document. Both
// are literal bytes around ranges of the blob; nothing is decoded.
//
// Pure.
#ifndef ROWFS_INDEX_PLUGINS_DOCUMENT_PDF_FILE_H_
#define ROWFS_INDEX_PLUGINS_DOCUMENT_PDF_FILE_H_

#include <cstdint>
#include <vector>

#include "index/plugins/common/bytes.h"
#include "index/plugins/document/document_index.h"

namespace rowfs::plugin {

// Literal bytes, or, when there are none, the range [begin, end) of the blob.
struct PdfPiece {
  Bytes literal;
  uint64_t begin = 0;
  uint64_t end = 0;

  uint64_t size() const {
    return literal.empty() ? end - begin : literal.size();
  }
};
using PdfPieces = std::vector<PdfPiece>;

uint64_t SizeOf(const PdfPieces& pieces);

// Requires: a stored document; `page` below its count.
PdfPieces PlanPageFile(const DocumentIndex& index, uint32_t page);
PdfPieces PlanWholeFile(const DocumentIndex& index);

}  // namespace rowfs::plugin
#endif  // ROWFS_INDEX_PLUGINS_DOCUMENT_PDF_FILE_H_
