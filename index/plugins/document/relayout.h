// Puts the objects of a PDF in the order in which pages need them.
//
// One thread at a time.
#ifndef ROWFS_INDEX_PLUGINS_DOCUMENT_RELAYOUT_H_
#define ROWFS_INDEX_PLUGINS_DOCUMENT_RELAYOUT_H_

#include <functional>
#include <vector>

#include "index/plugins/common/status.h"
#include "index/plugins/document/document_index.h"

class QPDF;
class QPDFObjectHandle;

namespace rowfs::plugin {

// Sizes of the pages as they are shown: MediaBox cut by CropBox, turned by
// Rotate, times UserUnit (ISO 32000 7.7.3.3, 14.11.2). ROWFS_E_CORRUPT for a
// document without a page, ROWFS_E_LIMIT for too many.
Result<std::vector<DocumentPage>> ReadPages(QPDF& pdf);

// Write all objects of `pdf` to `sink` and fill pages, objects and catalogs of
// `index`. Streams are written as they are compressed in the file, decrypted;
// one stream at a time is in memory. ROWFS_E_LIMIT for a document with too many
// objects or references. May throw what qpdf throws: call it inside GuardPdf.
using ByteSink = std::function<Status(ByteSpan)>;
Status WriteObjects(QPDF& pdf, const ByteSink& sink, DocumentIndex* index);

// The same with what `page` alone needs, as the only page of `index`: reads
// nothing of the others.
Status WritePage(QPDF& pdf, const QPDFObjectHandle& page, const ByteSink& sink,
                 DocumentIndex* index);

}  // namespace rowfs::plugin
#endif  // ROWFS_INDEX_PLUGINS_DOCUMENT_RELAYOUT_H_
