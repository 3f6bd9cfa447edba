#include "index/plugins/document/pdf_file.h"

#include <string>
#include <string_view>
#include <utility>

namespace rowfs::plugin {
namespace {

// The comment of high bytes says that the file is binary (ISO 32000 7.5.2).
constexpr std::string_view kHeader = "%PDF-1.7\n%\xE2\xE3\xCF\xD3\n";

// Puts pieces together and keeps the offsets that the cross-reference table
// tells (ISO 32000 7.5.4).
class FileBuilder {
 public:
  explicit FileBuilder(const DocumentIndex& index) : index_(index) {
    AddLiteral(AsBytes(kHeader));
  }

  // Objects [first, first + count) as they lie in the blob.
  void AddObjects(uint32_t first, uint32_t count) {
    if (count == 0) return;
    const uint64_t begin = index_.BeginOf(first);
    const uint64_t end = index_.ends[first + count - 1];
    for (uint32_t i = first; i < first + count; ++i) {
      Mark(i + kFirstObjectNumber, size_ + index_.BeginOf(i) - begin);
    }
    if (first + count <= index_.shared_count && !index_.shared.empty()) {
      AddLiteral(ByteSpan(index_.shared)
                     .subspan(static_cast<size_t>(begin),
                              static_cast<size_t>(end - begin)));
      return;
    }
    if (!pieces_.empty() && pieces_.back().literal.empty() &&
        pieces_.back().end == begin) {
      pieces_.back().end = end;
    } else {
      pieces_.push_back({{}, begin, end});
    }
    size_ += end - begin;
  }

  PdfPieces Finish(std::string_view catalog, const std::string& kids,
                   size_t kid_count, uint32_t info_number) {
    const uint64_t catalog_at = size_;
    std::string tail = "1 0 obj\n" + std::string(catalog) + "\nendobj\n";
    const uint64_t pages_at = size_ + tail.size();
    tail += "2 0 obj\n<< /Type /Pages /Count " + std::to_string(kid_count) +
            " /Kids [" + kids + " ] >>\nendobj\n";
    const uint64_t table_at = size_ + tail.size();
    AppendTable(catalog_at, pages_at, &tail);
    const uint32_t size =
        offsets_.empty() ? kFirstObjectNumber : offsets_.back().first + 1;
    tail += "trailer\n<< /Size " + std::to_string(size) + " /Root 1 0 R";
    if (info_number != 0) {
      tail += " /Info " + std::to_string(info_number) + " 0 R";
    }
    tail += " >>\nstartxref\n" + std::to_string(table_at) + "\n%%EOF\n";
    AddLiteral(AsBytes(tail));
    return std::move(pieces_);
  }

 private:
  void AddLiteral(ByteSpan bytes) {
    if (bytes.empty()) return;
    if (pieces_.empty() || pieces_.back().literal.empty()) {
      pieces_.emplace_back();
    }
    Bytes& literal = pieces_.back().literal;
    literal.insert(literal.end(), bytes.begin(), bytes.end());
    size_ += bytes.size();
  }

  void Mark(uint32_t number, uint64_t offset) {
    offsets_.emplace_back(number, offset);
  }

  static void AppendRow(uint64_t offset, const char* kind, std::string* out) {
    const std::string digits = std::to_string(offset);
    out->append(10 - std::min<size_t>(10, digits.size()), '0');
    *out += digits + kind;
  }

  void AppendTable(uint64_t catalog_at, uint64_t pages_at, std::string* out) {
    *out += "xref\n0 3\n";
    AppendRow(0, " 65535 f \n", out);
    AppendRow(catalog_at, " 00000 n \n", out);
    AppendRow(pages_at, " 00000 n \n", out);
    for (size_t i = 0; i < offsets_.size();) {
      size_t end = i + 1;
      while (end < offsets_.size() &&
             offsets_[end].first == offsets_[end - 1].first + 1) {
        ++end;
      }
      *out += std::to_string(offsets_[i].first) + " " +
              std::to_string(end - i) + "\n";
      for (; i < end; ++i) AppendRow(offsets_[i].second, " 00000 n \n", out);
    }
  }

  const DocumentIndex& index_;
  PdfPieces pieces_;
  uint64_t size_ = 0;
  std::vector<std::pair<uint32_t, uint64_t>> offsets_;  // ascending numbers
};

std::string Reference(uint32_t object) {
  return " " + std::to_string(object + kFirstObjectNumber) + " 0 R";
}

}  // namespace

uint64_t SizeOf(const PdfPieces& pieces) {
  uint64_t size = 0;
  for (const PdfPiece& piece : pieces) size += piece.size();
  return size;
}

PdfPieces PlanPageFile(const DocumentIndex& index, uint32_t page) {
  const DocumentPage& p = index.pages[page];
  FileBuilder file(index);
  for (size_t i = 0; i < p.shared.size();) {
    size_t end = i + 1;
    while (end < p.shared.size() && p.shared[end] == p.shared[end - 1] + 1) {
      ++end;
    }
    file.AddObjects(p.shared[i], static_cast<uint32_t>(end - i));
    i = end;
  }
  file.AddObjects(p.first, p.count);
  return file.Finish(index.page_catalog, Reference(p.first), 1, 0);
}

PdfPieces PlanWholeFile(const DocumentIndex& index) {
  FileBuilder file(index);
  // From the blob, not from the copy in the entries: one range.
  file.AddObjects(0, static_cast<uint32_t>(index.ends.size()));
  std::string kids;
  for (const DocumentPage& page : index.pages) kids += Reference(page.first);
  return file.Finish(index.whole_catalog, kids, index.pages.size(),
                     index.info_number);
}

}  // namespace rowfs::plugin
