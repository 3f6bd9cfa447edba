#include "fs/cli/sheet.h"
#include "storage/base/hash.h"

namespace rowfs {
namespace {

// Text of a page or of a quoted attribute. What is no UTF-8 browsers replace;
// control bytes are shown as "?".
std::string Escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        out += static_cast<unsigned char>(c) < 0x20 && c != '\n' ? '?' : c;
    }
  }
  return out;
}

class HtmlSheet final : public Sheet {
 public:
  explicit HtmlSheet(std::string_view title) : title_(title) {}

  std::string Begin() override {
    const std::string title = Escaped(title_);
    return "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
           "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src "
           "'none'; img-src data:; style-src 'unsafe-inline'\">\n"
           "<meta name=\"viewport\" content=\"width=device-width\">\n"
           "<title>" +
           title +
           "</title>\n<style>\n"
           "body{font:14px sans-serif;margin:1em;background:#fff;color:#111}\n"
           "main{display:grid;gap:12px;grid-template-columns:repeat(auto-fill,"
           "minmax(260px,1fr))}\n"
           "figure{margin:0;padding:8px;border:1px solid #ccc;"
           "overflow-wrap:anywhere}\n"
           "img{max-width:100%;max-height:240px;margin:0 4px 4px 0}\n"
           "dl{margin:4px 0 0;font-size:12px;max-height:9em;overflow:auto}\n"
           "dt{float:left;color:#666;margin-right:.5em}\n"
           "dd{margin:0;white-space:pre-wrap}\n"
           ".error{color:#a00;font-size:12px;margin:4px 0}\n"
           "</style></head><body>\n<h1>" +
           title + "</h1>\n<main>\n";
  }

  std::string Add(const PreviewRow& row) override {
    ++rows_;
    const std::string number = std::to_string(row.number);
    std::string out = "<figure id=\"row-" + number + "\">\n";
    for (const PreviewPicture& picture : row.pictures) {
      out += "<img loading=\"lazy\" alt=\"" + Escaped(picture.name) +
             "\" title=\"" + Escaped(picture.name) +
             "\" src=\"data:" + PictureType(picture.name) + ";base64," +
             ToBase64(picture.bytes) + "\">\n";
    }
    out += "<figcaption><b>" + number + "</b>";
    if (!row.captions.empty()) {
      out += "<dl>\n";
      for (const auto& [key, value] : row.captions) {
        out += "<dt>" + Escaped(key) + "</dt><dd>" + Escaped(value) + "</dd>\n";
      }
      out += "</dl>";
    }
    out += "</figcaption>\n";
    for (const std::string& error : row.errors) {
      out += "<p class=\"error\">" + Escaped(error) + "</p>\n";
    }
    return out + "</figure>\n";
  }

  std::string End(uint64_t row_count) override {
    return "</main>\n<p>" + std::to_string(rows_) + " of " +
           std::to_string(row_count) + " rows</p>\n</body></html>\n";
  }

 private:
  const std::string title_;
  uint64_t rows_ = 0;
};

}  // namespace

std::unique_ptr<Sheet> MakeHtmlSheet(std::string_view title) {
  return std::make_unique<HtmlSheet>(title);
}

}  // namespace rowfs
