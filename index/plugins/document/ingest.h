// A PDF file becomes a stored document, or an index over the file as it is.
//
// No state.
#ifndef ROWFS_INDEX_PLUGINS_DOCUMENT_INGEST_H_
#define ROWFS_INDEX_PLUGINS_DOCUMENT_INGEST_H_

#include "index/abi/rowfs_plugin.h"
#include "index/plugins/common/status.h"
#include "index/plugins/document/views.h"

namespace rowfs::plugin {

// The plugin's `ingest`. ROWFS_E_UNSUPPORTED when a password is needed. With
// verify on, one page (all with ROWFS_VERIFY_FULL) is shown from the stored
// bytes and from the file, and the two pictures must be equal.
Status IngestDocument(const rowfs_ingest_request& request,
                      const DocumentConfig& config);

// Index `input` as it lies; the objects that pages need when `sink` is given.
Result<DocumentIndex> IndexDocument(const rowfs_reader& input,
                                    const DocumentConfig& config);

// Page `number` of the document `input`, which the index calls `page`, as a
// file of its own. Reads the cross-reference table and the objects of the page.
Result<Bytes> ExtractPage(const rowfs_reader& input, uint32_t number,
                          const DocumentPage& page,
                          const std::string& password);

}  // namespace rowfs::plugin
#endif  // ROWFS_INDEX_PLUGINS_DOCUMENT_INGEST_H_
