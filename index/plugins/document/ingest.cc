#include "index/plugins/document/ingest.h"

#include <algorithm>
#include <qpdf/InputSource.hh>
#include <qpdf/QPDF.hh>
#include <qpdf/QPDFObjectHandle.hh>
#include <utility>

#include "index/plugins/document/pdf_file.h"
#include "index/plugins/document/pdf_input.h"
#include "index/plugins/document/relayout.h"
#include "index/plugins/document/render.h"

namespace rowfs::plugin {
namespace {

// A document is drawn from memory; larger ones keep their pages unverified.
constexpr uint64_t kVerifyBytesMax = 256 * 1024 * 1024;
constexpr uint32_t kVerifyPagesMax = 1000;

Status Put(const rowfs_sink& sink, ByteSpan bytes) {
  const int32_t code = sink.write(sink.ctx, bytes.data(), bytes.size());
  return code == ROWFS_OK ? Status() : Status(code, "the host stopped");
}

Result<Bytes> ReadAll(const rowfs_reader& input) {
  Bytes all(static_cast<size_t>(input.size));
  if (!all.empty() &&
      input.read_at(input.ctx, 0, all.data(), all.size()) != ROWFS_OK) {
    return Status(ROWFS_E_IO, "reading the document failed");
  }
  return all;
}

Status CopyInput(const rowfs_reader& input, const rowfs_sink& sink) {
  Bytes block(1 << 20);
  for (uint64_t at = 0; at < input.size;) {
    const size_t size =
        static_cast<size_t>(std::min<uint64_t>(block.size(), input.size - at));
    if (input.read_at(input.ctx, at, block.data(), size) != ROWFS_OK) {
      return Status(ROWFS_E_IO, "reading the document failed");
    }
    PLUGIN_RETURN_IF_ERROR(Put(sink, ByteSpan(block).first(size)));
    at += size;
  }
  return {};
}

// The file that `pieces` make, their ranges cut from `stored`.
Bytes Assemble(const PdfPieces& pieces, ByteSpan stored) {
  Bytes file;
  for (const PdfPiece& piece : pieces) {
    const ByteSpan bytes =
        piece.literal.empty()
            ? stored.subspan(static_cast<size_t>(piece.begin),
                             static_cast<size_t>(piece.size()))
            : ByteSpan(piece.literal);
    file.insert(file.end(), bytes.begin(), bytes.end());
  }
  return file;
}

// Draw pages from the stored objects and from the file; they must be equal.
Status Verify(const rowfs_ingest_request& request, const DocumentIndex& index,
              ByteSpan stored, const std::string& password) {
  if (request.verify == ROWFS_VERIFY_OFF ||
      request.input.size + stored.size() > kVerifyBytesMax) {
    return {};
  }
  PLUGIN_ASSIGN_OR_RETURN(Bytes source, ReadAll(request.input));
  PLUGIN_ASSIGN_OR_RETURN(auto original,
                          PdfRenderer::Open(std::move(source), password));
  const uint32_t pages = request.verify == ROWFS_VERIFY_FULL
                             ? std::min(index.head.page_count, kVerifyPagesMax)
                             : 1;
  for (uint32_t i = 0; i < pages; ++i) {
    PLUGIN_ASSIGN_OR_RETURN(
        auto alone,
        PdfRenderer::Open(Assemble(PlanPageFile(index, i), stored), ""));
    const PixelSize size = PagePixels(index.pages[i], 36);
    const PagePart part = {size.width, size.height, 0,
                           0,          size.width,  size.height};
    PLUGIN_ASSIGN_OR_RETURN(const Raster a, original->Draw(i, part));
    PLUGIN_ASSIGN_OR_RETURN(const Raster b, alone->Draw(0, part));
    if (a.samples != b.samples) {
      return Unsupported("page " + std::to_string(i + 1) +
                         " looks different from its stored objects");
    }
  }
  return {};
}

Status StoreObjects(const rowfs_ingest_request& request, QPDF& pdf,
                    const DocumentConfig& config, DocumentIndex* index) {
  Bytes stored;  // a copy for Verify, as far as that wants one
  const auto sink = [&](ByteSpan bytes) {
    if (request.verify != ROWFS_VERIFY_OFF &&
        stored.size() <= kVerifyBytesMax) {
      stored.insert(stored.end(), bytes.begin(), bytes.end());
    }
    return Put(request.payload, bytes);
  };
  PLUGIN_RETURN_IF_ERROR(
      GuardPdf([&] { return WriteObjects(pdf, sink, index); }));
  index->head.blob_size = index->ends.empty() ? 0 : index->ends.back();
  PLUGIN_RETURN_IF_ERROR(Verify(request, *index, stored, config.password));
  index->head.whole_size = SizeOf(PlanWholeFile(*index));
  if (request.keep_container == 0) return {};
  index->head.original = true;
  index->head.original_size = request.input.size;
  index->head.blob_size += request.input.size;
  return CopyInput(request.input, request.payload);
}

}  // namespace

Result<DocumentIndex> IndexDocument(const rowfs_reader& input,
                                    const DocumentConfig& config) {
  PLUGIN_ASSIGN_OR_RETURN(const auto pdf,
                          OpenPdf(MakePdfInput(input), config.password));
  DocumentIndex index;
  PLUGIN_ASSIGN_OR_RETURN(index.pages,
                          GuardPdf([&] { return ReadPages(*pdf); }));
  index.head.page_count = static_cast<uint32_t>(index.pages.size());
  index.head.blob_size = input.size;
  index.head.info_size = DocumentInfoJson(index).size();
  return index;
}

Status IngestDocument(const rowfs_ingest_request& request,
                      const DocumentConfig& config) {
  DocumentIndex index;
  if (request.layout == ROWFS_LAYOUT_CONTAINER) {
    PLUGIN_ASSIGN_OR_RETURN(index, IndexDocument(request.input, config));
  } else {
    PLUGIN_ASSIGN_OR_RETURN(
        const auto pdf, OpenPdf(MakePdfInput(request.input), config.password));
    index.head.stored = true;
    PLUGIN_ASSIGN_OR_RETURN(index.pages,
                            GuardPdf([&] { return ReadPages(*pdf); }));
    index.head.page_count = static_cast<uint32_t>(index.pages.size());
    PLUGIN_RETURN_IF_ERROR(StoreObjects(request, *pdf, config, &index));
    index.head.info_size = DocumentInfoJson(index).size();
  }
  const auto [stream_info, entries] = EncodeIndex(index);
  PLUGIN_RETURN_IF_ERROR(Put(request.stream_info, stream_info));
  return Put(request.entries, entries);
}

Result<Bytes> ExtractPage(const rowfs_reader& input, uint32_t number,
                          const DocumentPage& page,
                          const std::string& password) {
  PLUGIN_ASSIGN_OR_RETURN(const auto document,
                          OpenPdf(MakePdfInput(input), password));
  DocumentIndex index;
  Bytes stored;
  const auto sink = [&stored](ByteSpan bytes) {
    stored.insert(stored.end(), bytes.begin(), bytes.end());
    return Status();
  };
  PLUGIN_RETURN_IF_ERROR(GuardPdf([&]() -> Status {
    QPDFObjectHandle object;
    if (page.object != 0) {
      object = document->getObjectByID(static_cast<int>(page.object),
                                       static_cast<int>(page.generation));
    } else {
      const auto& pages = document->getAllPages();
      if (number < pages.size()) object = pages[number];
    }
    if (!object.isInitialized() || !object.isDictionary()) {
      return Corrupt("there is no such page");
    }
    return WritePage(*document, object, sink, &index);
  }));
  return Assemble(PlanPageFile(index, 0), stored);
}

}  // namespace rowfs::plugin
