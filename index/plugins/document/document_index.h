// The index of a document: where the objects of each page lie in the stored
// bytes, and how large the pages are.
//
// A stored document is its PDF objects, renumbered and in this order: what
// several pages share, page 1, page 2, ..., the rest (outlines, forms), and,
// when the container was kept, the file as it came. Numbers count up in that
// order, so a page alone, or the whole document, is a header, stored ranges as
// they are, and a cross-reference table (pdf_file.h).
//
// Values without locks.
#ifndef ROWFS_INDEX_PLUGINS_DOCUMENT_DOCUMENT_INDEX_H_
#define ROWFS_INDEX_PLUGINS_DOCUMENT_DOCUMENT_INDEX_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "index/plugins/common/bytes.h"
#include "index/plugins/common/status.h"

namespace rowfs::plugin {

// Numbers 1 and 2 are the catalog and the page tree, written for each file.
inline constexpr uint32_t kFirstObjectNumber = 3;
inline constexpr uint32_t kPagesMax = 200'000;
inline constexpr uint32_t kObjectsMax = 1'000'000;
// Shared objects up to this size travel in the entries: then a page is one
// range.
inline constexpr uint64_t kSharedInlineBytesMax = 64 * 1024;

// What a prefix of stream_info tells.
struct DocumentHead {
  bool stored = false;    // else the blob is the file as it came
  bool original = false;  // the file as it came lies behind the objects
  uint32_t page_count = 0;
  uint64_t blob_size = 0;
  uint64_t original_size = 0;
  uint64_t whole_size = 0;  // of the document made from the objects
  uint64_t info_size = 0;   // of info.json
};

struct DocumentPage {
  // What is shown, turned upright, in points of 1/72 inch.
  double width = 0;
  double height = 0;
  double user_unit = 1;
  // Stored documents only: objects [first, first + count), the first one is the
  // page; and the shared ones it uses, ascending.
  uint32_t first = 0;
  uint32_t count = 0;
  std::vector<uint32_t> shared;
  // The others: the page's object in the file; 0 when it has none of its own.
  uint32_t object = 0;
  uint32_t generation = 0;
};

struct DocumentIndex {
  DocumentHead head;
  std::vector<DocumentPage> pages;
  // ends[i]: where object i ends in the blob; object i begins where i - 1 ends.
  std::vector<uint64_t> ends;
  uint32_t shared_count = 0;
  Bytes shared;              // their bytes, when they are few
  std::string page_catalog;  // dictionaries, references renumbered
  std::string whole_catalog;
  uint32_t info_number = 0;  // of the document information; 0 = none

  uint64_t BeginOf(uint32_t object) const {
    return object == 0 ? 0 : ends[object - 1];
  }
};

// The two cells of `index`: stream_info, entries.
std::pair<Bytes, Bytes> EncodeIndex(const DocumentIndex& index);
// From at least 64 bytes of stream_info. ROWFS_E_CORRUPT.
Result<DocumentHead> ParseDocumentHead(ByteSpan stream_info);
// ROWFS_E_CORRUPT for cells that do not hold together or point past
// `blob_size`.
Result<DocumentIndex> ParseDocumentIndex(ByteSpan stream_info, ByteSpan entries,
                                         uint64_t blob_size);

}  // namespace rowfs::plugin
#endif  // ROWFS_INDEX_PLUGINS_DOCUMENT_DOCUMENT_INDEX_H_
