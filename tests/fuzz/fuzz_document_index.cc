// The index of a document from untrusted bytes: everything that parses is
// planned. The blob has the size that the head tells.
#include <algorithm>
#include <cstdint>

#include "index/plugins/document/document_index.h"
#include "index/plugins/document/pdf_file.h"
#include "index/plugins/document/views.h"

// Two bytes: the size of stream_info; then both parts.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using rowfs::plugin::ByteSpan;
  if (size < 2) return 0;
  const size_t cut = data[0] | size_t{data[1]} << 8;
  const ByteSpan all(data + 2, size - 2);
  const ByteSpan info = all.first(std::min(cut, all.size()));
  const auto head = rowfs::plugin::ParseDocumentHead(info);
  if (!head.ok()) return 0;
  const auto index = rowfs::plugin::ParseDocumentIndex(
      info, all.subspan(info.size()), head.value().blob_size);
  if (!index.ok()) return 0;
  (void)rowfs::plugin::DocumentInfoJson(index.value());
  if (!index.value().head.stored) return 0;
  (void)rowfs::plugin::PlanWholeFile(index.value());
  for (uint32_t i = 0; i < index.value().pages.size() && i < 20; ++i) {
    (void)rowfs::plugin::PlanPageFile(index.value(), i);
  }
  return 0;
}
