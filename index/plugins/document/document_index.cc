#include "index/plugins/document/document_index.h"

#include <bit>
#include <cmath>

namespace rowfs::plugin {
namespace {

constexpr std::string_view kMagic = "RDI1";
constexpr uint8_t kStored = 1;
constexpr uint8_t kOriginal = 2;
constexpr uint8_t kObjects = 4;  // pages of a file as it came have objects
constexpr uint64_t kCatalogBytesMax = 1 << 20;
constexpr size_t kHeadBytes = 4 + 1 + 4 + 4 * 8;

Status Damaged(const char* what) {
  return Corrupt(std::string("the document index is damaged: ") + what);
}

double ReadDouble(ByteReader* in) { return std::bit_cast<double>(in->U64()); }

bool SaneSize(double v) { return std::isfinite(v) && v > 0 && v < 1e7; }

Status ParsePage(ByteReader* in, bool objects_known, DocumentIndex* index) {
  DocumentPage page;
  page.width = ReadDouble(in);
  page.height = ReadDouble(in);
  page.user_unit = ReadDouble(in);
  if (!SaneSize(page.width) || !SaneSize(page.height) ||
      !SaneSize(page.user_unit)) {
    return Damaged("a page has no size");
  }
  if (index->head.stored) {
    const uint64_t objects = index->ends.size();
    page.first = in->Varint32();
    page.count = in->Varint32();
    if (page.count == 0 || page.first > objects ||
        page.count > objects - page.first) {
      return Damaged("a page has objects that are not there");
    }
    const uint64_t shared = in->Varint(index->shared_count);
    uint64_t next = 0;
    for (uint64_t i = 0; i < shared && in->ok(); ++i) {
      next += in->Varint(index->shared_count);
      if (next >= index->shared_count) return Damaged("a shared object");
      page.shared.push_back(static_cast<uint32_t>(next++));
    }
  }
  if (objects_known) {
    page.object = in->Varint32(INT32_MAX);
    page.generation = in->Varint32(UINT16_MAX);
  }
  if (!in->ok()) return Damaged("it ends early");
  index->pages.push_back(std::move(page));
  return {};
}

Status ParseObjects(ByteReader* in, DocumentIndex* index) {
  const uint64_t count = in->Varint(kObjectsMax);
  if (!in->ok() || count > in->remaining()) return Damaged("too many objects");
  uint64_t end = 0;
  for (uint64_t i = 0; i < count; ++i) {
    if (!AddFits(end, in->Varint(), &end) || end > index->head.blob_size) {
      return Damaged("an object lies past the end of the blob");
    }
    index->ends.push_back(end);
  }
  index->shared_count = in->Varint32();
  if (!in->ok() || index->shared_count > count)
    return Damaged("shared objects");
  const ByteSpan shared = in->Block(kSharedInlineBytesMax);
  index->shared.assign(shared.begin(), shared.end());
  if (!shared.empty() && shared.size() != index->BeginOf(index->shared_count)) {
    return Damaged("the copy of shared objects has another size");
  }
  index->page_catalog = in->Text(kCatalogBytesMax);
  index->whole_catalog = in->Text(kCatalogBytesMax);
  index->info_number = in->Varint32(kObjectsMax + kFirstObjectNumber);
  return in->ok() ? Status() : Damaged("it ends early");
}

}  // namespace

std::pair<Bytes, Bytes> EncodeIndex(const DocumentIndex& index) {
  ByteWriter head;
  head.Text(kMagic);
  head.U8(static_cast<uint8_t>((index.head.stored ? kStored : 0) |
                               (index.head.original ? kOriginal : 0) |
                               (index.head.stored ? 0 : kObjects)));
  head.U32(index.head.page_count);
  head.U64(index.head.blob_size);
  head.U64(index.head.original_size);
  head.U64(index.head.whole_size);
  head.U64(index.head.info_size);
  ByteWriter out;
  if (index.head.stored) {
    out.Varint(index.ends.size());
    for (uint32_t i = 0; i < index.ends.size(); ++i) {
      out.Varint(index.ends[i] - index.BeginOf(i));
    }
    out.Varint(index.shared_count);
    out.Block(index.shared);
    out.Block(AsBytes(index.page_catalog));
    out.Block(AsBytes(index.whole_catalog));
    out.Varint(index.info_number);
  }
  for (const DocumentPage& page : index.pages) {
    for (const double v : {page.width, page.height, page.user_unit}) {
      out.U64(std::bit_cast<uint64_t>(v));
    }
    if (!index.head.stored) {
      out.Varint(page.object);
      out.Varint(page.generation);
      continue;
    }
    out.Varint(page.first);
    out.Varint(page.count);
    out.Varint(page.shared.size());
    uint32_t next = 0;
    for (const uint32_t object : page.shared) {
      out.Varint(object - next);
      next = object + 1;
    }
  }
  return {std::move(head.bytes()), std::move(out.bytes())};
}

Result<DocumentHead> ParseDocumentHead(ByteSpan stream_info) {
  ByteReader in(stream_info);
  if (AsText(in.Take(kMagic.size())) != kMagic) return Damaged("no magic");
  DocumentHead head;
  const uint8_t flags = in.U8();
  head.stored = (flags & kStored) != 0;
  head.original = (flags & kOriginal) != 0;
  head.page_count = in.U32();
  head.blob_size = in.U64();
  head.original_size = in.U64();
  head.whole_size = in.U64();
  head.info_size = in.U64();
  if (!in.ok() || flags > (kStored | kOriginal | kObjects) ||
      head.page_count == 0 || head.page_count > kPagesMax ||
      head.original_size > head.blob_size || (head.original && !head.stored) ||
      (head.stored && (flags & kObjects) != 0)) {
    return Damaged("its head");
  }
  return head;
}

Result<DocumentIndex> ParseDocumentIndex(ByteSpan stream_info, ByteSpan entries,
                                         uint64_t blob_size) {
  DocumentIndex index;
  PLUGIN_ASSIGN_OR_RETURN(index.head, ParseDocumentHead(stream_info));
  if (stream_info.size() != kHeadBytes) return Damaged("its head");
  if (index.head.blob_size != blob_size) {
    return Corrupt("the blob does not have the size its index says");
  }
  ByteReader in(entries);
  if (index.head.stored) {
    PLUGIN_RETURN_IF_ERROR(ParseObjects(&in, &index));
    const uint64_t objects = index.ends.empty() ? 0 : index.ends.back();
    if (blob_size - index.head.original_size != objects) {
      return Damaged("its objects do not fill the blob");
    }
  }
  if (index.head.page_count > in.remaining()) return Damaged("it ends early");
  // Indexes of earlier releases do not have them.
  const bool objects_known = (stream_info[kMagic.size()] & kObjects) != 0;
  for (uint32_t i = 0; i < index.head.page_count; ++i) {
    PLUGIN_RETURN_IF_ERROR(ParsePage(&in, objects_known, &index));
  }
  if (in.remaining() != 0) return Damaged("bytes behind its end");
  return index;
}

}  // namespace rowfs::plugin
