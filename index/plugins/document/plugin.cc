// The document plugin: PDF files as pages.
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "index/abi/rowfs_plugin.h"
#include "index/plugins/common/emit.h"
#include "index/plugins/common/entry_point.h"
#include "index/plugins/common/iiif.h"
#include "index/plugins/common/status.h"
#include "index/plugins/document/document_index.h"
#include "index/plugins/document/ingest.h"
#include "index/plugins/document/pdf_file.h"
#include "index/plugins/document/render.h"
#include "index/plugins/document/views.h"

using rowfs::plugin::Bytes;
using rowfs::plugin::ByteSpan;
using rowfs::plugin::DocumentIndex;
using rowfs::plugin::DocumentItem;
using rowfs::plugin::DocumentViews;
using rowfs::plugin::FromStr;
using rowfs::plugin::Guarded;
using rowfs::plugin::NeedEntries;
using rowfs::plugin::PdfPieces;
using rowfs::plugin::PdfRenderer;
using rowfs::plugin::Result;
using rowfs::plugin::Status;
using rowfs::plugin::Stopped;
using rowfs::plugin::ToSpan;
using Kind = rowfs::plugin::DocumentItem::Kind;

// One open index. With the head alone there is no `index`, no `views`.
struct rowfs_index {
  rowfs::plugin::DocumentHead head;
  rowfs::plugin::DocumentConfig config;
  std::optional<DocumentIndex> index;
  std::optional<DocumentViews> views;
  // The page drawn last.
  std::unique_ptr<PdfRenderer> renderer;
  uint32_t renderer_page = 0;
  size_t renderer_bytes = 0;
};

