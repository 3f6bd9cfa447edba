// Small PDF files for tests, written object by object.
#ifndef ROWFS_TESTS_INDEX_PLUGINS_DOCUMENT_PDF_BUILDER_H_
#define ROWFS_TESTS_INDEX_PLUGINS_DOCUMENT_PDF_BUILDER_H_

#include <cstdint>
#include <string>
#include <vector>

namespace rowfs::document_test {

struct PageSpec {
  std::string text = "page";
  std::string entries = "/MediaBox [0 0 300 200]";  // of the page dictionary
};

inline std::string Stream(const std::string& data,
                          const std::string& entries = "") {
  return "<< /Length " + std::to_string(data.size()) + " " + entries +
         " >>\nstream\n" + data + "\nendstream";
}

// Objects 1.. as given, with a cross-reference table.
inline std::vector<uint8_t> MakeFile(const std::vector<std::string>& objects) {
  std::string file = "%PDF-1.4\n";
  std::vector<size_t> offsets;
  for (size_t i = 0; i < objects.size(); ++i) {
    offsets.push_back(file.size());
    file += std::to_string(i + 1) + " 0 obj\n" + objects[i] + "\nendobj\n";
  }
  const size_t table = file.size();
  file += "xref\n0 " + std::to_string(objects.size() + 1) +
          "\n0000000000 65535 f \n";
  for (const size_t offset : offsets) {
    const std::string digits = std::to_string(offset);
    file += std::string(10 - digits.size(), '0') + digits + " 00000 n \n";
  }
  file += "trailer\n<< /Size " + std::to_string(objects.size() + 1) +
          " /Root 1 0 R >>\nstartxref\n" + std::to_string(table) + "\n%%EOF\n";
  return std::vector<uint8_t>(file.begin(), file.end());
}

// Pages that share one font and, when `shared` is not empty, one object of that
// text which each names as /Shared. Each has a red square at (10, 10).
inline std::vector<uint8_t> MakePdf(const std::vector<PageSpec>& pages,
                                    const std::string& shared = "") {
  std::vector<std::string> objects;
  std::string kids;
  for (size_t i = 0; i < pages.size(); ++i) {
    kids += " " + std::to_string(5 + 2 * i) + " 0 R";
  }
  objects.push_back("<< /Type /Catalog /Pages 2 0 R >>");
  objects.push_back("<< /Type /Pages /Count " + std::to_string(pages.size()) +
                    " /Kids [" + kids + " ] >>");
  objects.push_back("<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>");
  objects.push_back(shared.empty() ? "null" : Stream(shared));
  for (size_t i = 0; i < pages.size(); ++i) {
    objects.push_back("<< /Type /Page /Parent 2 0 R " + pages[i].entries +
                      " /Resources << /Font << /F1 3 0 R >> >>" +
                      (shared.empty() ? "" : " /Shared 4 0 R") + " /Contents " +
                      std::to_string(6 + 2 * i) + " 0 R >>");
    objects.push_back(
        Stream("1 0 0 rg 10 10 20 20 re f 0 g BT /F1 18 Tf 40 50 "
               "Td (" +
               pages[i].text + ") Tj ET"));
  }
  return MakeFile(objects);
}

}  // namespace rowfs::document_test
#endif  // ROWFS_TESTS_INDEX_PLUGINS_DOCUMENT_PDF_BUILDER_H_