namespace {

// A page kept open between calls; the interface allows 256 MiB.
constexpr uint64_t kKeepBytesMax = 64 * 1024 * 1024;

int32_t WarmUp(rowfs_error* error) {
  return Guarded(error, [] {
    rowfs::plugin::StartPdfium();
    return Status();
  });
}

// Readers look for the header in the first 1024 bytes (ISO 32000 annex H).
int32_t Probe(rowfs_bytes head, rowfs_str) {
  const std::string_view text =
      rowfs::plugin::AsText(ToSpan(head)).substr(0, 1024);
  const size_t at = text.find("%PDF-");
  return at == 0 ? 100 : at != text.npos ? 80 : 0;
}

int32_t Ingest(const rowfs_ingest_request* request, rowfs_ingest_result* result,
               rowfs_error* error) {
  return Guarded(error, [&]() -> Status {
    PLUGIN_ASSIGN_OR_RETURN(
        const auto config,
        rowfs::plugin::ParseDocumentConfig(FromStr(request->config)));
    result->blob_type = 3;
    return rowfs::plugin::IngestDocument(*request, config);
  });
}

int32_t Open(rowfs_bytes stream_info, rowfs_bytes entries, uint64_t blob_size,
             rowfs_str config, rowfs_index** out, rowfs_error* error) {
  *out = nullptr;
  return Guarded(error, [&]() -> Status {
    auto opened = std::make_unique<rowfs_index>();
    PLUGIN_ASSIGN_OR_RETURN(
        opened->config, rowfs::plugin::ParseDocumentConfig(FromStr(config)));
    if (entries.data == nullptr) {
      PLUGIN_ASSIGN_OR_RETURN(
          opened->head, rowfs::plugin::ParseDocumentHead(ToSpan(stream_info)));
      if (opened->head.blob_size != blob_size) {
        return rowfs::plugin::Corrupt(
            "the blob does not have the size its index says");
      }
    } else {
      PLUGIN_ASSIGN_OR_RETURN(
          opened->index, rowfs::plugin::ParseDocumentIndex(
                             ToSpan(stream_info), ToSpan(entries), blob_size));
      opened->head = opened->index->head;
      opened->views.emplace(*opened->index, opened->config);
    }
    *out = opened.release();
    return {};
  });
}

void Close(rowfs_index* index) { delete index; }

// ---- plan -----------------------------------------------------------------

Status EmitSegments(const PdfPieces& pieces, size_t item,
                    const rowfs_plan_sink& out) {
  std::vector<rowfs_segment> segments;
  for (const auto& piece : pieces) {
    rowfs_segment s = {};
    if (piece.literal.empty()) {
      s.range = {piece.begin, piece.end};
    } else {
      s.literal = {piece.literal.data(), piece.literal.size()};
    }
    segments.push_back(s);
  }
  const int32_t code =
      out.segments(out.ctx, item, segments.data(), segments.size());
  return Stopped(code);
}

PdfPieces Text(const std::string& text) {
  return {{Bytes(text.begin(), text.end()), 0, 0}};
}

std::vector<rowfs_range> RangesOf(const DocumentIndex& index, uint32_t page) {
  std::vector<rowfs_range> ranges;
  // The parts of a file as it came point at one another: see DecodeFrom.
  if (!index.head.stored) return ranges;
  for (const auto& piece : rowfs::plugin::PlanPageFile(index, page)) {
    if (piece.literal.empty()) ranges.push_back({piece.begin, piece.end});
  }
  return ranges;
}

// What `item` is without decoding; nothing for what has to be made.
std::optional<PdfPieces> PlanFile(const rowfs_index& index,
                                  const DocumentItem& item) {
  const DocumentIndex& document = *index.index;
  const auto& head = document.head;
  switch (item.kind) {
    case Kind::kWhole:
      return rowfs::plugin::PlanWholeFile(document);
    case Kind::kOriginal:
      return PdfPieces{
          {{}, head.blob_size - head.original_size, head.blob_size}};
    case Kind::kInfo:
      return Text(rowfs::plugin::DocumentInfoJson(document));
    case Kind::kImageInfo:
      return Text(index.views->ImageInfo(item.page));
    case Kind::kPagePdf:
      if (head.stored) return rowfs::plugin::PlanPageFile(document, item.page);
      return std::nullopt;
    case Kind::kDirectory:
    case Kind::kPicture:
    case Kind::kText:
      break;
  }
  return std::nullopt;
}

int32_t Plan(rowfs_index* index, const rowfs_str* paths, size_t path_count,
             const rowfs_plan_sink* out, rowfs_error* error) {
  return Guarded(error, [&]() -> Status {
    if (!index->views) return NeedEntries();
    for (size_t i = 0; i < path_count; ++i) {
      const std::string_view path = FromStr(paths[i]);
      PLUGIN_ASSIGN_OR_RETURN(const DocumentItem item,
                              index->views->Resolve(path));
      if (item.kind == Kind::kDirectory) {
        return rowfs::plugin::Invalid("a folder has no content");
      }
      if (const auto pieces = PlanFile(*index, item)) {
        PLUGIN_RETURN_IF_ERROR(EmitSegments(*pieces, i, *out));
        continue;
      }
      // The path says it all.
      const auto ranges = RangesOf(*index->index, item.page);
      const int32_t code = out->decode(
          out->ctx, &i, 1, ranges.data(), ranges.size(),
          {reinterpret_cast<const uint8_t*>(path.data()), path.size()});
      if (code != ROWFS_OK) return Status(code, "the host stopped");
    }
    return {};
  });
}

// ---- decode ---------------------------------------------------------------

// The file that holds `page`, from the bytes that were planned for it.
Result<Bytes> FileOf(const DocumentIndex& index, uint32_t page,
                     const rowfs_bytes* ranges, size_t range_count) {
  Bytes file;
  size_t next = 0;
  for (const auto& piece : rowfs::plugin::PlanPageFile(index, page)) {
    if (!piece.literal.empty()) {
      file.insert(file.end(), piece.literal.begin(), piece.literal.end());
      continue;
    }
    if (next >= range_count || ranges[next].size != piece.size()) {
      return rowfs::plugin::Invalid("the bytes are not those of the plan");
    }
    const ByteSpan bytes = ToSpan(ranges[next++]);
    file.insert(file.end(), bytes.begin(), bytes.end());
  }
  return file;
}

// What `item` is, out of the file of its page, which `open` gives.
template <typename OpenFile>
Result<Bytes> Make(rowfs_index& index, const DocumentItem& item,
                   OpenFile open) {
  if (item.kind == Kind::kPagePdf) return open();
  if (!index.renderer || index.renderer_page != item.page) {
    index.renderer.reset();
    PLUGIN_ASSIGN_OR_RETURN(Bytes pdf, open());
    index.renderer_bytes = pdf.size();
    PLUGIN_ASSIGN_OR_RETURN(index.renderer,
                            PdfRenderer::Open(std::move(pdf), std::string()));
    index.renderer_page = item.page;
  }
  if (item.kind == Kind::kText) {
    PLUGIN_ASSIGN_OR_RETURN(const std::string text, index.renderer->Text(0));
    return Bytes(text.begin(), text.end());
  }
  return index.views->DrawPicture(item, 0, *index.renderer);
}

template <typename OpenFile>
Status MakeFor(rowfs_index& index, rowfs_bytes recipe,
               const rowfs_output_sink& out, OpenFile open) {
  if (!index.views) return NeedEntries();
  PLUGIN_ASSIGN_OR_RETURN(
      const DocumentItem item,
      index.views->Resolve(rowfs::plugin::AsText(ToSpan(recipe))));
  const auto file = Make(index, item, [&] { return open(item.page); });
  if (index.renderer_bytes > kKeepBytesMax) index.renderer.reset();
  if (file.ok()) {
    return Stopped(
        out.write(out.ctx, 0, file.value().data(), file.value().size()));
  }
  return Stopped(out.fail(out.ctx, 0, file.status().code(),
                          rowfs::plugin::ToStr(file.status().message())));
}

int32_t Decode(rowfs_index* index, rowfs_bytes recipe,
               const rowfs_bytes* ranges, size_t range_count,
               const rowfs_output_sink* out, rowfs_error* error) {
  return Guarded(error, [&]() -> Status {
    return MakeFor(*index, recipe, *out, [&](uint32_t page) {
      return FileOf(*index->index, page, ranges, range_count);
    });
  });
}

int32_t DecodeFrom(rowfs_index* index, rowfs_bytes recipe,
                   const rowfs_reader* blob, const rowfs_output_sink* out,
                   rowfs_error* error) {
  return Guarded(error, [&]() -> Status {
    return MakeFor(*index, recipe, *out, [&](uint32_t page) -> Result<Bytes> {
      if (index->head.stored) {
        return FileOf(*index->index, page, nullptr, 0);
      }
      return rowfs::plugin::ExtractPage(*blob, page, index->index->pages[page],
                                        index->config.password);
    });
  });
}

int32_t Foresee(rowfs_str file_name, const rowfs_entry_sink* out,
                rowfs_error* error) {
  return Guarded(error, [&]() -> Status {
    if (!FromStr(file_name).ends_with(".pdf")) return {};
    for (const auto& entry : DocumentViews::ListTop({})) {
      PLUGIN_RETURN_IF_ERROR(rowfs::plugin::Emit(entry, *out));
    }
    return {};
  });
}

}  // namespace

extern "C" const rowfs_plugin* rowfs_plugin_entry(void) {
  static const rowfs_plugin plugin = {ROWFS_PLUGIN_ABI_VERSION,
                                      sizeof(rowfs_plugin),
                                      "document",
                                      "2 pdfium",
                                      {'R', 'D', 'I', '1'},
                                      WarmUp,
                                      Probe,
                                      Ingest,
                                      Open,
                                      Close,
                                      rowfs::plugin::ListViews<rowfs_index>,
                                      rowfs::plugin::LookupView<rowfs_index>,
                                      nullptr,
                                      Plan,
                                      Decode,
                                      Foresee,
                                      DecodeFrom};
  return &plugin;
}
